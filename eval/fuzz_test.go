package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/wirejson"

	"github.com/evalrun/evalrun/internal/hostile"
)

// FuzzParseShard holds that a shard that is read is one of its parts, and that every trial is in exactly one part.
func FuzzParseShard(f *testing.F) {
	for _, s := range append(hostile.Strings(), "1/4", "10000/10000", "1/10001", "0/1", "2/1", "+1/+2", "01/2", " 1/2", "1/2/3", "-1/-2") {
		f.Add(s, uint64(12345))
	}
	f.Fuzz(func(t *testing.T, text string, hash uint64) {
		s, err := ParseShard(text)
		if err != nil || text == "" {
			if s != (Shard{}) {
				t.Error(s)
			}
			return
		}
		if s.Index < 1 || s.Index > s.Of || s.Of > maxShards {
			t.Errorf("%q: %+v", text, s)
		}
		if again, err := ParseShard(fmt.Sprintf("%d/%d", s.Index, s.Of)); err != nil || again != s {
			t.Errorf("%q: %+v %v", text, again, err)
		}
		n := 0
		for i := range s.Of {
			if (Shard{i + 1, s.Of}).Takes(fmt.Sprintf("%016x", hash)) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d of %d shards take the trial", n, s.Of)
		}
	})
}

// FuzzGenerationConfig holds that a config that is read is written so that it is read the same, unless it has a known
// field in another case, which encoding/json takes for the field.
func FuzzGenerationConfig(f *testing.F) {
	for _, s := range append(hostile.Strings(), `{"temperature":0,"topK":3,"b":"x","stopSequences":["a"],"":null}`, `{"topP":2,"a":[1e5,{"b":-0}]}`, "null", "{}") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again GenerationConfig
		if json.Unmarshal(data, &c) != nil {
			return
		}
		for name := range c.Extra {
			if slices.ContainsFunc(ConfigKeys, func(known string) bool { return strings.EqualFold(name, known) }) {
				return
			}
		}
		out, err := wirejson.Marshal(c)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s %v", out, err)
		}
		if err := json.Unmarshal(out, &again); err != nil {
			t.Fatal(err)
		}
		twice, err := wirejson.Marshal(again)
		if err != nil || !bytes.Equal(out, twice) || !reflect.DeepEqual(c.Temperature, again.Temperature) ||
			!reflect.DeepEqual(c.TopK, again.TopK) {
			t.Errorf("%s, then %s %v", out, twice, err)
		}
		if c.Temperature != nil && (math.IsNaN(*c.Temperature) || math.IsInf(*c.Temperature, 0)) {
			t.Error(*c.Temperature)
		}
	})
}
