package suite_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/suite"
)

// blocks are a suite that loads, block by block.
var blocks = []struct{ key, text string }{
	{"version", "version: 1"},
	{"name", "name: s"},
	{"targets", "targets: [{name: t, model: m}]"},
	{"prompts", "prompts: [{name: p, text: hello}]"},
	{"cases", "cases: [{name: c, scorers: [{contains: x}]}]"},
}

// with is the suite with a block of its own in place of the usual one, or at its end.
func with(block string) string {
	key, _, _ := strings.Cut(block, ":")
	var out []string
	found := false
	for _, b := range blocks {
		if b.key == key {
			b.text, found = block, true
		}
		out = append(out, b.text)
	}
	if !found {
		out = append(out, block)
	}
	return strings.Join(out, "\n") + "\n"
}

// marked takes the mark out of a text and says where it was.
func marked(text string) (string, diag.Pos) {
	before, after, _ := strings.Cut(text, "«")
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return before + after, diag.Pos{File: "s.yaml", Line: strings.Count(before, "\n") + 1, Col: utf8.RuneCountInString(line) + 1}
}

func loaded(text string) (*suite.Suite, []diag.Diagnostic) {
	s, diags := fromText(text, suite.Options{})
	return s, diags.Sorted()
}

func TestTheSuiteOfTheTablesLoads(t *testing.T) {
	t.Parallel()
	if _, said := loaded(with("description: x")); len(said) > 0 {
		t.Fatalf("got %v, want no problem", said)
	}
}

