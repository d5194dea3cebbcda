package testrun

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Chats is a run of live chats: one that a judge failed, one that broke off, and one that was blocked. The model's texts
// begin with before; change changes a trial before it is written. Optional.
func Chats(t testing.TB, before string, change func(*eval.Result)) *journal.Document {
	t.Helper()
	c := chats{before: before}
	all := []*eval.Result{c.judged(), c.broken(), c.blocked()}
	for _, r := range all {
		complete(r)
		if change != nil {
			change(r)
		}
	}
	d := Record(t, &eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "shop", File: "shop.yaml"}},
		Plan:      eval.RunPlan{Trials: 3, Arms: []string{"pro/chat"}},
	}, &eval.End{FinishedAt: "2026-01-01T00:00:02Z", Reason: eval.EndCompleted}, all...)
	d.Decision.Gate = journal.Gate{Exit: 1}
	return d
}

func complete(r *eval.Result) {
	r.Usage, r.Timing = &eval.Usage{Source: eval.UsageService}, &eval.Timing{}
	for i := range r.Calls {
		r.Usage.Add(&r.Calls[i].Usage)
		r.Timing.Add(&r.Calls[i].Timing)
	}
	if r.Outcome() != eval.Err {
		r.Response = &r.Calls[len(r.Calls)-1].Response
	}
}

type chats struct{ before string }

func said(role, text string) eval.Content {
	return eval.Content{Role: role, Parts: []eval.Part{eval.TextPart{Text: text}}}
}

func live(contents ...eval.Content) *eval.Request {
	return &eval.Request{Live: true, Contents: contents}
}

// request is that of two turns; the first has an answer.
func (c *chats) request() *eval.Request {
	return live(said("user", "Where is my kettle?"), said("model", c.before+"Which order?"), said("user", "It is 4711."))
}

func (c *chats) turn(text, finish string) eval.AnsweredCall {
	return eval.AnsweredCall{
		Response: *Answered(c.before+text, finish),
		Usage:    eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageService},
		Timing:   eval.Timing{LatencyMs: 120, Attempts: 1},
	}
}

func (c *chats) judgement(repeat int, choice, reason string) eval.Judgement {
	return eval.Judgement{
		ID: choice, Judge: "panel", Model: "svc-pro", Repeat: repeat,
		Reply: c.before + `{"reason": "` + reason + `", "choice": "` + choice + `"}`, FinishReason: "STOP",
		Usage:    &eval.Usage{PromptTokens: 90, OutputTokens: 10, TotalTokens: 100, Source: eval.UsageService},
		Attempts: 1, LatencyMs: 80, Cached: repeat == 2,
	}
}

func (c *chats) judged() *eval.Result {
	const no, yes = "It names no day.", "It is polite."
	return &eval.Result{
		Trial:   eval.Trial{ID: "a", Suite: "shop", Case: "judged", Arm: "pro/chat", Repeat: 1, At: "shop.yaml:31:5"},
		Ending:  eval.Failed{},
		Request: c.request(),
		Calls:   []eval.AnsweredCall{c.turn("Which order?", "STOP"), c.turn("It left.", "STOP")},
		Scores: []eval.Score{{
			Scorer: "judge", Name: "helps", Grade: eval.Graded{}, Weight: 1,
			Reason: `the judge panel says no (0), agreement 0 %, at least 0.5 is expected: "` + no + `"`,
			Judged: &eval.Judged{
				Judge: "panel", Choice: "no", Agreement: new(0.0),
				Rulings: []eval.Ruling{{Choice: "no", Reason: no}, {Choice: "yes", Value: 1, Reason: yes}},
			},
		}},
		Judgements: []eval.Judgement{c.judgement(1, "no", no), c.judgement(2, "yes", yes)},
		Metrics:    map[string]float64{"f1": 0.625},
	}
}

func (c *chats) broken() *eval.Result {
	return &eval.Result{
		Trial:   eval.Trial{N: 1, ID: "b", Suite: "shop", Case: "broken off", Arm: "pro/chat", Repeat: 1},
		Ending:  eval.Errored{Error: &eval.Error{Kind: eval.KindStatus, Status: 503, Message: "turn 2: try again later"}},
		Request: c.request(),
		Calls:   []eval.AnsweredCall{c.turn("Which order?", "STOP")},
	}
}

func (c *chats) blocked() *eval.Result {
	return &eval.Result{
		Trial:   eval.Trial{N: 2, ID: "c", Suite: "shop", Case: "blocked", Arm: "pro/chat", Repeat: 1},
		Ending:  eval.Passed{},
		Request: live(said("user", "Where is my kettle?")),
		Calls:   []eval.AnsweredCall{c.turn("", "SAFETY")},
		Scores:  []eval.Score{{Scorer: "blocked", Grade: eval.Graded{Value: 1, Passed: true}, Weight: 1, Reason: "blocked (SAFETY)"}},
	}
}
