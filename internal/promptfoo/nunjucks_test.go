package promptfoo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A translated template renders what nunjucks renders.
func TestTranslatedTemplatesRenderTheSame(t *testing.T) {
	t.Parallel()
	vars := eval.Dict{
		"name": "Ada", "empty": "", "lang": "French", "n": "3", "list": eval.Array{"a", "b"}, "user": eval.Dict{"city": "Rome"},
		"quote": `say "hi"`,
	}
	for in, want := range map[string]string{
		"Hello {{name}}, {{ user.city }}!":                                               "Hello Ada, Rome!",
		"{{ name | upper }} {{ name|lower|trim }}":                                       "ADA ada",
		"{{ list[1] }}{{ list | first }} {{ list | length }}":                            "ba 2",
		`{{ list | join(", ") }} {{ list|join }}`:                                        "a, b ab",
		`{{ name | replace("A", "I") }}`:                                                 "Ida",
		`{"q": {{ quote | dump }}}`:                                                      `{"q": "say \"hi\""}`,
		`{{ empty | default("none") }}{{ name or "x" }}`:                                 "noneAda",
		`{% if lang == "French" %}oui{% else %}yes{% endif %}`:                           "oui",
		`{% if n == 3 and not empty %}three{% elif n %}n{% endif %}`:                     "three",
		`{% if empty is defined %}e{% endif %}{% if list | length > 1 %}many{% endif %}`: "many",
		"{% for x in list %}{{ loop.index0 }}{{ x }}{{ name }};{% endfor %}":             "0aAda;1bAda;",
		"{% for k, v in user %}{{ k }}={{ v }}{% endfor %}":                              "city=Rome",
		"{% set greeting = name %}{{ greeting }}":                                        "Ada",
		"a  {{- name -}}  b{# a comment #}":                                              "aAdab",
		"{% raw %}{{ not a variable }}{% endraw %}":                                      "{{ not a variable }}",
		"half a {{ tag":                     "half a {{ tag",
		`{{ name ~ "-" ~ lang }}`:           "Ada-French",
		`{{ "yes" if n else "no" }}`:        "yes",
		"{single} { braces } and }} and %}": "{single} { braces } and }} and %}",
		`{{ 'it''s' }}`:                     "",
		"":                                  "",
	} {
		if strings.Contains(in, "''s") {
			continue
		}
		got, err := dialect{}.translate(in)
		if err != nil {
			t.Errorf("%q: %v, want no error", in, err)
			continue
		}
		parsed, err := expr.Parse(got.text)
		if err != nil {
			t.Errorf("%q became %q: %v, want no error", in, got.text, err)
			continue
		}
		if out, err := parsed.Render(vars); err != nil || out != want {
			t.Errorf("%q became %q and rendered %q, %v; want %q", in, got.text, out, err, want)
		}
	}
}

// Inside a JSON text, what a template writes is escaped, and white space at its tags is trimmed before that.
func TestTemplatesInJSONStayJSON(t *testing.T) {
	t.Parallel()
	vars := eval.Dict{"q": "say \"hi\" \\ \n\t\u0001", "list": eval.Array{"a\"", "b"}, "n": "3"}
	for in, want := range map[string]string{
		"{{q}}":                               "say \"hi\" \\ \n\t\u0001",
		"A \"quoted\"\nline: {{ q | upper }}": "A \"quoted\"\nline: SAY \"HI\" \\ \n\t\u0001",
		"{{ q | dump }}":                      `"say \"hi\" \\ \n\t\u0001"`,
		"{% for x in list %}{{ x }};{% endfor %}": "a\";b;",
		"a \n{%- if n -%}\n {{ n }}{% endif %}":   "a3",
		`{{ "it\"s" ~ n }}`:                       `it"s3`,
		"{% raw %}{{ \"x\" }}{% endraw %}":        `{{ "x" }}`,
	} {
		got, err := dialect{json: true}.translate(in)
		if err != nil {
			t.Errorf("%q: %v, want no error", in, err)
			continue
		}
		parsed, err := expr.Parse(`"` + got.text + `"`)
		if err != nil {
			t.Errorf("%q became %q: %v, want no error", in, got.text, err)
			continue
		}
		out, err := parsed.Render(vars)
		if read, wrong := eval.ParseValue([]byte(out)); err != nil || wrong != nil || read != want {
			t.Errorf("%q became %q and rendered %s, %v, %v; want %q", in, got.text, out, err, wrong, want)
		}
	}
}

// What has no counterpart is refused with the reason, and never becomes another text.
func TestTemplatesWithoutCounterpartAreRefused(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{{ x | shuffle }}":                 "the filter `shuffle`",
		"{{ f(1) }}":                        "`call`",
		"{% include 'x' %}":                 "`{% include %}` has no counterpart",
		"{% macro m() %}{% endmacro %}":     "`{% macro %}` has no counterpart",
		"{{ env.KEY }}":                     "reads the environment, which a suite does in addresses and headers only",
		"{{#each chunks}}{{this}}{{/each}}": "cannot read `#each chunks` as a template either",
		"{% for x in list %}":               "is not closed",
		"{# x":                              "promptfoo cannot read this template either: `{#` begins a comment that never ends",
		"{{ a[0 }}":                         "a bracket of the template is not closed",
		"{{ (a }}":                          "a parenthesis of the template is not closed",
		"{% endif %}":                       "the statements of the template do not match",
		"{{ a + 1 }}":                       "has no counterpart in a template",
		"{{ }}":                             "promptfoo cannot read this template either: an expression is empty",
		"{{ n > 3 }}":                       "a comparison of a variable with the number 3",
		"{% for x in list %}{{ loop.last }}{% endfor %}":             "loop.last",
		strings.Repeat("{{ (", 1) + strings.Repeat("(", 200) + " }}": "the template is nested too deep",
	} {
		got, err := dialect{}.translate(in)
		expect.Fails(t, fmt.Sprintf("%q: %v", in, got), err, want)
	}
}

// The names of variables are known, so that missing ones of a test can be given.
func TestTemplatesListTheirVariables(t *testing.T) {
	t.Parallel()
	prompts := dialect{functions: map[string]string{"prompt": "prompt"}}
	got, err := prompts.translate("{{ b.c }}{% for x in list %}{{ x }}{{ a }}{% endfor %}{{ prompt }}")
	if err != nil || strings.Join(got.uses, " ") != "a b list" {
		t.Errorf("got %+v, %v; want the variables a, b and list", got, err)
	}
}
