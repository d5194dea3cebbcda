package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestRenderFillsInVariables(t *testing.T) {
	t.Parallel()
	vars := eval.Dict{"a": "A", "m": eval.Dict{"k": "v"}, "l": eval.Array{"x", "y"}, "evil": "{{.a}}"}
	for text, want := range map[string]string{
		"plain":                                  "plain",
		"{{.a}}!":                                "A!",
		"{{.m.k}}":                               "v",
		"{{.l}}":                                 `["x","y"]`,
		"{{.m}}":                                 `{"k":"v"}`,
		"{{range .l}}<{{.}}>{{end}}":             "<x><y>",
		"{{range .l}}{{$.a}}{{end}}":             "AA",
		"{{.evil}}":                              "{{.a}}",
		`{{join ", " .l}}`:                       "x, y",
		`{{index .l 1}}`:                         "y",
		`{{range split "," "p,q"}}{{.}};{{end}}`: "p;q;",
		"{{if eq .a \"A\"}}yes{{end}}":           "yes",
		"{{upper (lower .a)}}":                   "A",
	} {
		tm, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := tm.Render(vars); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestErrorsSayWhatIsWrongInATemplate(t *testing.T) {
	t.Parallel()
	huge := eval.Array{}
	for range 2000 {
		huge = append(huge, strings.Repeat("x", 100))
	}
	vars := eval.Dict{"a": "A", "l": huge}
	for text, want := range map[string]struct {
		offset  int
		message string
	}{
		strings.Repeat("{{ if .a}}", 1_000_000):                               {10 * maxBlocks, "more than 10000 blocks, such as if and range"},
		"{{if .a}}" + strings.Repeat("{{else if .a}}", 1_000_000) + "{{end}}": {9 + 14*(maxBlocks-1), "more than 10000 blocks"},
		"ab {{.country}}":                                  {5, "no variable `country`"},
		"x\ny {{.b}}":                                      {6, "no variable `b`"},
		"{{range 1000000000}}{{end}}":                      {0, "range takes"},
		"{{$n := 5}}{{range $n}}{{end}}":                   {0, "range takes"},
		"{{range $i := .l}}{{range $.l}}{{end}}{{end}}":    {0, "more than"},
		`{{.String}}`:                                      {0, "cannot be named"},
		`{{define "t"}}x{{end}}`:                           {0, "cannot define"},
		`{{$x := .l}}{{range .l}}{{$y := json $x}}{{end}}`: {0, "more than"},
		`{{"aaaaaaaaaa"` + strings.Repeat(` | replace "a" "aaaaaaaaaa"`, 7) + ` | len}}`: {0, "more than"},
		`{{define "x"}}{{end}}`: {0, "cannot define"},
		`{{template "x"}}`:      {0, "include"},
		`{{call .a}}`:           {0, "not available"},
		`{{printf "%9999d" 1}}`: {0, "not available"},
		"ok\n{{.a":              {3, "unclosed action"},
		`{{nope .a}}`:           {0, "nope"},
		`{{index .l 99999}}`:    {2, "no item"},
		`{{.a.b}}`:              {4, "b"},
	} {
		tm, err := Parse(text)
		if err == nil {
			_, err = tm.Render(vars)
		}
		if err == nil {
			t.Errorf("%s: got no error, want one", text)
			continue
		}
		e := err.(*TemplateError)
		if !strings.Contains(e.Message, want.message) || want.offset > 0 && e.Offset != want.offset {
			t.Errorf("%s: at %d: %s; want %q at %d", text, e.Offset, e.Message, want.message, want.offset)
		}
	}
}

func TestFieldsListsTheVariables(t *testing.T) {
	t.Parallel()
	tm, err := Parse("{{.a}} {{with .b}}{{.c}}{{$.d.e}}{{end}} {{json .f.g}}")
	expect.OK(t, err)
	var got []string
	for _, f := range tm.Fields() {
		got = append(got, f.Name)
		if !strings.HasPrefix(tm.text[f.Offset:], "."+f.Name) {
			t.Errorf("%s at %d: got %q, want it to begin with the name", f.Name, f.Offset, tm.text[f.Offset:])
		}
	}
	expect.Same(t, "fields", strings.Join(got, " "), "a b d f")
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{
		"{{.a}}", "{{range .l}}{{.}}{{end}}", "{{", "}}", "{{/* c */}}", "{{with $x := .a}}{{$x}}{{end}}", "{{break}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tm, err := Parse(text)
		if err != nil {
			if e := err.(*TemplateError); e.Offset < 0 || e.Offset > len(text) {
				t.Errorf("offset %d of %d", e.Offset, len(text))
			}
			return
		}
		_, _ = tm.Render(eval.Dict{"a": "A", "l": eval.Array{"x", eval.Dict{"k": "v"}}})
	})
}

func TestAnErrorOfAnotherKindKeepsItsMessage(t *testing.T) {
	t.Parallel()
	other := errors.New("another kind")
	expect.Same(t, "in a template", AsTemplateError(other).Message, "another kind")
	expect.Same(t, "in an expression", AsSyntaxError(other).Message, "another kind")
	_, err := Parse("a {{x")
	expect.Same(t, "the offset of a template's own", AsTemplateError(fmt.Errorf("in: %w", err)).Offset, 2)
}

// A template of texts and variables alone renders as text/template does, for the same price and with the same errors.
func TestPlainTemplatesRenderAsTextTemplateDoes(t *testing.T) {
	t.Parallel()
	vars := eval.Dict{
		"a": "A{{.b}}", "b": "", "n": eval.Number("1.50"), "l": eval.Array{"x"}, "nil": nil, "null": eval.Null("~"),
		"big": strings.Repeat("x", MaxOutput),
	}
	for text, plain := range map[string]bool{
		"{{.a}}": true, "<{{.a}}> {{ .b }}\n": true, " {{- .a -}} {{/* no */}}": true, "{{.n}} {{.l}} {{.nil}} {{.null}}": true,
		"é {{.gone}}": true, "{{.big}}{{.a}}": true, "{{.big}}": true, "{{/* nothing */}}": true, `{{"{{"}}`: false, "{{.l.k}}": false,
		"{{.}}": false, "{{.a | upper}}": false, "{{upper .a}}": false, "{{$x := .a}}{{$x}}": false, "{{if .a}}{{.a}}{{end}}": false,
		"{{$.a}}": false, "{{(.a)}}": false,
	} {
		fast, err := Parse(text)
		expect.OK(t, err)
		expect.Same(t, text+" is plain", fast.plain != nil, plain)
		slow := *fast
		slow.plain = nil
		for _, start := range []int{1 << 30, 0, -1} {
			got, left := priced(fast, vars, start)
			want, wantLeft := priced(&slow, vars, start)
			expect.Same(t, text, got, want)
			expect.Same(t, "what is left after "+text, left, wantLeft)
		}
	}
}

// priced is what a template renders to, or its error, and what it leaves of a budget.
func priced(t *Template, vars eval.Dict, start int) (got any, left int) {
	budget := &Budget{left: start}
	text, err := t.RenderWithin(vars, budget)
	if problem, ok := errors.AsType[*TemplateError](err); ok {
		return *problem, budget.left
	}
	return text, budget.left
}