// wrongValues are blocks with a value of a wrong type or out of its range, which is marked, and what is said of it.
var wrongValues = []struct{ block, want string }{
	{"version: «2", "this evalrun reads suites of version 1, not 2"},
	{"version: «[1]", "expected a text, found a list"},
	{"name: «[s]", "expected a text, found a list"},
	{"name: «a b", "is not a name"},
	{"description: «{a: b}", "expected a text, found a mapping"},
	{"tags: «{a: b}", "expected a text, found a mapping"},
	{"tags: [«[a]]", "expected a text, found a list"},
	{"tags: [a, «~]", "expected a text, found nothing"},
	{"stream: «1", "expected true or false, found the number 1"},
	{"service: «[a]", "expected a mapping, found a list"},
	{"service: {baseUrl: «[a]}", "expected a text, found a list"},
	{"service: {baseUrl: «ftp://x}", "the base URL must begin with https:// or http://"},
	{"service: {apiVersion: «v2}", "`v2` is not known here"},
	{"service: {headerPrefix: «'x svc'}", "is not the beginning of a header name"},
	{"service: {auth: «apikey}", "`apikey` is not known here"},
	{"targets: «{name: t}", "expected a list, found a mapping"},
	{"targets: [«t]", "expected a mapping, found \"t\""},
	{"targets: [{name: «t/u, model: m}]", "is not a name"},
	{"targets: [{name: t, model: «models/m}]", "is not a model id"},
	{"targets: [{name: t, model: m, apiVersion: «v9}]", "`v9` is not known here"},
	{"targets: [{name: t, model: m, stream: «maybe}]", "expected true or false, found \"maybe\""},
	{"targets: [{name: t, model: m, generationConfig: «7}]", "expected a mapping, found the number 7"},
	{"targets: [{name: t, model: m, generationConfig: {temperature: «hot}}]", "expected a number, found \"hot\""},
	{"targets: [{name: t, model: m, generationConfig: {temperature: «-1}}]", "-1 is out of range: at least 0"},
	{"targets: [{name: t, model: m, generationConfig: {topP: «1.5}}]", "1.5 is out of range: between 0 and 1"},
	{"targets: [{name: t, model: m, generationConfig: {topK: «1.5}}]", "`1.5` is not a whole number"},
	{"targets: [{name: t, model: m, generationConfig: {maxOutputTokens: «0}}]", "0 is out of range: at least 1"},
	{"targets: [{name: t, model: m, generationConfig: {stopSequences: «x}}]", "expected a list, found \"x\""},
	{"targets: [{name: t, model: m, generationConfig: {extra: «x}}]", "expected a mapping, found \"x\""},
	{"targets: [{name: t, model: m, safetySettings: «x}]", "expected a list, found \"x\""},
	{"targets: [{name: t, model: m, safetySettings: [«x]}]", "expected a mapping, found \"x\""},
	{"prompts: «hello", "expected a list, found \"hello\""},
	{"prompts: [«hello]", "expected a mapping, found \"hello\""},
	{"prompts: [{name: «'', text: x}]", "is not a name"},
	{"prompts: [{name: p, text: «[x]}]", "expected a text, found a list"},
	{"prompts: [{name: p, turns: «x}]", "expected a list, found \"x\""},
	{"prompts: [{name: p, turns: [«x]}]", "expected a mapping, found \"x\""},
	{"prompts: [{name: p, parts: [{text: «~}]}]", "expected a text, found nothing"},
	{"prompts: [{name: p, targets: [«x], text: y}]", "matches no target"},
	{"cases: «c", "expected a list, found \"c\""},
	{"cases: [«c]", "expected a mapping, found \"c\""},
	{"cases: [{name: «[c], scorers: [{contains: x}]}]", "expected a text, found a list"},
	{"cases: [{name: c, vars: «[a], scorers: [{contains: x}]}]", "expected a mapping, found a list"},
	{"cases: [{name: c, tags: «{a: b}, scorers: [{contains: x}]}]", "expected a text, found a mapping"},
	{"cases: [{name: c, arms: [«x], scorers: [{contains: x}]}]", "matches no arm"},
	{"cases: [{name: c, repeats: «0, scorers: [{contains: x}]}]", "0 is out of range"},
	{"cases: [{name: c, repeats: «many, scorers: [{contains: x}]}]", "expected a whole number, found \"many\""},
	{"cases: [{name: c, threshold: «2, scorers: [{contains: x}]}]", "2 is out of range: between 0 and 1"},
	{"cases: [{name: c, inheritScorers: «no, scorers: [{contains: x}]}]", "expected true or false, found \"no\""},
	{"cases: [{name: c, scorers: «x}]", "expected a list, found \"x\""},
	{"cases: [{name: c, scorers: [«x]}]", "expected a mapping, found \"x\""},
	{"cases: [{name: c, scorers: [{contains: x, weight: «-1}]}]", "-1 is out of range: at least 0"},
	{"cases: [{name: c, scorers: [{contains: x, required: «1}]}]", "expected true or false, found the number 1"},
	{"cases: [{name: c, scorers: [{contains: x, threshold: «1.1}]}]", "1.1 is out of range: between 0 and 1"},
	{"cases: [{name: c, quarantine: {reason: r, owner: o, until: «soon}, scorers: [{contains: x}]}]", "`soon` is not a day"},
	{"cases: [{name: c, each: «{a: b}, scorers: [{contains: x}]}]", "expected a list, found a mapping"},
	{"cases: [{name: c, matrix: «[a], scorers: [{contains: x}]}]", "expected a mapping, found a list"},
	{"limits: «8", "expected a mapping, found the number 8"},
	{"limits: {concurrency: «0}", "0 is out of range"},
	{"limits: {concurrency: «lots}", "expected a whole number, found \"lots\""},
	{"limits: {requestsPerMinute: «1.5}", "`1.5` is not a whole number"},
	{"limits: {tokensPerMinute: «-5}", "-5 is out of range"},
	{"limits: {budget: «5}", "expected a mapping, found the number 5"},
	{"limits: {budget: {calls: «0}}", "0 is out of range"},
	{"limits: {budget: {tokens: «all}}", "expected a whole number, found \"all\""},
	{"limits: {budget: {time: «60}}", "`60` is not a duration"},
	{"limits: {timeout: «-1s}", "`-1s` is not above zero"},
	{"limits: {attempts: «[5]}", "expected a whole number, found a list"},
	{"limits: {countTokens: «sometimes}", "`sometimes` is not known here"},
	{"gate: «strict", "expected a mapping, found \"strict\""},
	{"gate: {passRate: «0.9}", "expected a mapping, found the number 0.9"},
	{"gate: {passRate: {min: «90}}", "90 is out of range: between 0 and 1"},
	{"gate: {errors: {max: «-0.1}}", "-0.1 is out of range: between 0 and 1"},
	{"gate: {latency: {p95: «2}}", "`2` is not a duration"},
	{"gate: {baseline: {run: main, margin: «5}}", "a margin lies between 0 and 1, and 5 does not"},
	{"gate: {baseline: {run: main, margin: 0.1, onInconclusive: «ignore}}", "`ignore` is not known here"},
	{"metrics: «[a]", "expected a mapping, found a list"},
	{"embedding: «e", "expected a mapping, found \"e\""},
	{"embedding: {model: «'a b'}", "is not a model id"},
	{"judges: «j", "expected a list, found \"j\""},
	{"defaults: «[a]", "expected a mapping, found a list"},
	{"defaults: {repeats: «1.5}", "`1.5` is not a whole number"},
	{"scorerSets: «[a]", "expected a mapping, found a list"},
	{"prices: «[a]", "expected a text, found a list"},
	{"include: «{a: b}", "expected a text, found a mapping"},
}

// Each key reports a value of a wrong type or out of its range where the value is, with what it takes.
func TestEachKeyReportsAWrongValueAtItsPlace(t *testing.T) {
	t.Parallel()
	for _, test := range wrongValues {
		t.Run(test.block, func(t *testing.T) {
			t.Parallel()
			text, pos := marked(with(test.block))
			_, said := loaded(text)
			for _, d := range said {
				if d.Severity == diag.Error && d.Pos == pos && strings.Contains(d.Message, test.want) {
					return
				}
			}
			t.Errorf("got %v, want a problem at %s with %q", said, pos, test.want)
		})
	}
}

