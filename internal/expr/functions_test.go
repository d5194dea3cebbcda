package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

var values = eval.Dict{
	"a": "A", "empty": "", "zero": "0", "no": "false", "two words": "x", "größe": "9",
	"l": eval.Array{
		"x",
		"y",
		"z",
	}, "none": eval.Array{}, "m": eval.Dict{"k": "v", "deep": eval.Dict{"l": eval.Array{"1", "2"}}},
	"quote": "say \"hi\" \\ <b>&amp;\n\ttab\u2028", "wide": "é日本👍🏽", "spaces": " \t x \u00a0\n", "csv": "a,b,,c",
}

func rendered(t *testing.T, text string) (string, *TemplateError) {
	t.Helper()
	tm, err := Parse(text)
	if err == nil {
		var out string
		if out, err = tm.Render(values); err == nil {
			return out, nil
		}
	}
	var e *TemplateError
	if !errors.As(err, &e) {
		t.Fatalf("%s: got a %T, want a *TemplateError", text, err)
	}
	return "", e
}

func TestFunctionsAndStatementsAreRendered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{{lower "ÉÀ"}}{{upper "größe"}}`:                            "éàGRÖßE",
		`[{{trim .spaces}}]`:                                         "[x]",
		`{{replace "a" "b" "banana"}}`:                               "bbnbnb",
		`{{"banana" | replace "an" ""}}`:                             "ba",
		`{{replace "" "-" "ab"}}`:                                    "-a-b-",
		`{{json .quote}}`:                                            `"say \"hi\" \\ <b>&amp;\n\ttab\u2028"`,
		`"{{jsonText .quote}}" {{.l | jsonText}}`:                    `"say \"hi\" \\ <b>&amp;\n\ttab\u2028" [\"x\",\"y\",\"z\"]`,
		`{{range fromJson "[1, [2]]"}}<{{.}}>{{end}}{{fromJson .m}}`: `<1><[2]>{"deep":{"l":["1","2"]},"k":"v"}`,
		`{{fromJson "[1, {"}}{{fromJson .a}}{{fromJson "7"}}`:        "[1, {A7",
		`{{(index (fromJson "{\"a\": [true]}") "a")}}`:               "[true]",
		`{{json .m}}`:                                              `{"deep":{"l":["1","2"]},"k":"v"}`,
		`{{json .none}}{{.none}}`:                                  "[][]",
		`{{join "" .l}}{{join ", " .none}}`:                        "xyz",
		`{{range split "," .csv}}<{{.}}>{{end}}`:                   "<a><b><><c>",
		`{{range split "" "日本"}}{{.}} {{end}}`:                     "日 本 ",
		`{{len .l}} {{len .m}} {{len .none}}`:                      "3 2 0",
		`{{index .m "deep" "l" 1}}{{index .m.deep.l 0}}`:           "21",
		`{{index . "two words"}}`:                                  "x",
		`{{.größe}}{{.wide}}`:                                      "9é日本👍🏽",
		`{{if .empty}}t{{else}}f{{end}}`:                           "f",
		`{{if .zero}}t{{end}}{{if .no}}t{{end}}`:                   "tt",
		`{{if and .a (not .empty)}}yes{{end}}`:                     "yes",
		`{{or .empty .a}}`:                                         "A",
		`{{if eq .a "B" "A"}}one of{{end}}`:                        "one of",
		`{{if ne .a "B"}}ne{{end}}{{if lt "a" "b"}}lt{{end}}`:      "nelt",
		`{{with .m}}{{.k}}{{end}}{{with .empty}}x{{else}}-{{end}}`: "v-",
		`{{range $i, $x := .l}}{{$i}}{{$x}}{{end}}`:                "0x1y2z",
		`{{range .none}}x{{else}}none{{end}}`:                      "none",
		`{{range .l}}{{if eq . "y"}}{{break}}{{end}}{{.}}{{end}}`:  "x",
		"a {{- .a -}} b":                                           "aAb",
		"{{/* a comment */}}x":                                     "x",
		"}} and { and }":                                           "}} and { and }",
		`{{"{{"}}.x{{"}}"}}`:                                       "{{.x}}",
		"{{`raw \\n`}}":                                            `raw \n`,
		"line\r\n{{.a}}\r\nend":                                    "line\r\nA\r\nend",
		`<b>{{.quote}}</b>`:                                        "<b>say \"hi\" \\ <b>&amp;\n\ttab\u2028</b>",
	} {
		got, e := rendered(t, text)
		if diff := cmp.Diff(want, got); diff != "" || e != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, e, diff)
		}
	}
}

