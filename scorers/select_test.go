package scorers_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func TestSelectPicksThePartOfAnAnswer(t *testing.T) {
	t.Parallel()
	equals := func(want, selection string) string { return "- {equals: " + want + ", select: " + selection + "}" }
	fence := func(want, word string) string { return equals(want, "{fence: "+word+"}") }
	two := "Two:\r\n```text\r\na\r\n```\r\nand\r\n``` JSON title=x\r\n{\"a\": 1}\r\n```\r\n"
	checkShapes(t, []shapeTest{
		{equals("Paris", "{jq: .name}"), `{"name": "Paris"}`, "p"},
		{equals("Paris", "{jq: .name}"), "{\"name\":\r\n \"Paris\"}\r\n", "p"},
		{equals("'7'", "{jq: .n}"), `{"n": 7}`, "p"},
		{equals("'7.10'", "{jq: .n}"), `{"n": 7.10}`, "p"},
		{equals("'12345678901234567890'", "{jq: .n}"), `{"n": 12345678901234567890}`, "p"},
		{equals("'false'", "{jq: .n}"), `{"n": false}`, "p"},
		{equals(`'{"a":1,"b":[]}'`, "{jq: .}"), ` {"b": [], "a": 1}`, "p"},
		{equals(`"1\nx"`, "{jq: '.[]'}"), `[1, null, "x"]`, "p"},
		{equals(`"e\u0301"`, "{jq: '.[\"שם\"]'}"), "{\"שם\": \"é\"}", "p"},
		{equals("Paris", "{jq: .name}"), `{"name": null}`, "f"},
		{equals("Paris", "{jq: .name}"), `{"name": ""}`, "f"},
		{equals("Paris", "{jq: .name}"), `{}`, "f"},
		{equals("Paris", "{jq: .name}"), `[]`, "f"},
		{equals("Paris", "{jq: .name}"), "Paris", "f"},
		{equals("Paris", "{jq: .name}"), " \r\n", "f"},
		{equals("Paris", "{jq: .name}"), "", "f"},
		{equals("Paris", "{jq: empty}"), "{}", "f"},
		{equals("Paris", "{jq: 'error(\"no\")'}"), "{}", "f"},
		{equals("'42'", `{regex: 'Total: (\d+)'}`), "Total: 42, Total: 43", "p"},
		{equals("'Total: 42'", `{regex: 'Total: (\d+)', group: 0}`), "Total: 42", "p"},
		{equals("'42'", `{regex: '\d+'}`), "Total: 42", "p"},
		{equals("b", `{regex: '(\w)-(?P<last>\w)', group: last}`), "a-b", "p"},
		{equals("b", `{regex: '(\w)-(\w)', group: 2}`), "a-b", "p"},
		{equals("b", `{regex: '(a)|(b)', group: 2}`), "a", "f"}, // the group took no part
		{equals("x", `{regex: '(x*)'}`), "y", "f"},
		{equals("x", `{regex: 'z'}`), "y", "f"},
		{equals("x", `{regex: '(a+)+$'}`), strings.Repeat("a", 50000) + "b", "f"},
		{equals("x y", `{without: '(?s)<t>.*?</t>'}`), "<t>a\nb</t>x <t></t>y", "p"},
		{equals("x", `{without: z}`), "x", "p"},
		{equals("x", `{without: '.'}`), "x y", "f"}, // nothing is left
		{"- {not: {equals: x, select: {without: x}}}", "x", "f"},
		{fence("a", "text"), two, "p"},
		{fence("a", "any"), two, "p"},
		{fence("a", "true"), two, "p"},
		{fence(`'{"a": 1}'`, "json"), two, "p"},
		{fence(`"a\n\n b"`, "any"), "1. So:\n   ~~~\n   a\n\n    b\n   ~~~~  \n", "p"},
		{fence("a", "yaml"), two, "f"},
		{fence("a", "any"), "no block", "f"},
		{fence("a", "any"), "```\n```", "f"}, // empty
		{fence("a", "any"), "```\na", "p"},   // cut off
		{fence("a", "json"), "````md\n```json\na\n```\n````\n", "f"},
		{fence("'```'", "any"), "````\n```\n````", "p"},
		{fence("a", "any"), "`a` and ```b```", "f"},
		{equals("Paris", "[{fence: json}, {jq: .name}]"), "Here:\n```json\n{\"name\": \"Paris\"}\n```", "p"},
		{equals("Paris", "[{fence: json}, {jq: .name}]"), `{"name": "Paris"}`, "f"},
		{equals("a", `[{fence: any}, {regex: '\w'}]`), "x ```\n```\n a", "p"},
		// every kind that looks at text
		{"- json: {equals: [1]}\n  select: {fence: json}", "```json\n[1]\n```", "p"},
		{"- jsonSchema: {schema: {type: integer}}\n  select: {jq: .a}", `{"a": 3}`, "p"},
		{"- xml: wellFormed\n  select: {fence: xml}", "```xml\n<a/>\n```", "p"},
		{"- number: 3\n  select: {jq: .a}", `{"a": 3, "b": 4}`, "p"},
		{"- length: {max: 3}\n  select: {jq: .a}", `{"a": "abc"}`, "p"},
		{"- refusal: false\n  select: {jq: .a}", `{"b": "yes"}`, "f"},
		{"- list: [a, b]\n  select: {jq: '.[]'}", `["a", "b"]`, "p"},
		{"- {levenshtein: {to: abc, max: 0}, select: {jq: .a}}", `{"a": "abc"}`, "p"},
		// in combinators
		{"- not: {contains: x}\n  select: {jq: .a}", `{"a": "y", "b": "x"}`, "p"},
		{"- not: {contains: x}\n  select: {jq: .a}", `{"b": "x"}`, "f"},
		{"- not: {contains: x, select: {fence: json}}", "x", "f"},
		{"- not: {not: {contains: x, select: {fence: json}}}", "x", "f"},
		{"- any: [{contains: x}, {finishReason: STOP}]\n  select: {jq: .a}", `{}`, "p"},
		{"- all: [{contains: x}, {finishReason: STOP}]\n  select: {jq: .a}", `{}`, "f"},
		{
			"- all: [{equals: x, select: {jq: .a}}, {equals: y, select: {jq: .b}}]\n  select: {fence: any}",
			"```\n{\"a\": \"x\", \"b\": \"y\"}\n```", "p",
		},
	})
}

