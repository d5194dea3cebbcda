package testrun

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

func said(role, text string) eval.Content {
	return eval.Content{Role: role, Parts: []eval.Part{{Text: text}}}
}

// Chats is a run of live chats: one that a judge found wanting, one that broke off, and one that was blocked. The texts are
// said before each of the chats' own.
func Chats(t *testing.T, before string, change func(*eval.Result)) *journal.Document {
	t.Helper()
	turn := func(text, finish string) eval.Turn {
		return eval.Turn{
			Response: *Answered(before+text, finish),
			Usage:    eval.Usage{PromptTokens: 5, OutputTokens: 2, TotalTokens: 7, Source: eval.UsageService},
			Timing:   eval.Timing{LatencyMs: 120, Attempts: 1},
		}
	}
	asked := func(contents ...eval.Content) *eval.Request { return &eval.Request{Live: true, Contents: contents} }
	first, second := said("user", "Where is my kettle?"), said("user", "It is 4711.")
	reply := func(repeat int, choice, reason string) eval.Judgement {
		return eval.Judgement{
			ID: choice, Judge: "panel", Model: "svc-pro", Repeat: repeat,
			Reply: before + `{"reason": "` + reason + `", "choice": "` + choice + `"}`, FinishReason: "STOP",
			Usage: &eval.Usage{
				PromptTokens: 90,
				OutputTokens: 10,
				TotalTokens:  100,
				Source:       eval.UsageService,
			}, Attempts: 1, LatencyMs: 80, Cached: repeat == 2,
		}
	}
	judged := eval.Result{
		Trial: eval.Trial{ID: "a", Suite: "shop", Case: "judged", Arm: "pro/chat", Repeat: 1, At: "shop.yaml:31:5"}, Outcome: eval.Fail,
		Request: asked(
			first, said("model", before+"Which order?"), second,
		), Turns: []eval.Turn{turn("Which order?", "STOP"), turn("It left.", "STOP")},
		Scores: []eval.Score{{
			Scorer: "judge", Name: "helps", Value: new(0.0), Weight: 1,
			Reason: `the judge panel says no (0), agreement 0 %, at least 0.5 is expected: "It names no day."`,
			Judged: &eval.Judged{
				Judge:     "panel",
				Choice:    "no",
				Agreement: new(0.0),
				Rulings:   []eval.Ruling{{Choice: "no", Reason: "It names no day."}, {Choice: "yes", Value: 1, Reason: "It is polite."}},
			},
		}},
		Judgements: []eval.Judgement{
			reply(1, "no", "It names no day."), reply(2, "yes", "It is polite."),
		}, Metrics: map[string]float64{"f1": 0.625},
	}
	broken := eval.Result{
		Trial: eval.Trial{
			N:      1,
			ID:     "b",
			Suite:  "shop",
			Case:   "broken off",
			Arm:    "pro/chat",
			Repeat: 1,
		}, Outcome: eval.Err, Request: judged.Request, Turns: []eval.Turn{turn("Which order?", "STOP")},
		Error: &eval.Error{Kind: eval.KindStatus, Status: 503, Message: "turn 2: try again later"},
	}
	blocked := eval.Result{
		Trial: eval.Trial{
			N:      2,
			ID:     "c",
			Suite:  "shop",
			Case:   "blocked",
			Arm:    "pro/chat",
			Repeat: 1,
		}, Outcome: eval.Pass, Request: asked(first), Turns: []eval.Turn{turn("", "SAFETY")},
		Scores: []eval.Score{{Scorer: "blocked", Value: new(1.0), Passed: true, Weight: 1, Reason: "blocked (SAFETY)"}},
	}
	dir := t.TempDir()
	run := eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "shop", File: "shop.yaml"}},
		Plan:      eval.RunPlan{Trials: 3, Arms: []string{"pro/chat"}},
	}
	w, err := journal.Create(dir, &run, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*eval.Result{&judged, &broken, &blocked} {
		r.Usage, r.Timing = &eval.Usage{Source: eval.UsageService}, &eval.Timing{}
		for i := range r.Turns {
			r.Usage.Add(&r.Turns[i].Usage)
			r.Timing.Add(&r.Turns[i].Timing)
		}
		if r.Outcome != eval.Err {
			r.Response = &r.Turns[len(r.Turns)-1].Response
		}
		if change != nil {
			change(r)
		}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(&eval.End{FinishedAt: "2026-01-01T00:00:02Z", Reason: eval.EndCompleted}); err != nil {
		t.Fatal(err)
	}
	d, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.Gate = eval.Gate{Exit: 1}
	return d
}
