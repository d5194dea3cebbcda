package tmpl

import (
	"encoding/json"
	"testing"

	"github.com/evalrun/evalrun/internal/hostile"
	"github.com/evalrun/evalrun/variable"
)

// FuzzData holds that what a variable holds comes out as it is and is not rendered, and that it can be read again when
// it is written as JSON, by itself or in a list.
func FuzzData(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		render := func(template string) string {
			tm, err := Parse(template)
			if err != nil {
				t.Fatal(err)
			}
			out, err := tm.Render(variable.Dict{"a": text, "l": variable.List{text, variable.Dict{text: text}}})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if got := render("<{{.a}}>"); got != "<"+text+">" {
			t.Errorf("%q", got)
		}
		want := string([]rune(text))
		var one string
		if err := json.Unmarshal([]byte(render("{{json .a}}")), &one); err != nil || one != want {
			t.Errorf("%q %v", one, err)
		}
		var list [2]any
		if err := json.Unmarshal([]byte(render("{{.l}}")), &list); err != nil || list[0] != want || list[1].(map[string]any)[want] != want {
			t.Errorf("%q %v", list, err)
		}
	})
}
