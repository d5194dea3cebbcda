package eval

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzShard checks that a shard that is read is one of its parts, and that every trial is in exactly one part.
func FuzzShard(f *testing.F) {
	for _, s := range append(hostile.Strings(), "1/4", "10000/10000", "1/10001", "0/1", "2/1", "+1/+2", "01/2", " 1/2", "1/2/3", "-1/-2") {
		f.Add(s, uint64(12345))
	}
	f.Fuzz(func(t *testing.T, text string, hash uint64) {
		var s, again Shard
		err := s.UnmarshalText([]byte(text))
		if err != nil || text == "" {
			if s != (Shard{}) {
				t.Errorf("got %v, want none", s)
			}
			return
		}
		if s.Index < 1 || s.Index > s.Of || s.Of > maxShards {
			t.Errorf("%q: %+v, want 1 to its number of shards", text, s)
		}
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Errorf("%q: %+v %v, want the same", text, again, err)
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

// A shard is written into run files as text, as every version has done, and one that is none makes the options unreadable.
func TestAShardIsWrittenAsText(t *testing.T) {
	t.Parallel()
	o := Options{SelectionOptions: SelectionOptions{Shard: Shard{2, 7}}}
	data, err := json.Marshal(o)
	if string(data) != `{"shard":"2/7"}` || err != nil {
		t.Errorf(`got %s, %v, want {"shard":"2/7"}`, data, err)
	}
	if data, err = json.Marshal(Options{}); string(data) != `{}` || err != nil {
		t.Errorf("got %s, %v, want {}", data, err)
	}
	var back Options
	if err := json.Unmarshal([]byte(`{"shard":"2/7"}`), &back); err != nil || back.Shard != o.Shard {
		t.Errorf("read %+v, %v, want the shard", back.Shard, err)
	}
	if err := json.Unmarshal([]byte(`{"shard":"7/2"}`), &back); err == nil || back.Shard != (Shard{}) {
		t.Errorf("read %+v, %v, want no shard and why", back.Shard, err)
	}
}
