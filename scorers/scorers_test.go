package scorers_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

const streamed = "{name: t, model: m, stream: true}"

// compile reads one entry of a scorers list, as it is written in a suite.
func compile(t testing.TB, entry string) *scorers.Compiled {
	t.Helper()
	target := streamed
	if strings.Contains(entry, "file: {path") {
		target = "{name: t, program: {command: [cat], workspace: left}}"
	}
	s, diags := loadedFrom(fstest.MapFS{"s.yaml": {Data: []byte(textOf(target, entry))}, "left/x": {}}, suite.Options{})
	return onlyOf(t, entry, s, diags)
}

// textOf is a suite whose target, judge and chat let every kind of scorer be used, with one entry of a scorers list.
func textOf(target, entry string) string {
	return "version: 1\nname: s\ntargets: [" + target + "]\njudges: [{name: strict, model: m}]\nprompts: [{name: p, " +
		"live: true, turns: [{user: x}, {user: x}, {user: x}]}]\ncases:\n  - name: c\n    scorers:\n" +
		"      " + strings.ReplaceAll(entry, "\n", "\n      ") + "\n"
}

// plainText is a suite with one entry of a scorers list, on line 8.
func plainText(entry string) string {
	return "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: x}]\ncases:\n  - name: c\n    scorers:\n" +
		"      " + strings.ReplaceAll(entry, "\n", "\n      ") + "\n"
}

// loaded loads a suite of one file, and loadedFrom one with others next to it.
func loaded(text string) (*suite.Suite, *diag.List) {
	return loadedFrom(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, suite.Options{})
}

func loadedFrom(files fs.FS, opts suite.Options) (*suite.Suite, *diag.List) {
	var diags diag.List
	return suite.Load(files, "s.yaml", scorers.Builtin(), opts, &diags), &diags
}

// onlyOf compiles the scorer of a suite without an error, which has one; what names it.
func onlyOf(t testing.TB, what string, s *suite.Suite, diags *diag.List) *scorers.Compiled {
	t.Helper()
	if err := diags.Err(); err != nil {
		t.Fatalf("%s: %v, want no error", what, err)
	}
	for c := range s.Cases() {
		return scorers.Builtin().Compile(c.Scorers[0])
	}
	return nil
}

func answer(text string) *scorers.Answer {
	return &scorers.Answer{Response: &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: "STOP"}}}}
}

func score(t testing.TB, entry string, a *scorers.Answer) eval.Score {
	t.Helper()
	s, err := compile(t, entry).Score(a)
	if err != nil {
		t.Fatalf("%s: %v, want no error", entry, err)
	}
	if s.Reason == "" {
		t.Errorf("%s: got %+v, want a reason", entry, s)
	}
	return s
}

func isScored(s eval.Score) bool {
	_, ok := s.Value()
	return ok
}

// valueOf is the value of a score, -1 for none.
func valueOf(s eval.Score) float64 {
	if value, ok := s.Value(); ok {
		return value
	}
	return -1
}

// The outcome of a scorer in one letter: pass, fail, unscored.
func letter(s eval.Score) string {
	switch {
	case !isScored(s):
		return "u"
	case s.Passed():
		return "p"
	}
	return "f"
}

func TestTextScorersCompareTheAnswer(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("0123456789abcdef", 1<<16)
	checkShapes(t, []shapeTest{
		{"- equals: Paris", "Paris", "p"},
		{"- equals: Paris", "Paris\n", "f"},
		{"- equals: Paris", "paris", "f"},
		{"- {equals: Paris, trim: true}", " \r\nParis\t", "p"},
		{"- {equals: PARIS, ignoreCase: true}", "paris", "p"},
		{"- {equals: STRASSE, ignoreCase: true}", "Straße", "p"},
		{"- {equals: σας, ignoreCase: true}", "ΣΑΣ", "p"},
		{"- equals: [Paris, Lutetia]", "Lutetia", "p"},
		{"- equals: \"caf\\u00e9\"", "cafe\u0301", "p"},
		{"- {equals: \"caf\\u00e9\", normalize: none}", "cafe\u0301", "f"},
		{"- {equals: \"1\", normalize: nfkc}", "①", "p"},
		{"- equals: 010", "010", "p"},
		{"- equals: \"\"", "", "f"}, // no text is no answer
		{"- equals: שלום", "שלום", "p"},
		{"- contains: la Vella", "It is Andorra la Vella.", "p"},
		{"- contains: LA VELLA", "It is Andorra la Vella.", "f"},
		{"- contains: x", mega, "f"},
		{"- containsAll: [a, b]", "b then a", "p"},
		{"- containsAll: [a, b]", "only a", "f"},
		{"- containsAny: [a, b]", "xbx", "p"},
		{"- containsAny: [a, b]", "xyz", "f"},
		{"- startsWith: Dear", "Dear you", "p"},
		{"- startsWith: [Dear, Hello]", "Hello you", "p"},
		{"- startsWith: Dear", " Dear you", "f"},
		{"- {startsWith: Dear, trim: true}", " Dear you", "p"},
		{"- endsWith: \".\"", "The end.", "p"},
		{"- endsWith: \".\"", "The end.\n", "f"},
		{"- regex: '^\\d+$'", "42", "p"},
		{"- regex: '^\\d+$'", "42\n", "f"},
		{"- regex: 'b.d'", "a b\nd", "f"},
		{"- {regex: 'abc', ignoreCase: true}", "xABCx", "p"},
		{"- regex: '(a+)+$'", strings.Repeat("a", 50000) + "b", "f"},
		{"- {contains: ' la', trim: true}", "Alabama", "f"},
		{"- {equals: ' Paris', trim: true}", "Paris ", "p"},
	})
}

