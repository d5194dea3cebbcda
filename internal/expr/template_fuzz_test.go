package expr

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/google/go-cmp/cmp"
)

// FuzzData holds that the content of a variable comes out as it is and is not rendered. Written as JSON, by itself or
// in a list, it can be read again.
func FuzzData(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		vars := eval.Dict{"a": text, "l": eval.Array{text, eval.Dict{text: text}}}
		expect.Same(t, "rendered with", renderedWith(t, "<{{.a}}>", vars), "<"+text+">")
		want := string([]rune(text))
		checkJSON(t, renderedWith(t, "{{json .a}}", vars), want)
		checkJSON(t, renderedWith(t, "{{.l}}", vars), []any{want, map[string]any{want: want}})
	})
}

func renderedWith(t *testing.T, template string, vars eval.Dict) string {
	t.Helper()
	tm, err := Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tm.Render(vars)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkJSON(t *testing.T, data string, want any) {
	t.Helper()
	var got any
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatalf("%s: %v, want no error", data, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", data, diff)
	}
}
