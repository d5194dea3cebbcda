package promptfoo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/yaml"
)

// Expressions of JavaScript match the same texts in RE2; what RE2 does not have is left to JavaScript.
func TestRegularExpressionsMatchTheSameTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, matches, fails string }{
		{`^Paris$`, "Paris", "Paris."},
		{`\u00e9t\u00e9`, "été", "ete"},
		{`\ud83d\ude00`, "a 😀", "a"},
		{`[\u4e00-\u9fff]`, "日", "a"},
		{`(?<year>\d{4})`, "in 2026", "in 26"},
		{`a\/b`, "a/b", "ab"},
		{`^[^]$`, "\n", ""},
		{`\\u0041`, `\u0041`, "A"},
		{`^1\s0$`, "1\u00a00", "1x0"},
		{`^1[^\s]0$`, "1x0", "1\u202f0"},
		{`^\\s$`, `\s`, " "},
		{`^\[\s]$`, "[\ufeff]", `[s]`},
		{`^[\\s]$`, "s", " "},
	} {
		out, _, ok := toRE2(c.in)
		if !ok {
			t.Errorf("%q has no counterpart, want one", c.in)
			continue
		}
		re := regexp.MustCompile(out)
		if !re.MatchString(c.matches) || re.MatchString(c.fails) {
			t.Errorf("%q became %q: matches %q is %v, %q is %v; want true and false", c.in, out,
				c.matches, re.MatchString(c.matches), c.fails, re.MatchString(c.fails))
		}
	}
	for _, in := range []string{
		`(?=.*a)`, `(a)\1`, `a{2000}`, `(`, `\p{L}`, `a\P{L}`, `\Aa`, `a\z`, `\x{41}`, `[[:alpha:]]`, `[]a]`, `(?P<n>a)`, `\\\a`,
	} {
		if out, _, ok := toRE2(in); ok {
			t.Errorf("%q became %q, want none", in, out)
		}
	}
	if _, note, _ := toRE2("(?i)paris"); !strings.Contains(note, "JavaScript refuses") {
		t.Errorf("(?i): note %q, want that JavaScript refuses it", note)
	}
}

// Code that only removes parts of an answer selects what is left; any other code has no counterpart.
func TestTransformsThatRemovePartsBecomeSelections(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		`output.replace(/<think>[\s\S]*?<\/think>/g, '').trim()`: `without: "<think>[\\s\\S]*?</think>"; regex: "(?s)^\\s*(.*?)\\s*$"`,
		"output.replace(/^```$/gm, \"\");":                       "without: \"(?m)^```$\"",
		`output.replace(/[/]a/g, '')`:                            `without: "[/]a"`,
		`output.replace(/^a/, '')`:                               `without: "^a"`,
		`output.replace(/a\\$/, '')`:                             `without: "a\\\\$"`,
		`output.replace(/a\$/, '')`:                              "",
		`output.replace(/a/, '')`:                                "",
		`output.replace(/^a|b/, '')`:                             "",
		`output.replace(/^a/m, '')`:                              "",
		`output.replace(/a/gu, '')`:                              "",
		`output.replace(/(?=a)/g, '')`:                           "",
		`output.replace(/a/g, 'b')`:                              "",
		`output.replace('a', '')`:                                "",
		`output.replace(/a/g, '').toLowerCase()`:                 "",
		`other.replace(/a/g, '')`:                                "",
		`output`:                                                 "",
	} {
		got := ""
		if left := removals(code); left != nil {
			got = strings.TrimPrefix(strings.TrimSpace(render(one("x", left))), "x:\n  - ")
			got = strings.ReplaceAll(got, "\n  - ", "; ")
		}
		expect.Same(t, code, got, want)
	}
}

// Code that picks a part of a response is jq; any other code is not.
func TestResponsePathsBecomeJQ(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"json.reply":                               ".reply",
		"json.choices[0].message.content":          ".choices[0].message.content",
		"json?.choices?.[0]?.message?.content":     ".choices[0].message.content",
		`json["a b"]['c']`:                         `["a b"]["c"]`,
		"json.a || json.b.c ?? 'none'":             `.a // .b.c // "none"`,
		"(json) => json.data.text":                 ".data.text",
		"(json, text) => json.x;":                  ".x",
		"({ output: json.answer, links: json.l })": ".answer",
		"{ output: json.answer }":                  ".answer",
		"JSON.stringify(json)":                     "",
		"json":                                     "",
		"return json.x":                            ".x",
	} {
		got, ok := responsePath(in)
		if !ok || got != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"json.items.map(i => i.x)", "json.a + json.b", "text", "json.cached ? 'a' : 'b'", "jsonp.x", "", "json..x"} {
		if got, ok := responsePath(in); ok {
			t.Errorf("%q became %q, want none", in, got)
		}
	}
}