func TestLengthsAndDistancesHoldTheirBounds(t *testing.T) {
	t.Parallel()
	mega := strings.Repeat("0123456789abcdef", 1<<16)
	checkShapes(t, []shapeTest{
		{"- length: {max: 5}", "12345", "p"},
		{"- length: {max: 5}", "123456", "f"},
		{"- length: {min: 2, max: 2}", "e\u0301e\u0301", "p"}, // two code points after NFC
		{"- length: {words: {max: 2}}", " two\twords\r\n", "p"},
		{"- length: {unit: words, min: 3}", "two words", "f"},
		{"- length: {words: 2}", "two words", "p"},
		{"- length: {lines: {max: 2}}", "a\r\nb\r\n", "p"},
		{"- length: {lines: {max: 2}}", "a\nb\n\n", "f"},
		{"- length: {lines: {max: 1}, words: {min: 2}}", "a b", "p"},
		{"- length: {max: 5}", "", "f"},
		{"- levenshtein: {to: kitten, max: 3}", "sitting", "p"},
		{"- levenshtein: {to: kitten, max: 2}", "sitting", "f"},
		{"- levenshtein: {to: Reykjavik, max: 1}", "Reykjavík", "p"},
		{"- {levenshtein: {to: kitten}, threshold: 0.5}", "sitting", "p"},
		{"- {levenshtein: {to: kitten}, threshold: 0.6}", "sitting", "f"},
		{"- {levenshtein: {to: KITTEN, max: 0, ignoreCase: true}}", "kitten", "p"},
		{"- levenshtein: {to: a, max: 2}", mega, "f"}, // by its length
		{"- levenshtein: {to: a, ratio: 0.00000001}", mega, "u"},
	})
}

func TestJSONScorerComparesValues(t *testing.T) {
	t.Parallel()
	checkShapes(t, []shapeTest{
		{"- json: valid", `{"a": [1, 2.5e3, null]}`, "p"},
		{"- json: valid", `{"a": 1} trailing`, "f"},
		{"- json: valid", "```json\n{}\n```", "f"},
		{"- json: valid", `{"a": `, "f"},
		{"- json: {equals: {b: [1, x], a: null}}", `{"a":null,"b":[1,"x"]}`, "p"},
		{"- json: {equals: {a: 1}}", `{"a":1.0}`, "p"},
		{"- json: {equals: {a: 1}}", `{"a":"1"}`, "f"},
		{"- json: {equals: {a: 9007199254740993}}", `{"a":9007199254740992}`, "f"},
		{"- json: {equals: {a: 0.3}, tolerance: 0.01}", `{"a":0.305}`, "p"},
		{"- json: {equals: {a: 0.3}, tolerance: 0.01}", `{"a":0.32}`, "f"},
		{"- json: {equals: {a: 1}, ignore: [/id]}", `{"a":1,"id":7}`, "p"},
		{"- json: {equals: {a: 1, id: 3}, ignore: [/id]}", `{"a":1}`, "p"},
		{"- json: {equals: {l: [{id: 1, v: a}, {id: 2, v: b}]}, ignore: ['/l/*/id']}", `{"l":[{"id":9,"v":"a"},{"id":8,"v":"b"}]}`, "p"},
		{"- json: {equals: {l: [{id: 1, v: a}]}, ignore: ['/l/*/id']}", `{"l":[{"id":9,"v":"z"}]}`, "f"},
		{"- json: {equals: [1, 2]}", `[2, 1]`, "f"},
		{"- json: {equals: {a: 1}}", `{"a":1,"b":2}`, "f"},
		{"- json: {equals: {a: 1}}", `{"a":1e999999999}`, "f"},
		{"- json: {equals: 0.3, tolerance: 0.01}", "0.31", "p"},
		{
			"- json: {equals: " + strings.Repeat("[", 50) + "1" + strings.Repeat("]", 50) + "}",
			strings.Repeat("[", 50) + "2" + strings.Repeat("]", 50), "f",
		},
	})
}

