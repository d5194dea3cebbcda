package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

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