func TestSelectIsBounded(t *testing.T) {
	t.Parallel()
	with := func(jq string) string { return "- contains: x\n  select: {jq: '" + jq + "'}" }
	checkShapes(t, []shapeTest{
		{with("def f: f; f"), "1", "u"},
		{with("def f: [f]; f"), "1", "u"},
		{"- not: {contains: x}\n  select: {jq: 'def f: f; f'}", "1", "u"},
		{with("range(1e9)"), "1", "u"},
		{with("last(range(1e9))"), "1", "u"},
		{with("[limit(1e9; repeat(1))]"), "1", "u"},
		{with("[recurse(. + 1)]"), "1", "u"},
		{with(".. = 1 | until(false; .)"), "{}", "u"},
		{with("reduce range(40) as $i (.; [., .])"), "1", "u"}, // 2^40 values in 40 arrays
		{with(".[]"), "[" + strings.Repeat(`"`+strings.Repeat("y", 1000)+`",`, 4000) + `"y"]`, "f"},
		{with("(.[], .[])"), "[" + strings.Repeat(`"`+strings.Repeat("y", 1000)+`",`, 4000) + `"y"]`, "u"},
		{with("."), strings.Repeat("[", 100_000), "f"},
		{with("."), strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "u"},
		{with(".[0]"), "[" + strings.Repeat("9", 1<<20) + "]", "u"},
		{with(".[0]"), "[1e999999999]", "u"},
		{with(".a"), `{"a": "` + mega("x") + `"}`, "p"},
		{with(".a"), strings.Repeat(" ", 5<<20) + "{}", "u"},
		{"- contains: x\n  select: {fence: any}", mega("```\n"), "f"},
		{"- contains: x\n  select: {fence: any}", "~~~\n" + mega("x\n"), "p"},
		{"- contains: x\n  select: {fence: any}", mega("`"), "f"},
		{"- contains: x\n  select: {regex: '(?s)(.*)*$'}", mega("x"), "p"},
	})
}