// A word that is nearly a key is unknown, and the hint names the key.
func TestUnknownKeysNameTheNearestOne(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"«target: []":                   "targets",
		"«Limits: {}":                   "limits",
		"service: {«baseURL: http://x}": "baseUrl",
		"targets: [{name: t, model: m, «strem: true}]":                       "stream",
		"targets: [{name: t, model: m, generationConfig: {«temprature: 1}}]": "temperature",
		"prompts: [{name: p, «txt: hello}]":                                  "text",
		"cases: [{name: c, «scorer: [{contains: x}]}]":                       "scorers",
		"cases: [{name: c, scorers: [{«contain: x}]}]":                       "contains",
		"cases: [{name: c, scorers: [{contains: x, «wieght: 2}]}]":           "weight",
		"limits: {«concurency: 2}":                                           "concurrency",
		"limits: {budget: {«call: 2}}":                                       "calls",
		"gate: {«passrate: {min: 1}}":                                        "passRate",
		"gate: {passRate: {min: 1, «mn: 1}}":                                 "min",
		"defaults: {«repeat: 2}":                                             "repeats",
	} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			text, pos := marked(with(block))
			_, said := loaded(text)
			for _, d := range said {
				if d.Pos == pos && strings.Contains(d.Message, "unknown") && strings.Contains(d.Hint, "`"+want) {
					return
				}
			}
			t.Errorf("got %+v, want an unknown key at %s with the hint %q", said, pos, want)
		})
	}
}

// What a misspelled key would have set is not missing: it is one problem.
func TestOneMisspelledKeyIsOneProblem(t *testing.T) {
	t.Parallel()
	const text = `version: 1
name: s
targets: [{name: t, model: m}]
judges: [{name: j, model: m}]
prompts: [{name: p, text: "{{.q}}"}]
defaults: {scorers: [{judge: {rubric: good}}, {contains: x, select: {jq: .a}}]}
cases: [{dataset: rows.csv, scorers: [{name: n, contains: y}]}]
gate: {mean: {n: {min: 0.5}}, baseline: {run: main, margin: 0.1}}
`
	for right, wrong := range map[string]string{
		"targets:": "providers:", "judges:": "judge:", "prompts:": "promts:", "defaults:": "default:", "cases:": "tests:",
		"model: m}]\njudges": "modl: m}]\njudges", "{name: j": "{nam: j", "{name: p": "{nam: p", "text:": "txt:", "[{judge:": "[{juge:",
		"rubric:": "rubrik:", "jq:": "jg:", "dataset:": "data:", "scorers: [{name": "assert: [{name", "min:": "minimum:",
		"run:": "rum:", "margin:": "margn:", "[{name: n": "[{nmae: n",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{"s.yaml": {Data: []byte(strings.Replace(text, right, wrong, 1))}, "rows.csv": {Data: []byte("q\nhello\n")}}
			_, diags := fromFolder(files, suite.Options{})
			said := diags.Sorted()
			if len(said) != 1 || !strings.Contains(said[0].Message, "unknown") {
				t.Errorf("got %+v, want one unknown word", said)
			}
		})
	}
}

// Keys of objects of the service are unknown too, unless they are in `extra`.
func TestExtraTakesAnyField(t *testing.T) {
	t.Parallel()
	s, said := loaded(with("targets: [{name: t, model: m, generationConfig: {extra: {candidateCount: 3, deep: {a: [1.10, x]}}}}]"))
	if len(said) > 0 {
		t.Fatalf("got %v, want no problem", said)
	}
	text, err := s.Targets[0].Model().GenerationConfig.MarshalJSON()
	if err != nil || !strings.Contains(string(text), `"candidateCount":3`) || !strings.Contains(string(text), `"deep":{"a":[1.10,"x"]}`) {
		t.Errorf("got %s, %v, want the fields as they are written", text, err)
	}
}

// One pass reports everything, in the order of the file.
func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, said := loaded(`version: 3
name: a b
nmae: s
targets: [{name: t, model: m, stream: 1}, {name: t, model: m}]
prompts: [{name: p, text: "{{.missing}}", extra: 1}]
cases:
  - {name: c, scorers: [{contains: x, weight: -1}]}
  - {name: c, scorers: [{equls: x}]}
  - {name: none}
limits: {concurrency: 0, attempts: 0}
gate: {}
`)
	lines := map[int]bool{}
	last := 0
	for _, d := range said {
		if d.Pos.Line < last {
			t.Errorf("got line %d after line %d, want them in order", d.Pos.Line, last)
		}
		last = d.Pos.Line
		lines[d.Pos.Line] = true
	}
	want := map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 7: true, 8: true, 9: true, 10: true, 11: true}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines with problems (-want +got):\n%s\n%v", diff, said)
	}
}

