package e2e_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// chatRun has a live chat on two arms: one broke off, and the other was judged, and failed.
func chatRun() (eval.Run, iter.Seq[*eval.Result]) {
	run := eval.Run{
		ID:        "r",
		StartedAt: "2026-01-01T00:00:00Z",
		Suites:    []eval.RunSuite{{Name: "s"}},
		Plan:      eval.RunPlan{Trials: 2, Arms: []string{"pro/shop", "warm/shop"}},
	}
	said := func(role, text string) eval.Content {
		return eval.Content{Role: role, Parts: []eval.Part{eval.TextPart{Text: text}}}
	}
	turn := func(text string, n int) eval.AnsweredCall {
		return eval.AnsweredCall{
			Response: eval.Response{
				Candidates: []eval.Candidate{
					{
						Text:          text,
						FinishReason:  "STOP",
						SafetyRatings: []eval.SafetyRating{{Category: "HARM_CATEGORY_HARASSMENT", Probability: eval.Probabilities[n]}},
					},
				},
			},
			Usage: eval.Usage{
				PromptTokens: 10 * n,
				OutputTokens: n,
				TotalTokens:  11 * n,
				Source:       eval.UsageService,
			}, Timing: eval.Timing{LatencyMs: 100 * float64(n), Attempts: n},
		}
	}
	return run, func(yield func(*eval.Result) bool) {
		whole := bigTrial(6) // it fails
		whole.Trial = eval.Trial{ID: "a", Suite: "s", Case: "kettle", Arm: "pro/shop", Repeat: 1, At: "shop.yaml:31:5"}
		whole.Calls = []eval.AnsweredCall{turn("Which order is it?", 1), turn("It left <b>today</b>.", 2)}
		whole.Request = &eval.Request{
			Live:     true,
			Contents: []eval.Content{said("user", "Where is my kettle?"), said("model", "Which order is it?"), said("user", "It is 4711.")},
		}
		whole.Response = new(whole.Calls[1].Response)
		whole.Metrics = map[string]float64{"f1": 0.625}
		low, high, third := 2.0, 4.0, 1.0/3
		whole.Scores[0].Judged = &eval.Judged{Judge: "panel", Choice: "fail", Agreement: &third, Rulings: []eval.Ruling{
			{Choice: "fail", Score: &low, Value: 0.25, Reason: "It names no day."},
			{Choice: "pass", Score: &high, Value: 0.75, Reason: "It is polite."},
			{Choice: "fail", Score: &low, Value: 0.25, Reason: "It is short."},
		}}
		for i, r := range whole.Scores[0].Judged.Rulings {
			whole.Judgements = append(whole.Judgements, eval.Judgement{
				ID: fmt.Sprint(i), Judge: "panel", Model: "svc-pro", Repeat: i + 1,
				Reply: fmt.Sprintf(`{"reason": %q, "score": %g}`, r.Reason, *r.Score), FinishReason: "STOP",
				Usage: &eval.Usage{
					PromptTokens: 300,
					OutputTokens: 20,
					TotalTokens:  320,
					Source:       eval.UsageService,
				}, Attempts: 1, LatencyMs: 800, Cached: i == 2,
			})
		}
		if !yield(whole) {
			return
		}
		broken := bigTrial(100) // it errs
		broken.Trial = eval.Trial{N: 1, ID: "b", Suite: "s", Case: "kettle", Arm: "warm/shop", Repeat: 1}
		broken.Calls = []eval.AnsweredCall{turn("Which one?", 1)}
		broken.Request = &eval.Request{
			Live:     true,
			Contents: []eval.Content{said("user", "Where is my kettle?"), said("model", "Which one?"), said("user", "It is 4711.")},
		}
		yield(broken)
	}
}

const chatPage = "#/case/s/kettle"

// A live chat is shown turn by turn in its arm's card; what judges said is folded under the score.
func TestChatsAreShownTurnByTurn(t *testing.T) {
	t.Parallel()
	run, trials := chatRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	text := func(selector string) string {
		t.Helper()
		return evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(el => el.textContent).join('|')`, selector))
	}
	is := func(selector, want string) {
		t.Helper()
		if got := text(selector); got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
	b.visit(chatPage, ".answer")
	is(".chat h3:first-child", "Turn 1|Turn 2|Turn 1|Turn 2")
	is(".chat .turn > .prose", "Where is my kettle?|It is 4711.|Where is my kettle?|It is 4711.")
	is(".reply .prose", "Which order is it?|It left <b>today</b>.|Which one?")
	is(".turn > .note", "Not answered.")
	is(
		".reply .note:last-of-type",
		"10 + 1 tokens (service), 100 ms|20 + 2 tokens (service), 200 ms, 2 attempts|10 + 1 tokens (service), 100 ms",
	)
	is(".reply .ratings .on", "LOW, 2 of 4|MEDIUM, 3 of 4|LOW, 2 of 4")
	is(".prompt h2", "Live chat with pro/shop, warm/shop")
	is(".scores .rulings .prose", "It names no day.|It is polite.|It is short.")
	is(".answer > div > details summary", "What judges replied: 2 calls, 640 tokens beside the answer's")
	if all := text(".answer"); !strings.Contains(all, "3 rulings agree on 33.3 %") || !strings.Contains(all, "asked for another trial") ||
		!strings.Contains(all, "f10.625") {
		t.Errorf("got %q, want rulings that agree on 33.3 %%", all)
	}
	if !evaluate[bool](b, `[...document.querySelectorAll('.answer details')].every(el => !el.open)`) {
		t.Error("what judges said is not folded, want it folded")
	}
	is(".trail", "s at shop.yaml:31:5")
	is(".reply > details > summary", "Safety ratings, the highest LOW|Safety ratings, the highest MEDIUM|Safety ratings, the highest LOW")
	b.visit("#/", ".verdict")
	if tiles := text(".tile"); !strings.Contains(tiles, "2 calls to judges|640 tokens of judges") {
		t.Errorf("got %q, want 2 calls to judges and 640 tokens", tiles)
	}
	if all := text("section"); !strings.Contains(all, "2 calls and 640 tokens (600 prompt + 40 output) went to judges") ||
		!strings.Contains(all, "33.3 %") {
		t.Errorf("got %q, want 2 calls and 640 tokens that went to judges", all)
	}
	b.quiet()
}