func TestSelectReasonsSayWhatWasSelected(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"- equals: x\n  select: {jq: .a}", `{"a": "y"}`, `expected "x", got "y" (of jq .a)`},
		{"- equals: x\n  select: [{fence: json}, {jq: .a}]", "```json\n{\"a\": \"y\"}\n```", "expected \"x\", got \"y\" (of jq .a of the " +
			"```json block)"},
		{"- equals: x\n  select: {jq: .a}", `{}`, `jq .a finds nothing in "{}"`},
		{"- equals: x\n  select: {jq: .a}", "so\u001b[1m", `jq .a has nothing to select from: not valid JSON at byte 1: "so\x1b[1m"`},
		{"- equals: x\n  select: {jq: .a}", "```json\n{}\n```", "jq .a has nothing to select from: not valid JSON at byte 1 (the answer is " +
			"fenced with ```): \"```json\\n{}\\n```\""},
		{"- equals: x\n  select: {jq: '.[]'}", "3", `jq .[] cannot select from "3": cannot iterate over: number (3)`},
		{"- equals: x\n  select: {fence: json}", "y", "the answer has no ```json block: \"y\""},
		{"- all: [{equals: x}, {equals: z}]\n  select: {fence: any}", "y", "the answer has no fenced block (```): \"y\""},
		{"- equals: x\n  select: {regex: 'a(\\w)'}", "y", `the selection /a(\w)/ does not match "y"`},
		{"- equals: x\n  select: {regex: 'a(b)(c*)', group: 2}", "ab", `the selection, group 2 of /a(b)(c*)/, is empty in "ab"`},
		{"- equals: x\n  select: {fence: any}", "```\n```", "the fenced block of the answer is empty"},
	} {
		expect.Same(t, fmt.Sprintf("%s on %q", test[0], test[1]), score(t, test[0], answer(test[1])).Reason, test[2])
	}
}

func TestSelectTakesPartOfEachCandidate(t *testing.T) {
	t.Parallel()
	a := answer(`{"n": 1}`)
	a.Response.Candidates = append(a.Response.Candidates, eval.Candidate{Text: `{"n": 2}`, FinishReason: "STOP"})
	for entry, want := range map[string]string{
		"- {number: 2, candidate: 1, select: {jq: .n}}":                           "p",
		"- {number: 1, candidate: all, select: {jq: .n}}":                         "f",
		"- {number: {is: 1.5, tolerance: 0.5}, candidate: all, select: {jq: .n}}": "p",
		"- {all: [{equals: '1'}, {equals: '2', candidate: 1}], select: {jq: .n}}": "p",
		"- {not: {contains: x}, candidate: 2, select: {jq: .n}}":                  "f",
	} {
		if got := score(t, entry, a); letter(got) != want {
			t.Errorf("%s: %s (%s), want %s", entry, letter(got), got.Reason, want)
		}
	}
	expect.Same(t, "the answer after all that", a.Response.Candidates[0].Text, `{"n": 1}`)
}

// What is embedded is the selected text.
func TestSelectedTextIsEmbedded(t *testing.T) {
	t.Parallel()
	a := answer(`{"a": "x"}`)
	a.Context = &scorers.Context{Vectors: scorers.Vectors{Known: map[string][]float64{"x": {1, 0}, "y": {1, 0}}}}
	if got := score(t, "- {similar: {to: y, min: 0.9}, select: {jq: .a}}", a); !got.Passed() || len(a.Context.Vectors.Wanted) > 0 {
		t.Errorf("%+v, wanted %q", got, a.Context.Vectors.Wanted)
	}
}

