package expr

import (
	"errors"
	"testing"
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
