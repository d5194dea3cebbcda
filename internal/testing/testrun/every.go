package testrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Every is a run with every outcome in it.
func Every(t testing.TB) *journal.Document {
	t.Helper()
	var l trialList
	l.answered()
	l.unanswered()
	l.texts()
	d := Record(t, everyRun(), &eval.End{
		FinishedAt: "2026-01-01T00:00:02Z", Reason: eval.EndBudget, Message: "the budget of 3 calls is spent",
		Spent: &eval.Spent{Attempts: 3, Tokens: 120, BudgetCalls: 3, BudgetTokens: 100},
	}, l...)
	d.Dir = "night" // what commands call it
	half := 0.5
	d.Decision.Gate = journal.Gate{Exit: 1, Rules: []journal.GateRule{
		{Suite: "fixture", RuleName: "passRate", Arm: "pro/ask", Found: journal.RuleValue(half), Limit: 0.9},
		{Suite: "fixture", RuleName: "passRate", Arm: "pro-warm/ask", Found: journal.RuleValue(half), Limit: 0.5, Standing: journal.RuleHolds},
		{Suite: "fixture", RuleName: "errors", Limit: 0.01},
	}}
	return d
}

func everyRun() *eval.Run {
	model := eval.Model{
		Name: "models/svc-pro", APIVersion: "v1", Version: "001", Temperature: new(0.9), TopP: new(1.0), TopK: new(1),
	}
	cold := &eval.GenerationConfig{Temperature: new(0.0)}
	return &eval.Run{
		ID: "20260101-000000-abc123", StartedAt: "2026-01-01T00:00:00Z", Emulator: true,
		Models:  []eval.Model{model},
		Service: eval.RunService{BaseURL: "http://127.0.0.1:1", APIVersion: "v1", HeaderPrefix: "x-svc", Auth: "apiKey"},
		Suites:  []eval.RunSuite{{Name: "fixture", File: "fixture.yaml"}},
		Plan: eval.RunPlan{Trials: 24, Arms: []string{"pro/ask", "pro-warm/ask"}, Targets: []eval.RunTarget{
			{Suite: "fixture", Name: "pro", Model: "svc-pro", APIVersion: "v1", GenerationConfig: cold},
			{Suite: "fixture", Name: "pro-warm", Model: "svc-pro", APIVersion: "v1beta", Stream: true},
		}},
	}
}

// trialList is trials in the order of their plan.
type trialList []*eval.Result

func (l *trialList) add(name, arm string, outcome eval.Outcome, change func(*eval.Result)) {
	r := &eval.Result{
		Trial: eval.Trial{
			N: len(*l), ID: fmt.Sprintf("%016x", len(*l)), CaseID: "c" + name, Suite: "fixture", Case: name, Arm: arm,
			Target: strings.Split(arm, "/")[0], Prompt: "ask", Model: "svc-pro", Repeat: 1,
		},
		Ending: Ending(outcome), Scores: []eval.Score{},
		Request: &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "Question about " + name}}}}},
		Usage:   &eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageEstimated},
		Timing:  &eval.Timing{LatencyMs: 120, Attempts: 1},
	}
	change(r)
	*l = append(*l, r)
}

// answered adds cases that pass, fail, and do both.
func (l *trialList) answered() {
	pass := func(r *eval.Result) {
		r.Response = Answered("Paris", "STOP")
		r.Scores = []eval.Score{
			{Scorer: "equals", Name: "exact", Grade: eval.Graded{Value: 1, Passed: true}, Weight: 1, Reason: `the answer is "Paris"`},
		}
	}
	fail := func(r *eval.Result) {
		r.Response = Answered("Lyon", "STOP")
		r.Scores = []eval.Score{{
			Scorer: "equals", Name: "exact", Grade: eval.Graded{}, Weight: 1,
			Reason: `expected "Paris", got "Lyon"`, Diff: "expected: Paris\nactual:   Lyon",
		}}
	}
	for _, arm := range []string{"pro/ask", "pro-warm/ask"} {
		l.add("passes", arm, eval.Pass, pass)
	}
	for _, arm := range []string{"pro/ask", "pro-warm/ask"} {
		l.add("fails", arm, eval.Fail, fail)
	}
	for k, outcome := range []eval.Outcome{eval.Pass, eval.Fail, eval.Pass} {
		l.add("flaky", "pro/ask", outcome, func(r *eval.Result) {
			map[eval.Outcome]func(*eval.Result){eval.Pass: pass, eval.Fail: fail}[outcome](r)
			r.Repeat = k + 1
		})
	}
}

// unanswered adds errors, a prompt that was blocked, and a skipped trial.
func (l *trialList) unanswered() {
	for _, name := range []string{"errs", "errs too"} {
		l.add(name, "pro/ask", eval.Err, func(r *eval.Result) {
			r.Ending = eval.Errored{Error: &eval.Error{Kind: eval.KindStatus, Status: 503, Code: "UNAVAILABLE", Message: "try again later"}}
			r.Usage = nil
		})
	}
	l.add("unscored", "pro/ask", eval.Err, func(r *eval.Result) {
		const why = "the answer has no safety rating"
		r.Response = Answered("fine", "STOP")
		r.Scores = []eval.Score{{Scorer: "safety", Weight: 1, Reason: why, Grade: eval.Unscored{Why: why}}}
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindUnscored, "safety: %s", why)}
	})
	l.add("blocked", "pro/ask", eval.Pass, func(r *eval.Result) {
		r.Response = &eval.Response{PromptFeedback: &eval.PromptFeedback{
			BlockReason:   "SAFETY",
			SafetyRatings: []eval.SafetyRating{{Category: "HARM_CATEGORY_HARASSMENT", Probability: "HIGH", Blocked: true}},
		}}
		r.Scores = []eval.Score{
			{Scorer: "blocked", Grade: eval.Graded{Value: 1, Passed: true}, Weight: 1, Reason: "the prompt was blocked (SAFETY)"},
		}
	})
	l.add("skipped", "pro/ask", eval.Skip, func(r *eval.Result) {
		*r = eval.Result{
			Trial:  r.Trial,
			Ending: eval.Skipped{Reason: "the budget of 3 calls is spent"},
			Scores: []eval.Score{},
		}
	})
}

// texts adds failures with texts that reports may stumble over.
func (l *trialList) texts() {
	fail := func(name, answer, finish, scorer, reason string) {
		l.add(name, "pro/ask", eval.Fail, func(r *eval.Result) {
			r.Response = Answered(answer, finish)
			r.Scores = []eval.Score{{Scorer: scorer, Grade: eval.Graded{}, Weight: 1, Reason: reason}}
		})
	}
	fail(
		"שלום, right to left", "مرحبا 日本語 e\u0301", "STOP",
		"contains", `the answer does not contain "שלום": "مرحبا 日本語"`,
	)
	fail(
		"hostile \x1b[31m::error::x\r\n##[command]<script>alert(1)</script> ]]> | `",
		"::error::x\x1b]8;;http://x\a ]]> <b> \u202e\x00\ufffe\n::add-mask::y", "STOP",
		"contains", "::error::bad \x1b[2J ]]> \u202e",
	)
	fail(
		"huge", strings.Repeat("A long answer. ", 20_000), "MAX_TOKENS",
		"length", "the answer has 300000 characters, expected at most 10",
	)
}