func TestSelectRunsConcurrently(t *testing.T) {
	t.Parallel()
	c := compile(t, "- {equals: x, select: [{fence: json}, {jq: .a}, {regex: '.*'}]}")
	s := compile(t, "- jsonSchema: {schema: {$ref: '#/$defs/a', $defs: {a: {type: string}}}}\n  select: {fence: any}")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got, err := c.Score(answer("```json\n{\"a\": \"x\"}\n```")); !got.Passed() || err != nil {
					t.Errorf("got %v, %v, want a pass", got.Reason, err)
				}
				if got, err := s.Score(answer("```\n1\n```")); got.Passed() || err != nil {
					t.Errorf("got %v, %v, want no pass", got.Reason, err)
				}
			}
		})
	}
	wg.Wait()
}

// reported loads a suite with the entry on line 8 and lists its problems.
func reported(entry string, opts suite.Options, files fstest.MapFS) []string {
	all := fstest.MapFS{"s.yaml": {Data: []byte(plainText(entry))}}
	maps.Copy(all, files)
	_, diags := loadedFrom(all, opts)
	var out []string
	for _, d := range diags.Sorted() {
		out = append(out, strings.TrimPrefix(d.Pos.String(), "s.yaml:")+": "+d.Message)
	}
	return out
}

func checkReported(t *testing.T, entry, want string, got []string) {
	t.Helper()
	if want == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 || want == "" || !strings.HasPrefix(got[0], want) {
		t.Errorf("%s\n got %s\nwant %s", entry, strings.Join(got, "\n     "), want)
	}
}

func TestSelectProblemsAreReported(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- {equals: x, select: .a}":                                      "8:29: expected a mapping",
		"- {equals: x, select: []}":                                      "8:29: `select` needs at least one step",
		"- {equals: x, select: {}}":                                      "8:29: `select` needs jq, json, regex, fence, without or response",
		"- {equals: x, select: {group: 1}}":                              "8:29: `select` needs jq, json, regex, fence, without or response",
		"- {equals: x, select: {jq: .a, fence: json}}":                   "8:38: one way of selecting a step: jq or fence",
		"- {equals: x, select: {without: '('}}":                          "8:40: not a regular expression: missing closing ): `(`",
		"- {equals: x, select: {path: .a, jq: .a}}":                      "8:30: unknown key `path`",
		"- {equals: x, select: {jq: .a, group: 1}}":                      "8:38: `group` goes with `regex`",
		"- {equals: x, select: {jq: ''}}":                                "8:34: `jq` needs an expression",
		"- {equals: x, select: {jq: '.a | ]'}}":                          "8:40: not a jq expression: unexpected token \"]\"",
		"- {equals: x, select: {jq: '.a['}}":                             "8:37: not a jq expression: unexpected EOF",
		"- {equals: x, select: {jq: '.a | frist'}}":                      "8:40: not a jq expression: function not defined: frist/0",
		"- {equals: x, select: {jq: '.a + $b'}}":                         "8:40: not a jq expression: variable not defined: $b",
		"- {equals: x, select: {jq: 'import \"a\" as a; .'}}":            "8:35: not a jq expression",
		"- {equals: x, select: {regex: 'a(b'}}":                          "8:38: not a regular expression: missing closing )",
		"- {equals: x, select: {regex: 'a(?=b)'}}":                       "8:39: not a regular expression",
		"- {equals: x, select: {regex: ''}}":                             "8:37: `regex` needs an expression",
		"- {equals: x, select: {regex: '(a)', group: 2}}":                "8:51: 2 is out of range",
		"- {equals: x, select: {regex: '(?P<who>a)', group: how}}":       "8:58: the expression has no group `how`",
		"- {equals: x, select: {fence: ''}}":                             "8:37: `` is not the word of a fenced block",
		"- {equals: x, select: {fence: a b}}":                            "8:37: `a b` is not the word",
		"- {equals: x, select: {fence: false}}":                          "8:37: `fence: false` selects nothing",
		"- {finishReason: STOP, select: {jq: .a}}":                       "8:30: `finishReason` does not look at the text",
		"- {latency: 1s, select: {jq: .a}}":                              "8:23: `latency` does not look at the text",
		"- {safety: {max: LOW}, select: {jq: .a}}":                       "8:30: `safety` does not look at the text",
		"- {not: {tokens: 3}, select: {jq: .a}}":                         "8:28: `not` does not look at the text",
		"- {all: [{tokens: 3}, {not: {latency: 1s}}], select: {jq: .a}}": "8:52: `all` does not look at the text",
		"- {all: [{tokens: 3, select: {jq: .a}}, {contains: x}]}":        "8:28: `tokens` does not look at the text",
		"- {all: [{tokens: 3}, {contains: x}], select: {jq: .a}}":        "",
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
}

