package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// planOfAnswers is the plan of a suite with two cases, on two arms: a prompt and a live chat of two turns.
func planOfAnswers(t *testing.T, scorer string) *runner.Plan {
	t.Helper()
	var diags diag.List
	text := `version: 1
name: s
targets: [{name: t, model: svc-pro}]
judges: [{name: j, model: svc-pro}]
prompts:
  - {name: ask, text: "{{.x}}"}
  - {name: chat, live: true, turns: [{user: "{{.x}}"}, {user: more}]}
cases:
  - {name: one, arms: [t/ask], vars: {x: 1}, repeats: 2, scorers: [` + scorer + `]}
  - {name: two, arms: [t/chat], vars: {x: 2}, scorers: [` + scorer + `]}
`
	files := fstest.MapFS{"s.yaml": {Data: []byte(text)}}
	s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{Getenv: func(string) string { return "" }}, &diags)
	expect.OK(t, diags.Err())
	return runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1")
}

func readLines(t *testing.T, lines ...string) (*givenAnswers, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	expect.OK(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	return readGivenAnswers(path)
}

// Each line is the answer of its trial, in whichever form it is written; a trial without a line has none.
func TestAnswersAreThoseOfTheirTrials(t *testing.T) {
	t.Parallel()
	plan := planOfAnswers(t, "{contains: x}")
	a, err := readLines(
		t, "\ufeff"+`{"case":"one","text":"first","usage":{"promptTokens":3,"outputTokens":4,"totalTokens":7,"source":"service"}}`, "",
		`{"suite":"s","case":"one","arm":"t/ask","repeat":2,"response":{"candidates":[{"content":{"parts":[{"text":"as "},{"text":"sent"}]},`+
			`"finishReason":"MAX_TOKENS"}]}}`,
		`{"case":"two","turns":["hello","bye"]}`+"\r",
	)
	if err == nil {
		err = a.Check(plan)
	}
	expect.OK(t, err)
	type answer struct {
		Text, Finish string
		Turns        int
		Tokens       int
	}
	got := map[string]answer{}
	for trial := range plan.Trials() {
		r := resultOfAnswer(a.Earlier(trial))
		if r == nil {
			t.Errorf("%s #%d: got no answer, want one", trial.Case, trial.Repeat)
			continue
		}
		one := answer{Text: r.Response.Text(), Finish: r.Response.Candidates[0].FinishReason, Turns: len(r.Calls)}
		if r.Usage != nil {
			one.Tokens = r.Usage.TotalTokens
		}
		got[trial.Case+" "+string(rune('0'+trial.Repeat))] = one
	}
	want := map[string]answer{"one 1": {"first", "STOP", 0, 7}, "one 2": {"as sent", "MAX_TOKENS", 0, 0}, "two 1": {"bye", "STOP", 2, 0}}
	expect.Same(t, "result", got, want)
	few, err := readLines(t, `{"case":"one","text":"first"}`)
	if err == nil {
		err = few.Check(plan)
	}
	expect.OK(t, err)
	for trial := range plan.Trials() {
		if has := resultOfAnswer(few.Earlier(trial)) != nil; has != (trial.Case == "one" && trial.Repeat == 1) {
			t.Errorf("%s #%d: got an answer: %v, want one for the first repeat of one alone", trial.Case, trial.Repeat, has)
		}
	}
}

// A response as a run file has it is the same answer as the one that the service sent.
func TestAnswersAreReadFromARunFile(t *testing.T) {
	t.Parallel()
	sent, err := readLines(t, `{"case":"one","response":{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],`+
		`"modelVersion":"v","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}}`)
	expect.OK(t, err)
	kept, err := readLines(t, `{"case":"one","response":{"candidates":[{"text":"hi","finishReason":"STOP"}],"modelVersion":"v"},`+
		`"usage":{"promptTokens":1,"outputTokens":2,"totalTokens":3,"source":"service"}}`)
	expect.OK(t, err)
	trial := &runner.Planned{Trial: eval.Trial{Suite: "any", Case: "one", Arm: "any", Repeat: 1}}
	a, b := resultOfAnswer(sent.Earlier(trial)), resultOfAnswer(kept.Earlier(trial))
	// What counts is the usage of the result, and each file has its own answers.
	expect.Same(t, "as kept", b, a, cmpopts.IgnoreFields(eval.Response{}, "Usage"), cmpopts.IgnoreFields(eval.Timing{}, "Answer"))
}

// Answers that fit no trial, or two of them the same one, are bad input before anything is judged.
func TestCheckRefusesAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines  []string
		scorer string
		says   []string
	}{
		{[]string{`{"case":"onne","text":"x"}`, `{"case":"zzz","text":"x"}`}, "", []string{"`onne`", "`one`", "`zzz`"}},
		{[]string{`{"case":"one","repeat":3,"text":"x"}`}, "", []string{"`one`", "repeat 3"}},
		{[]string{`{"case":"one","arm":"t/chat","text":"x"}`}, "", []string{"t/chat"}},
		{[]string{`{"case":"one","suite":"other","text":"x"}`}, "", []string{"`one`"}},
		{[]string{`{"case":"one","text":"x"}`, `{"case":"one","arm":"t/ask","repeat":1,"text":"y"}`}, "", []string{"one", "two lines"}},
		{[]string{`{"case":"two","text":"x"}`}, "", []string{"two", "`turns`", "2"}},
		{[]string{`{"case":"two","turns":["x"]}`}, "", []string{"two", "`turns`", "2"}},
		{[]string{`{"case":"one","turns":["x"]}`}, "", []string{"one", "`text`"}},
		{[]string{`{"case":"one","text":"x"}`}, "{judge: {rubric: good}}", []string{"`one`", "`j`"}},
	} {
		scorer := test.scorer
		if scorer == "" {
			scorer = "{contains: x}"
		}
		a, err := readLines(t, test.lines...)
		expect.OK(t, err)
		err = a.Check(planOfAnswers(t, scorer))
		if eval.CodeOf(err) != eval.CodeBadInput || err == nil {
			t.Errorf("%v: exit %d with %v, want bad input", test.lines, eval.CodeOf(err), err)
			continue
		}
		for _, want := range test.says {
			expect.Contains(t, fmt.Sprint(test.lines), err.Error(), want)
		}
	}
}

func resultOfAnswer(known runner.EarlierTrial) *eval.Result {
	answered, _ := known.(runner.AnsweredTrial)
	return answered.Result
}
