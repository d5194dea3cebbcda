package expr

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// Whatever the text, compiling and running end, with a problem inside the text or without.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		`answer contains "Paris"`, `any(candidates, .text matches "a+")`, `1..1e9`, `let a = vars.x; a ?? 1`, `sum(map(1..9, # * 2)) / 0`,
		`join(split(answer, ""), "x")`, `replace(answer, "", answer)`, `vars["é"] | len()`, `{"a": [1]}.a[0:1]`, `$env.answer`,
		`not`, `candidates[-1].text`, "\x00pay(1, 2)",
		`reduce(candidates, #acc + #.text, "")`, `fromJSON(answer)`, `sortBy(candidates, .text)[0].text == "a"`, `if true { 1 } else { 0 }`,
	} {
		f.Add(s, "Paris")
	}
	f.Fuzz(func(t *testing.T, text, answer string) {
		p, err := Compile(text, env{}, Grade)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(text) || e.Message == "" {
				t.Fatalf("got %#v, want an error with a message and a place inside the text", err)
			}
			return
		}
		values := sample()
		values.Answer = answer
		for _, r := range p.Reads() {
			r.Value(values)
		}
		out, err := p.Run(values)
		if err != nil {
			return
		}
		if _, isBool := out.(bool); !isBool {
			if _, isNumber := out.(float64); !isNumber {
				t.Fatalf("got a %T, want a float64", out)
			}
		}
	})
}

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
	expect.OK(t, err)
	out, err := tm.Render(vars)
	expect.OK(t, err)
	return out
}

func checkJSON(t *testing.T, data string, want any) {
	t.Helper()
	var got any
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatalf("%s: %v, want no error", data, err)
	}
	expect.Same(t, data, got, want)
}
