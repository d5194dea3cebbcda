package scorers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// blanks are answers that show nothing.
func blanks() []string {
	out := []string{
		" ", "\n", "\r\n \t", "\u00a0", "\u3000\u2003", "\u200b", "\u200c\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u034f", "\u061c",
		"\u202e", "\u2063", "\u3164", "\u2800", "\ufe0f", "\U000e0041\U000e007f", "\x00", "\x1b", "\u0085\u2028\u2029", "\ufdd0", "\u17b4",
		strings.Repeat("\u200b ", 50_000),
	}
	for _, s := range hostile.Strings() {
		if s != "" && eval.IsBlank(s) {
			out = append(out, s)
		}
	}
	return out
}

// easy are entries that a careless scorer would pass for an answer that shows nothing, one of each kind of trick.
func easy() []string {
	return []string{
		`- regex: '.'`, `- regex: '(?s)^.*$'`, `- regex: '\s'`, `- regex: '^$'`, `- length: {min: 1}`, `- length: {max: 5}`,
		`- length: {lines: 1}`, `- {length: {characters: 0}, trim: true}`, `- {levenshtein: {to: a}, threshold: 0}`,
		`- levenshtein: {to: a, max: 9}`, `- {equals: " ", trim: true}`, `- equals: [" ", "\u200b", "\u3164"]`, `- contains: " "`,
		`- contains: "\u200b"`, `- endsWith: "\n"`, `- startsWith: "\ufeff"`, `- exactMatch: the`, `- tokenF1: {to: The, min: 0}`,
		`- {rouge: {to: a}, threshold: 0}`, `- {bleu: {to: a}, threshold: 0}`, `- {chrf: {to: a}, threshold: 0}`,
		`- {gleu: {to: a}, threshold: 0}`, `- {jaroWinkler: {to: a}, threshold: 0}`, `- refusal: false`, `- refusal: true`, `- choice: A`,
		`- number: 0`, `- list: {items: [a], recall: 0.1}`, `- json: valid`, `- jsonSchema: {schema: {}}`, `- xml: wellFormed`,
		`- expr: len(answer) >= 0`, `- {similar: {to: x}, threshold: 0}`, `- {judge: {rubric: x}, threshold: 0}`, `- {snapshot: true}`,
		`- {contains: " ", select: {regex: '(?s).*'}}`,
	}
}

// denied is an entry inside `not`, without what is only allowed outside.
func denied(entry string) string {
	inner := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(entry), "-"))
	return "- not: {" + strings.TrimSuffix(strings.TrimPrefix(inner, "{"), "}") + "}"
}

// An answer that shows nothing passes nothing that looks at its text, and no `not` of it: it is judged as an empty one.
func TestNoTextIsNoAnswer(t *testing.T) {
	t.Parallel()
	entries := easy()
	for _, entry := range easy() {
		if !strings.Contains(entry, "threshold") && !strings.HasSuffix(entry, "}") {
			entries = append(entries, denied(entry), "- any: [{"+strings.TrimPrefix(denied(entry), "- ")+"}]")
		}
	}
	for _, entry := range entries {
		c := compile(t, entry)
		for _, text := range append(blanks(), "") {
			s, err := c.Score(answer(text))
			expect.OK(t, err)
			if letter(s) != "f" || valueOf(s) != 0 || !strings.Contains(s.Reason, "the answer has no text") {
				t.Errorf("%s on %.30q: %s, want f: %s", entry, text, letter(s), s.Reason)
			}
		}
	}
}

// Every kind judges an answer that shows nothing as it judges an empty one.
func TestKindsTakeBlankForEmpty(t *testing.T) {
	t.Parallel()
	for _, k := range scorers.Builtin() {
		c := compile(t, k.Example)
		empty, err := c.Score(answer(""))
		expect.OK(t, err)
		for _, text := range blanks() {
			s, err := c.Score(answer(text))
			expect.OK(t, err)
			if letter(s) != letter(empty) {
				t.Errorf("%s on %.30q: %s, want %s as of an empty answer (%s)", k.Name, text, letter(s), letter(empty), s.Reason)
			}
		}
	}
}

// What is selected counts as nothing where it shows nothing, for programs and expressions too.
func TestSelectionsThatShowNothingCountAsNothing(t *testing.T) {
	t.Parallel()
	for _, zero := range []string{"\u200b", " ", "\u2800", "\u3164"} {
		object := `{"a": ` + quoted(zero) + `}`
		checkShapes(t, []shapeTest{
			{"- {length: {min: 1}, select: {jq: .a}}", object, "f"},
			{"- not: {contains: x, select: {jq: .a}}", object, "f"},
			{"- {expr: 'steps == 1', select: {jq: .a}}", object, "f"},
			{"- {regex: '.', select: {regex: 'x(.*)y'}}", "x" + zero + "y", "f"},
			{"- not: {contains: x, select: {regex: 'x(.*)y'}}", "x" + zero + "y", "f"},
			{"- not: {contains: x, select: {fence: any}}", "```\n" + zero + "\n```", "f"},
			{"- {exec: true, select: {jq: .a}}", object, "f"},
		})
	}
}

func TestNoTextSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":             "the answer has no text (finish reason STOP)",
		"\u0020\n":     `the answer has no text, only white space or invisible characters: " \n" (finish reason STOP)`,
		"\u200b":       `the answer has no text, only white space or invisible characters: "\u200b" (finish reason STOP)`,
		"\u2800\u3164": "the answer has no text, only white space or invisible characters: \"\u2800\u3164\", U+2800 U+3164 (finish reason STOP)",
	} {
		expect.Same(t, text, score(t, "- contains: x", answer(text)).Reason, want)
	}
	blocked := answer("\u200b")
	blocked.Response.Candidates[0].FinishReason = "SAFETY"
	expect.Same(t, "blocked", score(t, "- contains: x", blocked).Reason, "the answer has no text: it was blocked (SAFETY)")
	expect.Same(t, "partial", score(t, "- {regex: ., partial: allow}", blocked).Reason, "the answer has no text: it was blocked (SAFETY)")
	apart := score(t, "- equals: Paris", answer("Pa\u200bris")).Reason
	expect.Contains(t, "reason", apart, "they differ only in invisible characters: U+200B in the answer")
}

// `not` passes for what was read and compared, and for nothing else.
func TestNotFailsOnWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 30_000)
	huge := "The number is " + strings.Repeat("7", 500)
	fine := "It is 1." + strings.Repeat("3", 500)
	checkShapes(t, []shapeTest{
		{"- not: {json: valid}", "Hello", "p"}, // the scorer checks whether it can be read
		{"- not: {json: valid}", "{}", "f"},
		{"- not: {json: {equals: 1}}", "Hello", "f"},
		{"- not: {json: {equals: 1}}", "2", "p"},
		{"- not: {json: {equals: 1}}", "1", "f"},
		{"- not: {jsonSchema: {schema: {type: object}}}", "Hello", "f"},
		{"- not: {jsonSchema: {schema: {type: object}}}", "[]", "p"},
		{"- not: {xml: wellFormed}", "Hello", "p"},
		{"- not: {xml: {required: a}}", "Hello", "f"},
		{"- not: {xml: {required: a}}", "<b/>", "p"},
		{"- not: {number: 42}", "none at all", "f"},
		{"- not: {number: 42}", "41", "p"},
		{"- number: 42", "42, or " + huge, "f"},
		{"- not: {number: 42}", huge, "f"},
		{"- number: {is: 42, tolerance: 5}", huge, "f"},
		{"- number: 1", fine, "f"},
		{"- number: {is: 1.3, tolerance: 1}", fine, "u"},
		{"- not: {number: {is: 1.3, tolerance: 1}}", fine, "u"},
		{"- number: 42", "It is " + strings.Repeat("0", 500) + "42." + strings.Repeat("0", 500), "p"},
		{"- number: 42", "4\u200b2", "p"},
		{"- number: 2", "4\u200b2", "f"},
		{"- not: {choice: B}", "The answer is A.", "p"},
		{"- levenshtein: {to: Paris, max: 2}", long, "f"},
		{"- not: {levenshtein: {to: Paris, max: 2}}", long, "f"},
		{"- levenshtein: {to: Paris, max: 20000}", long[:20_005], "u"},
		{"- not: {levenshtein: {to: Paris, max: 20000}}", long[:20_005], "u"},
		{"- levenshtein: {to: Paris, max: 20000}", long[:20_006], "f"},
		{"- levenshtein: {to: Paris, ratio: 0.5}", long, "f"},
		{"- levenshtein: {to: Paris, ratio: 0.5, definition: indel}", long, "f"},
		{"- levenshtein: {to: Paris, ratio: 0.0001, definition: indel}", long, "u"},
		{"- {levenshtein: {to: Paris}, threshold: 0.5}", long, "f"},
		{"- {levenshtein: {to: Paris}, threshold: 0.0001}", long, "u"},
		{"- jaroWinkler: {to: Paris, min: 0.9}", long, "f"},
		{"- jaroWinkler: {to: Paris, min: 0.7}", long, "u"},
		{"- {jaroWinkler: {to: Paris}, threshold: 0.9}", long, "f"},
		{"- not: {jaroWinkler: {to: Paris, min: 0.9}}", long, "f"},
		{"- json: {equals: [1, 2]}", "[" + mega("1,") + "1]", "f"},
		{"- not: {json: {equals: [1, 2]}}", "[" + mega("1,") + "1]", "f"},
		{"- json: {equals: [1, 2], partial: true}", "[" + mega("1,") + "1]", "u"},
		{"- xml: wellFormed", strings.Repeat("<a>", 600) + strings.Repeat("</a>", 600), "p"},
		{"- xml: wellFormed", strings.Repeat("<a>", 600) + strings.Repeat("</a>", 599), "f"},
		{"- xml: {required: a/a/b}", strings.Repeat("<a>", 600) + strings.Repeat("</a>", 600), "f"},
		{"- xml: wellFormed", strings.Repeat("<a>", 10_000) + strings.Repeat("</a>", 10_000), "p"},
		{"- xml: wellFormed", strings.Repeat("<a>", 10_001) + strings.Repeat("</a>", 10_001), "u"},
		{"- not: {xml: wellFormed}", strings.Repeat("<a>", 10_001) + strings.Repeat("</a>", 10_001), "u"},
	})
}

func TestNotFailsOnCallsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	entry := "{toolCalls: {calls: [{name: drop, args: {id: 1}}], mode: superset}}"
	for _, test := range []struct{ args, plain, denied string }{
		{`{"id":1}`, "p", "f"}, {`{"id":2}`, "f", "p"}, {`{"id":1`, "f", "f"}, {`"id 1"`, "f", "f"},
	} {
		a := calling("drop " + test.args)
		for name, want := range map[string]string{"- " + entry: test.plain, "- not: " + entry: test.denied} {
			expect.Same(t, fmt.Sprintf("%s of drop(%s)", name, test.args), letter(score(t, name, a)), want)
		}
	}
}

// What is expected must show something, where nothing could pass or anything would.
func TestExpectedTextsThatShowNothingAreProblems(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`- equals: "\u200b"`:                      "8:17: no answer equals a text that shows nothing",
		`- equals: [x, " "]`:                      "8:21: no answer equals a text that shows nothing",
		`- contains: " "`:                         "8:19: `contains` of white space or invisible characters alone",
		`- not: {contains: "\u200b"}`:             "",
		`- contains: ""`:                          "8:19: `contains` of an empty text always passes",
		`- endsWith: "\n"`:                        "",
		`- levenshtein: {to: "\u200b", max: 2}`:   "8:27: an empty text shares nothing",
		`- levenshtein: {to: "", max: 2}`:         "8:27: an empty text shares nothing",
		`- jaroWinkler: {to: "\u2060", min: 0.5}`: "8:27: an empty text shares nothing",
		`- rouge: {to: [x, "\u3164"], min: 0.5}`:  "8:25: an empty text shares nothing",
		`- exactMatch: "\ufeff"`:                  "8:21: an empty text shares nothing",
		`- tokenF1: {to: "\u00ad", min: 0.5}`:     "8:23: an empty text shares nothing",
		`- list: [a, "\u200b"]`:                   "8:19: an empty item is never listed",
		`- refusal: {is: true, also: ["\u200b"]}`: "8:36: an empty phrase is found in every answer",
	} {
		checkReported(t, entry, want, reported(entry, suite.Options{}, nil))
	}
}

// Only what no longer means the same has a later version: a text with something in it is looked for as ever.
func TestOnlyBlankTextsHaveALaterVersion(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"- equals: Paris": "", "- equals: \"\\u200b\"": "equals.2", "- contains: x": "", "- not: {contains: \" \"}": "not.2 contains.2",
		"- endsWith: \"\\n\"": "endsWith.2", "- equals: \"\"": "",
	} {
		expect.Same(t, entry, strings.Join(compile(t, entry).Needs().Versions, " "), want)
	}
}

// Candidates that show nothing agree with none.
func TestBlankCandidatesAgreeWithNone(t *testing.T) {
	t.Parallel()
	a := answer("\u200b")
	for _, text := range []string{"\u200b", "\u200b", "Paris"} {
		a.Response.Candidates = append(a.Response.Candidates, eval.Candidate{Text: text, FinishReason: "STOP"})
	}
	for _, by := range []string{"exact", "normalized"} {
		s := score(t, "- candidates: {agreement: {min: 0.5, by: "+by+"}}", a)
		if valueOf(s) != 0.25 || s.Passed() {
			t.Errorf("%s: %v %v, want 0.25 and a failure (%s)", by, valueOf(s), s.Passed(), s.Reason)
		}
	}
}