// A variable that is missing is an error where it is named, never an empty text.
func TestMissingVariablesAreErrorsAtTheirPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // the name that is missing; it is marked in the text by «
		"{{«.b}}":                     "b",
		"日本 👍🏽 {{«.b}}":               "b",
		"x\n\ny {{«.b}}":              "b",
		"x\r\n{{«.b}}":                "b",
		"{{if «.b}}x{{end}}":          "b",
		"{{with «.b}}x{{end}}":        "b",
		"{{range «.b}}x{{end}}":       "b",
		"{{range .l}}{{«$.b}}{{end}}": "b",
		"{{.m«.missing}}":             "missing",
		"{{json «.b}}":                "b",
		"{{or .empty «.größer}}":      "größer",
	} {
		text, place, _ := strings.Cut(text, "«")
		offset := len(text)
		_, e := rendered(t, text+place)
		if e == nil || e.Missing != want {
			t.Errorf("%s: got %+v, want %q to be missing", text+place, e, want)
			continue
		}
		if shown := (text + place)[e.Offset:]; e.Offset != offset && !strings.HasPrefix(shown, "."+want) {
			t.Errorf("%s: it is at byte %d, %q, want %d", text+place, e.Offset, shown, offset)
		}
	}
}

func TestUsualSlipsAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]TemplateError{
		"a {{country}}":       {Slip: SlipNoDot, Name: "country"},
		"{{.a}":               {Slip: SlipOneBrace},
		"write {{ | on":       {Slip: SlipDelimiter},
		"{{.a":                {Slip: SlipDelimiter},
		"{{end}}":             {Slip: SlipDelimiter},
		"{{index .l 7}}":      {},
		"{{.m.missing.more}}": {Missing: "missing"},
	} {
		_, e := rendered(t, text)
		if e == nil {
			t.Errorf("%s: got no error, want one", text)
			continue
		}
		expect.Same(t, fmt.Sprintf("%s: %s", text, e.Message), TemplateError{Slip: e.Slip, Name: e.Name, Missing: e.Missing}, want)
	}
}

// Functions that reach out, print by a form or run code are not there, wherever they are called.
func TestOtherFunctionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"printf", "print", "println", "html", "js", "urlquery", "call", "slice", "env", "exec"} {
		for _, form := range []string{
			"{{X .a}}", "{{.a | X}}", "{{if X .a}}{{end}}", "{{with $x := X .a}}{{end}}", "{{range split (X .a) .a}}{{end}}",
			"{{json (X .a)}}",
		} {
			text := strings.ReplaceAll(form, "X", name)
			if out, e := rendered(t, text); e == nil {
				t.Errorf("%s renders to %q, want an error", text, out)
			} else if !strings.Contains(e.Message, name) {
				t.Errorf("%s: got %q, want the name of the function in it", text, e.Message)
			}
		}
	}
}

func TestATemplateKnowsWhatItUses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		Constant, All bool
	}{
		"plain":                        {true, false},
		"one { brace }":                {true, false},
		"{{.a}}":                       {false, false},
		"{{.}}":                        {false, true},
		"{{json .}}":                   {false, true},
		"{{range .l}}{{.}}{{end}}":     {false, false},
		"{{range .l}}{{$}}{{end}}":     {false, true},
		"{{with .m}}{{json .}}{{end}}": {false, false},
		"{{`x`}}":                      {false, false},
	} {
		tm, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		got := want
		got.Constant, got.All = tm.IsConstant(), tm.UsesAll()
		expect.Same(t, text, got, want)
	}
}

// A budget is for many renderings together; when it is spent, the next one is an error.
func TestABudgetEnds(t *testing.T) {
	t.Parallel()
	tm, err := Parse("{{.a}}{{.l}}")
	expect.OK(t, err)
	budget := &Budget{}
	budget.Grow(5000)
	n := 0
	for ; n < 1000; n++ {
		if _, err = tm.RenderWithin(values, budget); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrBudget) || !budget.Spent() || n < 5 || n > 100 {
		t.Errorf("%d renderings, then %v, want some and then %v", n, err, ErrBudget)
	}
	if _, err := tm.RenderWithin(values, nil); err != nil {
		t.Errorf("without a budget: %v, want no error", err)
	}
	if out, err := (&Template{text: "plain"}).RenderWithin(values, budget); err != nil || out != "plain" {
		t.Errorf("a text without actions: got %q, %v, want it at no cost", out, err)
	}
}

// One template renders for many cases at once, the functions that are charged for included.
func TestATemplateRendersConcurrently(t *testing.T) {
	t.Parallel()
	tm, err := Parse(`{{upper .x}} {{range split "," .x}}{{json .}}{{end}}`)
	expect.OK(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, x := range []string{"a,b", "c", "é,日本"} {
				want := strings.ToUpper(x) + ` "` + strings.ReplaceAll(x, ",", `""`) + `"`
				if got, err := tm.Render(eval.Dict{"x": x}); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}
