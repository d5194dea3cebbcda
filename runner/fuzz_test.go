package runner

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/hostile"
)

// FuzzParseShard checks that a shard that is read is one of its parts, and that every trial is in exactly one part.
func FuzzParseShard(f *testing.F) {
	for _, s := range append(hostile.Strings(), "1/4", "10000/10000", "1/10001", "0/1", "2/1", "+1/+2", "01/2", " 1/2", "1/2/3", "-1/-2") {
		f.Add(s, uint64(12345))
	}
	f.Fuzz(func(t *testing.T, text string, hash uint64) {
		s, err := ParseShard(text)
		if err != nil || text == "" {
			if s != (Shard{}) {
				t.Errorf("got %v, want none", s)
			}
			return
		}
		if s.Index < 1 || s.Index > s.Of || s.Of > maxShards {
			t.Errorf("%q: %+v, want 1 to its number of shards", text, s)
		}
		if second, err := ParseShard(fmt.Sprintf("%d/%d", s.Index, s.Of)); err != nil || second != s {
			t.Errorf("%q: %+v %v, want the same", text, second, err)
		}
		n := 0
		for i := range s.Of {
			if (Shard{i + 1, s.Of}).Takes(fmt.Sprintf("%016x", hash)) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("got %d of %d shards with the trial, want one", n, s.Of)
		}
	})
}