// Whatever a text is, YAML reads back what was written.
func TestTextsSurviveYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", " leading", "trailing ", "a: b", "a #b", "- x", "yes", "null", "~", "1.10", "0x1", "{{.x}}", "[a]", "line\nline",
		"line\n", "\nline", "two\n\n", "a\n b\n\n c", " indented\nline", "\ttab\nline", "tab\tinside", "a\r\nb", "é — “x”", "\u2028", "\u0085",
		"\ufeffbom", "\u200bzero", "\x07bell", `back\slash "quoted"`, "'", "%", "@", "`", "!tag", "&a", "*a", "a\n\t\nb",
		"a\n   \nb", "key: |\n  x",
		"\U0001F600", "\ufffe", "---", "...", "a\n---\nb", "?", ":", "-", "2026-01-01", "=", "<<", strings.Repeat("long ", 100),
	} {
		var w writer
		value := textValue(text)
		w.mapping(new(mapping).set("key", value).set("list", texts(text)).set("flat", one("k", value)).set(text, integer(1)), 0)
		var problems diagList
		n, ok := yaml.Parse("x", []byte(w.String()), &problems)
		if !ok {
			t.Errorf("%q: got\n%s\nwant YAML: %v", text, w.String(), problems.Err())
			continue
		}
		m := n.Map()
		for what, got := range map[string]string{
			"a value": m.Get("key").Str(), "an item": m.Get("list").Seq()[0].Str(), "a value in braces": m.Get("flat").Map().Get("k").Str(),
		} {
			expect.Same(t, what+" from\n"+w.String(), got, text)
		}
		if problems.HasErrors() || m.Len() != 4 || !m.Has(text) {
			t.Errorf("the key %q: got it lost, want it: %v\n%s", text, problems.Err(), w.String())
		}
	}
}

// JSON of any writer is read, with tabs and with characters in two escapes.
func TestJSONIsRead(t *testing.T) {
	t.Parallel()
	in := "{\n\t\"prompts\":[\"a \\ud83d\\ude00 \\\\ud83d \\u00e9 \\udc00\"],\n\t\"providers\": [\"echo\"]}"
	var problems diagList
	n, ok := yaml.Parse("x", plainJSON([]byte(in)), &problems)
	if !ok {
		t.Fatalf("got no mapping, want one: %v", problems.Err())
	}
	expect.Same(t, "prompt", n.Map().Get("prompts").Seq()[0].Str(), "a 😀 \\ud83d é \ufffd")
}

// A threshold of a set takes exactly the smallest subsets that reach it.
func TestMinimalSubsetsReachTheThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		weights   []float64
		threshold float64
		want      string
	}{
		{[]float64{1, 1, 1}, 0.66, "[0 1] [0 2] [1 2]"},
		{[]float64{1, 1}, 0.5, "[0] [1]"},
		{[]float64{2, 1, 1}, 0.5, "[0] [1 2]"},
		{[]float64{1, 1, 1}, 1, "[0 1 2]"},
		{[]float64{3, 0, 1}, 0.7, "[0]"},
		{[]float64{0, 0}, 0.5, ""},
	} {
		var got []string
		for _, s := range minimal(c.weights, c.threshold) {
			got = append(got, strings.ReplaceAll(strings.TrimSpace(strings.Join(strings.Fields(sprint(s)), " ")), ",", ""))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("weights %v, threshold %v: got %v, want %s", c.weights, c.threshold, got, c.want)
		}
	}
}

// A cell of a table is read as promptfoo reads it.
func TestCellsAreReadAsPromptfooReadsThem(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Paris":                    "type=equals value=Paris",
		"contains:Paris":           "type=contains value=Paris",
		"not-contains: Paris":      "type=not-contains value=Paris",
		"similar(0.9):hello":       "threshold=0.9 type=similar value=hello",
		"similar:hello":            "threshold=0.8 type=similar value=hello",
		"levenshtein(3): x":        "threshold=3 type=levenshtein value=x",
		"is-json":                  "type=is-json",
		"javascript: output > 1":   "type=javascript value=output > 1",
		"fn:x":                     "type=javascript value=x",
		"python:len(output)":       "type=python value=len(output)",
		"grade: is kind":           "type=llm-rubric value=is kind",
		"file://a.py":              "type=python value=file://a.py",
		"file://a.js:f":            "type=javascript value=file://a.js:f",
		"12:30":                    "type=equals value=12:30",
		"note: this is not a type": "type=equals value=note: this is not a type",
		"contains-all: a, b":       "type=contains-all value=a, b",
	} {
		expect.Same(t, fmt.Sprintf("%q", in), flatMap(assertionOf(in)), want)
	}
}

// Numbers are printed as JavaScript prints them.
func TestNumbersArePrintedAsInJavaScript(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0x1F": "31", "0o17": "15", "0b11": "3", ".inf": "Infinity", "-.inf": "-Infinity", "-0": "0", "1.0": "1", "1_000": "1000", "+5": "5",
		"1e3": "1000", "1e21": "1e+21", "1e20": "100000000000000000000", "1e-7": "1e-7", "010": "10", "'0x1F'": "0x1F",
	} {
		var problems diagList
		n, ok := yaml.Parse("x.yaml", []byte("a: "+in+"\n"), &problems)
		if got := jsText(n.Map().Get("a")); !ok || got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
