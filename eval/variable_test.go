package eval_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// FuzzJSON holds the writer without reflection to encoding/json: its output distinguishes cases.
func FuzzJSON(f *testing.F) {
	for _, s := range append(hostile.Strings(), "", "plain", `"\`, "<a>&", "\x7f\u2028") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "a" || s == "b" {
			return // the key would come twice
		}
		v := eval.Dict{s: s, "b": eval.Array{s, eval.Dict{}, eval.Array(nil)}, "a": eval.Dict(nil)}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]any{s: s, "b": []any{s, map[string]any{}, nil}, "a": nil}); err != nil {
			t.Fatal(err)
		}
		if got := eval.JSON(v) + "\n"; got != want.String() {
			t.Errorf("got %s, want %s", got, want.String())
		}
	})
}
