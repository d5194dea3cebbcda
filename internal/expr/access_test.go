package expr

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// typedValues are what a row of JSON holds, in its order.
func typedValues(t *testing.T) eval.Dict {
	t.Helper()
	vars, err := eval.ParseDict([]byte(
		`{"n": 1.50, "o": {"z": 1.10, "a": true, "off": false, "none": null, "big": 12345678901234567890, "text": "1.1"},
		  "l": [3, "b", null, {"k": "v"}], "empty": {}}`,
	))
	expect.OK(t, err)
	return vars
}

func TestTypedValuesAreWrittenAsTheyAre(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{.n}}":      "1.50",
		"{{.o}}":      `{"z":1.10,"a":true,"off":false,"none":null,"big":12345678901234567890,"text":"1.1"}`,
		"{{json .l}}": `[3,"b",null,{"k":"v"}]`,
		"{{range $k, $v := .o}}{{$k}}={{$v}};{{end}}":                  "z=1.10;a=true;off=false;none=;big=12345678901234567890;text=1.1;",
		"{{range .o}}<{{.}}>{{end}}":                                   "<1.10><true><false><><12345678901234567890><1.1>",
		"{{range $v := .o}}<{{$v}}>{{end}}":                            "<1.10><true><false><><12345678901234567890><1.1>",
		"{{range $i, $v := .l}}{{$i}}{{$v}} {{end}}":                   `03 1b 2 3{"k":"v"} `,
		"{{range .l}}{{with .}}({{.}}){{else}}none{{end}}{{end}}":      `(3)(b)none({"k":"v"})`,
		"{{range .empty}}x{{else}}none{{end}}":                         "none",
		"{{if .empty}}x{{else}}none{{end}}":                            "none",
		"{{if .o.off}}on{{else}}off{{end}}{{if .o.none}}x{{end}}":      "off",
		"{{if not .o.a}}x{{end}}{{if and .o.a (not .o.off)}}y{{end}}":  "y",
		"{{if gt .o.z 1}}gt{{end}}{{if lt .o.z 1.2}}lt{{end}}":         "gtlt",
		`{{if eq .o.z "1.1"}}eq{{end}}{{if ne .o.z .o.text}}ne{{end}}`: "eq",
		`{{if eq .o.a "true"}}eq{{end}}{{if eq .o.big "12345678901234567891"}}?{{end}}{{if eq .o.big "12345678901234567890"}}!{{end}}`: "eq!",
		`{{if eq .n "1.5"}}eq{{else}}texts{{end}}{{if gt .n 1}}gt{{end}}`:                                                              "textsgt",
		"{{index .o \"z\"}}{{index .l 0}}{{(index .l 3).k}}{{len .o}}{{len .l}}": "1.10" +
			"3v64",
		"{{with .o}}{{.z}}{{$.o.a}}{{end}}{{$x := .o}}{{$x.text}}": "1.10true1.1",
		"{{upper .o.a}}{{replace \"1\" \"2\" .o.z}}{{join \",\" .l}}": `TRUE2.203,` +
			`b,,{"k":"v"}`,
	} {
		got := renderedWith(t, text, typedValues(t))
		expect.Same(t, text, got, want)
	}
}

// What is missing inside of a value is marked where it is named, and what there is instead is listed.
func TestWhatIsMissingInsideAValueIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]TemplateError{
		"é {{.o.gone}}": {
			Offset: 7, Message: "there is no `gone`, only z, a, off, none, big, text",
			Missing: "gone", Inside: true,
		},
		"{{(index .l 3).q}}":        {Offset: 14, Message: "there is no `q`, only k", Missing: "q", Inside: true},
		"{{$x := .o}}{{$x.q}}":      {Offset: 16, Message: "there is no `q`, only z, a, off, none, big, text", Missing: "q", Inside: true},
		"{{$.o.q}}":                 {Offset: 5, Message: "there is no `q`, only z, a, off, none, big, text", Missing: "q", Inside: true},
		"{{.empty.q}}":              {Offset: 8, Message: "there is no `q` in the mapping", Missing: "q", Inside: true},
		"{{.n.x}}":                  {Offset: 4, Message: "`.x` takes a mapping, and this is a text", Missing: "x", Inside: true},
		"{{.o.a.x}}":                {Offset: 6, Message: "`.x` takes a mapping, and this is true or false", Missing: "x", Inside: true},
		"{{.o.none.x}}":             {Offset: 9, Message: "`.x` takes a mapping, and this is null", Missing: "x", Inside: true},
		"{{range .l}}{{.k}}{{end}}": {Offset: 14, Message: "`.k` takes a mapping, and this is a number", Missing: "k", Inside: true},
		"{{.l.k}}": {
			Offset: 4, Message: "`.k` takes a mapping, and item 0 of the list is a number",
			Missing: "k", Inside: true,
		},
		"{{.gone.x}}":                    {Offset: 2, Message: "there is no variable `gone`", Missing: "gone"},
		"{{if gt .o.z \"many\"}}{{end}}": {Offset: 5, Message: `error calling gt: "1.10" and "many" are not both numbers`},
		"{{if eq .o \"x\"}}{{end}}":      {Offset: 5, Message: "error calling eq: a list or a mapping cannot be compared; compare `json` of it"},
		"{{range .n}}{{end}}":            {Offset: 8, Message: "range takes a list or a mapping, and this is a text"},
	} {
		tm, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		_, err = tm.Render(typedValues(t))
		got, ok := err.(*TemplateError)
		if !ok {
			t.Errorf("%s: got %v, want an error", text, err)
			continue
		}
		expect.Same(t, text, *got, want)
	}
}

// A name behind a list is what each item has, at any depth; the scalars keep their types.
func TestANameBehindAListIsWhatEachItemHas(t *testing.T) {
	t.Parallel()
	row, err := eval.ParseDict([]byte(`{"l": [{"a": "x", "n": 1.50, "t": true, "d": [{"e": 1}, {"e": null}]},` +
		` {"a": "y", "n": 2, "t": false, "d": []}], "none": []}`))
	expect.OK(t, err)
	row["y"] = eval.Array{eval.Number("1.0"), eval.Null("~"), eval.Null("null"), eval.Boolean("true")}
	for text, want := range map[string]string{
		"{{join \",\" .y}}":                 "1.0,,,true", // null prints nothing, as it does alone
		"{{.l.a}}":                          `["x","y"]`,
		"{{.l.n}}{{.l.t}}":                  `[1.50,2][true,false]`,
		"{{.l.d.e}}":                        `[[1,null],[]]`,
		"{{join \"; \" .l.a}} {{len .l.a}}": "x; y 2",
		"{{.none.a}}{{range .none.a}}x{{else}}none{{end}}": "[]none",
	} {
		expect.Same(t, text, renderedWith(t, text, row), want)
	}
}