// The value of all is the least, that of any the largest, over what was scored, in whatever order.
func TestCombinedValuesAreLeastOrLargest(t *testing.T) {
	t.Parallel()
	lev := func(to string, max int) string { return fmt.Sprintf("{levenshtein: {to: %s, max: %d}}", to, max) }
	unknown := "{safety: {category: HARM_CATEGORY_HARASSMENT, max: LOW}}"
	for entry, want := range map[string]float64{
		"- all: [" + lev("Paris", 0) + ", " + unknown + "]":          0.8,
		"- all: [" + unknown + ", " + lev("Paris", 0) + "]":          0.8,
		"- all: [" + lev("Paris", 0) + ", " + lev("xbxxx", 9) + "]":  0.2,
		"- any: [" + lev("Paris", 0) + ", " + lev("xbxxx", 9) + "]":  0.8,
		"- any: [" + lev("xbxxx", 9) + ", " + lev("Pbris", 9) + "]":  1,
		"- any: [" + unknown + ", " + lev("xbxxx", 9) + "]":          0.2,
		"- not: {all: [" + lev("Paris", 0) + ", {contains: Pbris}]}": 0.2,
	} {
		if got := score(t, entry, answer("Pbris")); !isScored(got) || math.Abs(valueOf(got)-want) > 1e-9 {
			t.Errorf("%s: %v, want %v (%s)", entry, got.Grade, want, got.Reason)
		}
	}
}

// Arguments that would turn a check off, or into its opposite, are problems.
func TestEmptyArgumentsAreProblems(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		`- length: {max: 1, unit: ""}`, `- tokens: {max: 1, of: ""}`, `- latency: ""`, `- json: ""`, `- safety: {max: ""}`,
		`- finishReason: ""`, `- blocked: {reason: ""}`, `- blocked: {reason: []}`, `- blocked: []`, `- blocked: NO`, `- blocked: YES`,
		`- blocked: 5`, `- contains: ""`, `- {levenshtein: {to: x, max: 1}, threshold: 0.5}`, `- length: {max: 5, characters: {max: 500}}`,
		`- {contains: x, normalize: ""}`, `- any: [{levenshtein: {to: x}}]`, `- equals: {{.x}}`,
	} {
		if _, diags := loaded(textOf(streamed, entry)); !diags.HasErrors() {
			t.Errorf("%s is taken, want an error", entry)
		}
	}
}

func TestScoresMakeAnOutcomeByWeightsAndThreshold(t *testing.T) {
	t.Parallel()
	s := func(value float64, passed bool, weight float64, required bool) eval.Score {
		return eval.Score{Scorer: "x", Grade: eval.Graded{Value: value, Passed: passed}, Weight: weight, Required: required}
	}
	half := 0.5
	for _, test := range []struct {
		scores    []eval.Score
		threshold *float64
		want      eval.Outcome
	}{
		{[]eval.Score{s(1, true, 1, false), s(0, false, 1, false)}, nil, eval.Fail},
		{[]eval.Score{s(1, true, 1, false), s(0, false, 1, false)}, &half, eval.Pass},
		{[]eval.Score{s(1, true, 1, false), s(0, false, 2, false)}, &half, eval.Fail},
		{[]eval.Score{s(1, true, 9, false), s(0, false, 1, true)}, &half, eval.Fail},
		{[]eval.Score{s(1, true, 1, false), {Scorer: "y", Grade: eval.Unscored{Why: "no idea"}}}, &half, eval.Err},
		{[]eval.Score{s(0, false, 0, false)}, &half, eval.Fail},
	} {
		r := eval.Result{Ending: scorers.EndingOf(test.scores, test.threshold)}
		expect.Same(t, fmt.Sprintf("%+v", test.scores), r.Outcome(), test.want)
	}
}

