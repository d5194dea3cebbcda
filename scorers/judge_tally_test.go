package scorers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/quick"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

const oneJudge = "judges: [{name: strict, model: m}]\n"

func alwaysSays(reply string) func(scorers.Question) string {
	return func(scorers.Question) string { return reply }
}

// The value of what a judge lists is counted here, by the definitions of RAGAS.
func TestWhatAJudgeListsIsCounted(t *testing.T) {
	t.Parallel()
	const (
		recall    = "judge: {contextRecall: {reference: r, context: [a, b]}}"
		precision = "judge: {contextPrecision: {reference: r, context: [a, b, c, d]}}"
		correct   = "judge: {answerCorrectness: {reference: r, similarity: 0}}"
	)
	verdicts := func(useful ...int) string {
		var out []string
		for n := 1; n <= 4; n++ {
			yes := false
			for _, u := range useful {
				yes = yes || u == n
			}
			out = append(out, fmt.Sprintf(`{"context": %d, "useful": %t}`, n, yes))
		}
		return `{"reason": "why", "verdicts": [` + strings.Join(out, ", ") + `]}`
	}
	for _, test := range []struct {
		entry, reply, want, reason string
	}{
		{
			recall, `{"reason": "why", "statements": [{"statement": "s", "supported": true}, {"statement": "t", "supported": false}]}`, "p 0.5",
			`the contexts support 1 of 2 statements, not \"t\": why`,
		},
		{recall, `{"statements": [{"supported": true, "statement": "s"}], "reason": "why"}`, "p 1", "1 of 1 statement: why"},
		{recall, `{"reason": "why", "statements": []}`, "u", "its `statements` are empty"},
		{recall, `{"reason": "why", "statements": {}}`, "u", "which is no list"},
		{recall, `{"reason": "why", "statements": [{"statement": "s", "supported": "yes"}]}`, "u", "neither true nor false"},
		{
			recall, `{"reason": "why", "statements": [{"statement": "s", "supported": true, "x": 1}]}`, "u",
			"which is no object with `statement` and",
		},
		{recall, `{"reason": "why", "score": 1}`, "u", "it has a key \"score\""},

		{precision, verdicts(1, 3), "p 0.8333", "useful of 4 contexts: 1, 3: why"}, // (1/1 + 2/3) / 2
		{precision, verdicts(4), "f 0.25", ""},
		{precision, verdicts(1, 2, 3, 4), "p 1", ""},
		{precision, verdicts(), "f 0", "none of 4 contexts is useful"},
		{precision, `{"reason": "why", "verdicts": [{"context": 1, "useful": true}]}`, "u", "it has verdicts on 1 of 4 contexts"},
		{precision, strings.Replace(verdicts(1), `"context": 2`, `"context": 1`, 1), "u", "1 to 4, each once"},
		{precision, strings.Replace(verdicts(1), `"context": 4`, `"context": 5`, 1), "u", "1 to 4, each once"},

		{
			correct, `{"reason": "why", "both": ["a"], "answerOnly": ["b"], "referenceOnly": ["c", "d", "e", "f"]}`, "f 0.2857",
			"F1 0.286 of 1 statements in both",
		},
		{correct, `{"reason": "why", "both": ["a", "b"], "answerOnly": [], "referenceOnly": []}`, "p 1", ""},
		{correct, `{"reason": "why", "both": [], "answerOnly": ["a"], "referenceOnly": ["b"]}`, "f 0", ""},
		{correct, `{"reason": "why", "both": [], "answerOnly": [], "referenceOnly": []}`, "u", "it lists no statement"},
		{correct, `{"reason": "why", "both": [1], "answerOnly": [], "referenceOnly": []}`, "u", "entry 1 of its `both` is"},
		{correct, `{"reason": "why", "both": ["a"], "answerOnly": []}`, "u", "it has no `referenceOnly`"},

		{"judge: {steps: {steps: [Look., Think.], criteria: Good.}}", `{"reason": "fine", "score": 4}`, "p 0.75", "0.75 (4 of 1 to 5)"},
		{"judge: {steps: {steps: Look.}, scale: [0, 10]}", `{"reason": "fine", "score": 4}`, "f 0.4", ""},
	} {
		c, _ := compileJudged(t, oneJudge, test.entry, nil)
		s, _ := ruled(t, c, answer("The answer."), alwaysSays(test.reply))
		got := letter(s)
		if isScored(s) {
			got += fmt.Sprintf(" %.4g", valueOf(s))
		}
		if got != test.want || !strings.Contains(s.Reason, test.reason) {
			t.Errorf("%s\n%s: %s, %s; want %s, %s", test.entry, test.reply, got, s.Reason, test.want, test.reason)
		}
	}
}

