package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Functions of a dialect give what comes with each rendering, and are no functions elsewhere.
func TestDialectFunctionsAreKnownOnlyThere(t *testing.T) {
	t.Parallel()
	d := &Dialect{Functions: []string{"name", "list"}}
	in := Data{
		Vars:      eval.Dict{"a": "A"},
		Functions: map[string]eval.Value{"name": "{{.a}}", "list": eval.Array{eval.Dict{"k": "v"}}},
	}
	for text, want := range map[string]string{
		"<{{name}}>":                         "<{{.a}}>",
		"{{name | json}}":                    `"{{.a}}"`,
		"{{json list}}":                      `[{"k":"v"}]`,
		"{{range list}}{{.k}}{{$.a}}{{end}}": "vA",
		"{{if name}}yes{{end}}":              "yes",
		"{{.a}}":                             "A",
	} {
		tm, err := d.Parse(text)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := tm.RenderData(in, nil); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{{name}}", "{{__take .a}}", "{{__escape .a}}"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: got no error, want one: there is no such function", text)
		}
	}
}

// What actions write is escaped, the text between them is replaced by itself, and neither happens twice.
func TestActionsAreEscapedAndTextsReplaced(t *testing.T) {
	t.Parallel()
	d := &Dialect{
		Escape:  func(s string) string { return "[" + s + "]" },
		Literal: func(s string) string { return strings.ReplaceAll(s, "$X", "{{.a}}") },
	}
	vars := eval.Dict{"a": "$X", "l": eval.Array{"1", "2"}}
	for text, want := range map[string]string{
		"$X":                                "{{.a}}",
		"$X {{.a}}":                         "{{.a}} [$X]",
		"{{if .a}}$X{{.a}}{{else}}-{{end}}": "{{.a}}[$X]",
		"{{range .l}}{{.}}{{end}}":          "[1][2]",
		"{{$x := .a}}{{$x}}":                "[$X]",
		"{{with .a}}{{.}}{{end}}":           "[$X]",
		`{{.a | replace "$" "S"}}`:          "[SX]",
		"{{len .l}}":                        "[2]",
	} {
		tm, err := d.Parse(text)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := tm.Render(vars); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}

// A template that is one action keeps the type of its value; any other is a text.
func TestOneActionKeepsTheTypeOfItsValue(t *testing.T) {
	t.Parallel()
	d := &Dialect{Functions: []string{"list"}, Values: true}
	list := eval.Array{"x", "y"}
	in := Data{Vars: eval.Dict{"s": "5", "l": list, "m": eval.Dict{"k": list}}, Functions: map[string]eval.Value{"list": list}}
	for text, want := range map[string]any{
		"{{.l}}": list, "{{list}}": list, "{{.m.k}}": list, "{{index .m \"k\"}}": list, "{{.s}}": "5", "{{len .l}}": 2,
		"{{eq .s \"5\"}}": true, " {{.l}}": ` ["x","y"]`, "{{.l}}{{.s}}": `["x","y"]5`, "{{if .s}}{{.l}}{{end}}": `["x","y"]`,
		"plain": "plain", "{{json .l}}": `["x","y"]`, "{{split \",\" \"a,b\"}}": eval.Array{"a", "b"},
	} {
		tm, err := d.Parse(text)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		got, err := tm.Value(in, nil)
		if err != nil || fmt.Sprintf("%T %v", got, got) != fmt.Sprintf("%T %v", want, want) {
			t.Errorf("%s: got %T %v, %v; want %T %v", text, got, got, err, want, want)
		}
	}
	for _, text := range []string{"{{.gone}}", "{{.m.gone}}"} {
		tm, err := d.Parse(text)
		expect.OK(t, err)
		var missing *TemplateError
		if _, err := tm.Value(in, nil); !errors.As(err, &missing) || missing.Missing != "gone" {
			t.Errorf("%s: got %v, want a missing variable", text, err)
		}
	}
}

// Data is fenced under the name of its variable, whatever functions make of it; texts of the template itself are not.
func TestDataIsFencedUnderItsVariable(t *testing.T) {
	t.Parallel()
	d := &Dialect{Fence: func(name, text string) string { return name + "<" + text + ">" }}
	vars := eval.Dict{"a": "A>", "l": eval.Array{"1", "2"}, "m": eval.Object{{Name: "k", Value: "v"}}}
	for text, want := range map[string]string{
		"say {{.a}}.":                "say a<A>>.",
		"{{.m.k}}{{$.a}}":            "m<v>a<A>>",
		"{{lower .a}}":               "a<a>>",
		`{{.a | replace "A" "B"}}`:   "a<B>>",
		"{{range .l}}{{.}}{{end}}":   "<1><2>",
		"{{index .m (lower \"K\")}}": "m<v>",
		`{{"{{"}}x`:                  "{{x",
		"{{if .a}}yes{{end}}":        "yes",
		"{{$x := .a}}{{$x}}":         "<A>>",
		"{{len .l}}":                 "l<2>",
	} {
		tm, err := d.Parse(text)
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if got, err := tm.Render(vars); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
	}
}
