package eval

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// FuzzGenerationConfig checks that a config reads back as it was written. A known field in another case is left out,
// since encoding/json takes it for the field.
func FuzzGenerationConfig(f *testing.F) {
	for _, s := range append(
		hostile.Strings(), `{"temperature":0,"topK":3,"b":"x","stopSequences":["a"],"":null}`, `{"topP":2,"a":[1e5,{"b":-0}]}`, "null", "{}",
	) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, second GenerationConfig
		if json.Unmarshal(data, &c) != nil {
			return
		}
		for name := range c.Extra {
			if slices.ContainsFunc(c.Keys(), func(known string) bool { return strings.EqualFold(name, known) }) {
				return
			}
		}
		out, err := wirejson.Marshal(c)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s %v, want JSON", out, err)
		}
		expect.OK(t, json.Unmarshal(out, &second))
		twice, err := wirejson.Marshal(second)
		expect.OK(t, err)
		expect.Same(t, "written", string(out), string(twice))
		expect.Same(t, "temperature", c.Temperature, second.Temperature)
		expect.Same(t, "top k", c.TopK, second.TopK)
		if c.Temperature != nil && (math.IsNaN(*c.Temperature) || math.IsInf(*c.Temperature, 0)) {
			t.Errorf("got %v, want a finite number", *c.Temperature)
		}
	})
}