func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	expect.OK(t, err)
	var in struct{ Cases []T }
	expect.OK(t, json.Unmarshal(data, &in))
	if len(in.Cases) == 0 {
		t.Fatalf("no cases, want some: %s", data)
	}
	return in.Cases
}

func quoted(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Case folding as Python does it.
func TestCaseFoldIsThatOfPython(t *testing.T) {
	t.Parallel()
	for _, c := range vectors[struct {
		S, Casefold, NFKC string
		NFKCCasefold      string `json:"nfkc_casefold"`
	}](t, "casefold.json") {
		if c.S == "" || strings.TrimSpace(c.S) == "" {
			continue
		}
		if !score(t, fmt.Sprintf("- {equals: %s, ignoreCase: true}", quoted(c.Casefold)), answer(c.S)).Passed() {
			t.Errorf("%q does not equal %q without case, want them equal", c.S, c.Casefold)
		}
		if !score(t, fmt.Sprintf("- {equals: %s, normalize: nfkc, ignoreCase: true}", quoted(c.NFKCCasefold)), answer(c.S)).Passed() {
			t.Errorf("%q does not equal %q without case under NFKC, want them equal", c.S, c.NFKCCasefold)
		}
	}
}

// Every kind has what help and documentation need, and its example is right.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	for _, k := range scorers.Builtin() {
		if k.Summary == "" || k.Doc == "" || k.Example == "" {
			t.Errorf("%s: %q, %q, %q, want three texts", k.Name, k.Summary, k.Doc, k.Example)
		}
		compile(t, k.Example)
	}
}

func TestReasonsArePlain(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- equals: Paris":                    `expected "Paris", got "Lyon\u0007 \"x\""`,
		"- length: {words: {max: 1}}":        "the answer has 2 words, expected at most 1",
		"- json: {equals: {a: 1}}":           `not valid JSON at byte 1: "Lyon\u0007 \"x\""`,
		"- levenshtein: {to: Paris, max: 1}": `distance 9 from "Paris", at most 1: "Lyon\u0007 \"x\""`,
		"- containsAll: [a, b]":              `the answer does not contain "a", "b": "Lyon\u0007 \"x\""`,
		"- any: [{contains: a}, {startsWith: b}]": `none passed: the answer does not contain "a": "Lyon\u0007 \"x\""; the answer does not ` +
			`begin with "b": "Lyon\u0007 \"x\""`,
	} {
		got := score(t, entry, answer("Lyon\a \"x\"")).Reason
		if got = strings.ReplaceAll(got, `\a`, `\u0007`); got != want {
			t.Errorf("%s:\n got %s\nwant %s", entry, got, want)
		}
	}
}

// A long value in a difference is cut between characters, and not escaped for HTML.
func TestLongJSONValuesAreCut(t *testing.T) {
	t.Parallel()
	got := score(t, "- json: {equals: {a: x}}", answer(`{"a":"<`+strings.Repeat("é", 200)+`"}`)).Reason
	if !utf8.ValidString(got) || !strings.Contains(got, `got "<éé`) || !strings.HasSuffix(got, "...") || len(got) > 200 {
		t.Errorf("%q, want valid UTF-8 that begins with the value and is cut at 200 bytes", got)
	}
}

func FuzzScore(f *testing.F) {
	for _, s := range []string{"Paris", "", "{\"a\": 1e400}", "\xff\xfe", strings.Repeat("[", 20000), "e\u0301"} {
		f.Add(s)
	}
	var all []*scorers.Compiled
	for _, k := range scorers.Builtin() {
		all = append(all, compile(f, k.Example))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range all {
			s, err := c.Score(answer(text))
			expect.OK(t, err)
			if isScored(s) && !(valueOf(s) >= 0 && valueOf(s) <= 1) {
				t.Errorf("%s: value %v, want 0 to 1", s.Scorer, valueOf(s))
			}
		}
	})
}

// Scorer arguments come from files that may be hostile.
func FuzzArguments(f *testing.F) {
	for _, k := range scorers.Builtin() {
		f.Add(k.Example)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		s, diags := loaded(textOf(streamed, entry))
		if diags.HasErrors() {
			return
		}
		for c := range s.Cases() {
			for _, sc := range c.Scorers {
				if _, err := scorers.Builtin().Compile(sc).Score(answer("text")); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkScorers(b *testing.B) {
	for _, k := range scorers.Builtin() {
		c := compile(b, k.Example)
		for _, size := range []int{1_000, 100_000} {
			a := answer(strings.Repeat("The quick brown fox. ", size/21))
			b.Run(fmt.Sprintf("%s/%dB", k.Name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Score(a); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