func TestNamesAreUniqueAndPlain(t *testing.T) {
	t.Parallel()
	for block, want := range map[string]string{
		"targets: [{name: t, model: m}, {name: «t, model: n}]":  "duplicate target",
		"prompts: [{name: p, text: x}, {name: «p, text: y}]":    "duplicate prompt",
		"targets: [{name: «日本, model: m}]":                      "is not a name",
		"targets: [{name: «'a*', model: m}]":                    "is not a name",
		"prompts: [{name: «../p, text: x}]":                     "is not a name",
		"cases: [{name: «\"a\\nb\", scorers: [{contains: x}]}]": "a single line",
	} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			text, pos := marked(with(block))
			_, said := loaded(text)
			for _, d := range said {
				if d.Pos == pos && strings.Contains(d.Message, want) {
					return
				}
			}
			t.Errorf("got %v, want a problem at %s with %q", said, pos, want)
		})
	}
	if _, said := loaded(with("cases: [{name: 'Größe / 日本 👍🏽 *', scorers: [{contains: x}]}]")); len(said) > 0 {
		t.Errorf("the name of a case is any single line, got %v, want none", said)
	}
}

// What a variable holds is data: it is never rendered again, and keeps its spelling.
func TestVariablesAreDataAsWritten(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"{{.other}} {{len 1}}"`: "{{.other}} {{len 1}}",
		"1.10":                   "1.10",
		"007":                    "007",
		"yes":                    "yes",
		"TRUE":                   "TRUE",
		"2027-01-31":             "2027-01-31",
		"1e3":                    "1e3",
		`"a\u0000b"`:             "a\x00b",
		`"<b>&amp;</b>"`:         "<b>&amp;</b>",
		"'שָׁלוֹם 👍🏽'":           "שָׁלוֹם 👍🏽",
	} {
		text := strings.Replace(with(`prompts: [{name: p, text: "say {{.v}}"}]`), "{name: c,", "{name: c, vars: {v: "+value+", other: y},", 1)
		s, said := loaded(text)
		for _, d := range said {
			if d.Severity == diag.Error {
				t.Errorf("%s: %v, want no error", value, d)
			}
		}
		for c := range s.Cases() {
			prompt, err := s.Render(c, c.Arms[0])
			expect.OK(t, err)
			expect.Same(t, value, prompt.Contents[0].Parts[0].(eval.TextPart).Text, "say "+want)
		}
	}
}

func TestAVariableOfTheCommandLineWinsAndIsNoPartOfTheCase(t *testing.T) {
	t.Parallel()
	text := strings.Replace(with(`prompts: [{name: p, text: "{{.v}}"}]`), "{name: c,", "{name: c, vars: {v: own},", 1)
	type seen struct{ ID, Text string }
	var got []seen
	for _, vars := range []map[string]string{nil, {"v": "given {{.v}}"}} {
		s, diags := fromText(text, suite.Options{Vars: vars})
		expect.OK(t, diags.Err())
		for c := range s.Cases() {
			prompt, err := s.Render(c, c.Arms[0])
			expect.OK(t, err)
			got = append(got, seen{c.ID, prompt.Contents[0].Parts[0].(eval.TextPart).Text})
		}
	}
	expect.Same(t, "cases", got, []seen{{got[0].ID, "own"}, {got[0].ID, "given {{.v}}"}})
}

// Files open in the folder of the suite and never outside it.
func TestFilesOutsideOfTheFolderAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../x.tmpl", "/etc/hosts", "a/../../x", "..", "C:\\x", "a/./../../x"} {
		for _, form := range []string{
			"prompts: [{name: p, file: «%q}]", "prices: «%q", "include: «%q",
			"prompts: [{name: p, parts: [{image: «%q}, {text: x}]}]", "prompts: [{name: p, parts: [{data: «%q}, {text: x}]}]",
			"prompts: [{name: p, text: x, system: {file: «%q}}]", "cases: [{dataset: «%q, name: c, scorers: [{contains: x}]}]",
		} {
			text, pos := marked(with(fmt.Sprintf(form, name)))
			_, said := loaded(text)
			found := false
			for _, d := range said {
				found = found || d.Severity == diag.Error && d.Pos == pos
			}
			if !found {
				t.Errorf("%s of %q: got %v, want a problem at %s", form, name, said, pos)
			}
		}
	}
}

const defaults = `defaults:
  repeats: 3
  vars: {a: da, b: db}
  tags: [d]
  cluster: dc
  threshold: 0.5
  scorers: [{contains: x, name: n}, {contains: y}]
`