// An untrusted suite's expression only goes down paths.
func TestUntrustedSelectOnlyFollowsPaths(t *testing.T) {
	t.Parallel()
	for jq, fine := range map[string]bool{
		".": true, ".a.b[0].c?": true, ".[]": true, `.["a b"]`: true, `."x"`: true, ".a[-1]": true, ".a[1:-2]": true,
		"..": true, ".a, (.b | .c[])": true, "1": false, ". + .": false, `"x" * 1e9`: false, ".[1e8] = 1": false,
		"def f: f; f": false, "[.]": false, `.["\(.)"]`: false, ".[.a]": false, ".[.a:]": false,
		". as $x | $x": false, "first": false, "reduce .[] as $x (0; 1)": false, ".a[.b[0]]": false, "{a: .}": false,
		"(.a | length)": false, "-.": false, ".[0+1]": false, "env": false,
	} {
		entry, want := "- {equals: x, select: {jq: '"+jq+"'}}", ""
		if !fine {
			want = "8:34: in a suite that is not trusted"
		}
		checkReported(t, entry, want, reported(entry, suite.Options{Untrusted: true}, nil))
		checkReported(t, entry, "", reported(entry, suite.Options{}, nil))
	}
}

// FuzzSelect holds that no answer makes a selection fail, whatever it selects, and that what is found in a fence is
// in the answer.
func FuzzSelect(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add(s, ".a")
		f.Add("```json\n{\"a\": \""+s+"\"}\n```", ".a[0]?")
	}
	f.Add("~~~\n x\n  ~~~~", "..")
	f.Add("[[1], {}]", ".[] | tostring")
	fence := compile(f, "- length: {min: 1}\n  select: [{fence: any}, {regex: '(?s).*'}]")
	f.Fuzz(func(t *testing.T, text, jq string) {
		got := saysWhy(t, fence, text)
		if got.Passed() && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
			t.Errorf("%q has no fence: got %+v, want no pass", text, got)
		}
		if entry := cheapJQ(jq); entry != "" && len(reported(entry, suite.Options{Untrusted: true}, nil)) == 0 {
			saysWhy(t, compile(t, entry), text)
		}
	})
}

func saysWhy(t *testing.T, c *scorers.Compiled, text string) eval.Score {
	t.Helper()
	got, err := c.Score(answer(text))
	if err != nil || got.Reason == "" {
		t.Errorf("%q: %+v %v, want a reason", text, got, err)
	}
	return got
}

// cheapJQ is a scorer that selects by an expression, "" for one that may cost memory or that YAML does not take.
func cheapJQ(jq string) string {
	if len(jq) > 50 || strings.ContainsAny(jq, "*+={}") || strings.Contains(jq, "def") || strings.Contains(jq, "range") {
		return ""
	}
	quoted := strings.NewReplacer("'", "''", "\n", " ", "\r", " ").Replace(jq)
	if strings.ContainsFunc(quoted, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0x7e }) {
		return ""
	}
	return "- length: {min: 1}\n  select: {jq: '" + quoted + "'}"
}