// Average precision lies from 0 to 1, is 1 when no useless context comes before a useful one, and moving one up never lowers it.
func TestPrecisionRisesAsUsefulContextsMoveUp(t *testing.T) {
	t.Parallel()
	const n = 6
	c, _ := compileJudged(t, oneJudge, "judge: {contextPrecision: {reference: r, context: [a, b, c, d, e, f]}}", nil)
	value := func(useful [n]bool) float64 {
		var all []string
		for i, yes := range useful {
			all = append(all, fmt.Sprintf(`{"context": %d, "useful": %t}`, i+1, yes))
		}
		s, _ := ruled(t, c, answer("x"), alwaysSays(`{"reason": "x", "verdicts": [`+strings.Join(all, ",")+"]}"))
		return valueOf(s)
	}
	holds := func(useful [n]bool, at uint8) bool {
		v := value(useful)
		fine := v >= 0 && v <= 1
		if i := int(at) % (n - 1); useful[i+1] && !useful[i] {
			moved := useful
			moved[i], moved[i+1] = true, false
			fine = fine && value(moved) >= v
		}
		return fine
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 200}); err != nil {
		t.Error(err)
	}
	expect.Same(t, "the useful ones first", value([n]bool{true, true, true}), 1)
}

// The similarity of answer and reference has a quarter of the weight, or the one that is given; without any, no vector is wanted.
func TestAnswerCorrectnessWeighsSimilarity(t *testing.T) {
	t.Parallel()
	const reply = `{"reason": "x", "both": ["a"], "answerOnly": ["b"], "referenceOnly": ["c"]}` // F1 1/2
	cosine := (4.*9 + 1) / (math.Sqrt(17) * math.Sqrt(82))                                      // of texts of 4 and 9 bytes; see ruled
	for option, want := range map[string]float64{
		"": 0.75*0.5 + 0.25*cosine, ", similarity: 1": cosine, ", similarity: 0.5": 0.25 + cosine/2, ", similarity: 0": 0.5,
	} {
		c, _ := compileJudged(t, oneJudge, "judge: {answerCorrectness: {reference: four"+option+"}}", nil)
		s, questions := ruled(t, c, answer("nine and."), alwaysSays(reply))
		if !isScored(s) || math.Abs(valueOf(s)-want) > 1e-9 || len(questions) != 1 {
			t.Errorf("%q: %+v after %d, want %v after 1", option, s, len(questions), want)
		}
		if got := len(c.Needs().References); (got == 0) != (option == ", similarity: 0") {
			t.Errorf("%q: %d references, want them only where they count", option, got)
		}
	}
}

// Where the suite gives no context, the contexts are in the answer: the items of a list, or the text.
func TestContextsAreTakenFromTheAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`["one", "two"]`:       {"reference: Paris", "context1: one", "context2: two"},
		`[{"text": "one"}, 2]`: {"reference: Paris", `context1: {"text": "one"}`, "context2: 2"},
		"some text":            {"reference: Paris", "context1: some text"},
	} {
		c, _ := compileJudged(t, oneJudge, `judge: {contextRecall: {reference: "{{.ref}}"}}`, nil)
		_, questions := ruled(t, c, answer(text), alwaysSays("never"))
		expect.Same(t, text, inFences(t, questions[0].Prompt()), want)
	}
	c, _ := compileJudged(t, oneJudge, `judge: {contextPrecision: {reference: "{{.ref}}"}}`, nil)
	if s, questions := ruled(t, c, answer("[]"), alwaysSays("never")); letter(s) != "f" || valueOf(s) != 0 || len(questions) != 0 {
		t.Errorf("no context: %s after %d, want 0 without a question", s.Reason, len(questions))
	}
	// A variable that is a list gives several; without a reference they are for the answer.
	c, _ = compileJudged(t, oneJudge, `judge: {contextPrecision: {context: "{{.list}}"}}`, nil)
	_, questions := ruled(t, c, answer("x"), alwaysSays("never"))
	expect.Same(t, "without a reference", inFences(t, questions[0].Prompt()), []string{"context1: one", "context2: two", "answer: x"})
}

type tally struct{ right, all int }

func (n *tally) add(right bool) {
	n.all++
	if right {
		n.right++
	}
}

func (n tally) String() string { return fmt.Sprintf("%d of %d", n.right, n.all) }
