package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

const liveChat = `version: 1
name: s
targets: [{name: one, model: svc-pro}]
prompts: [{name: chat, live: true, turns: [{user: "first {{.q}}"}, {user: second}, {user: third}]}]
cases: [{name: a, vars: {q: a}, scorers: [SCORERS]}]
`

// talk is how the service answers the call for turn k, from 1.
type talk func(k int, call *eval.Call) (*eval.Response, error)

func says(text, finishReason string) *eval.Response {
	return &eval.Response{Candidates: []eval.Candidate{{Text: text, FinishReason: finishReason}}}
}

func turnOf(call *eval.Call) int { return (len(call.Contents) + 1) / 2 }

func (answer talk) service() *fake {
	return &fake{tokens: 7, generate: func(_ context.Context, call *eval.Call) (*eval.Response, error) {
		k := turnOf(call)
		call.Timing.LatencyMs, call.Timing.QueuedMs, call.Timing.FirstTokenMs = float64(10*k), 1, float64(k)
		return answer(k, call)
	}}
}

func converse(t *testing.T, scorers string, cfg runner.Config) yieldedResult {
	t.Helper()
	out := yielded(t.Context(), t, plan(t, strings.Replace(liveChat, "SCORERS", scorers, 1), runner.Filter{}), cfg)
	if len(out) != 1 {
		t.Fatalf("%d results, want 1", len(out))
	}
	return out[0]
}

// spoken is a conversation as it was sent: the role's first letter and the text.
func spoken(contents []eval.Content) string {
	var out []string
	for _, c := range contents {
		out = append(out, c.Role[:1]+":"+c.Parts[0].(eval.TextPart).Text)
	}
	return strings.Join(out, " ")
}

// Each turn is a call of its own that holds the model's replies so far, and the trial is their sum.
func TestEachTurnOfALiveChatIsACall(t *testing.T) {
	t.Parallel()
	var sent, ids []string
	f := talk(func(k int, call *eval.Call) (*eval.Response, error) {
		sent, ids = append(sent, spoken(call.Contents)), append(ids, call.TrialID)
		r := says(fmt.Sprintf("reply %d", k), "STOP")
		r.Usage = &eval.Usage{PromptTokens: k, OutputTokens: 10, TotalTokens: k + 10, Source: eval.UsageService}
		if k == 2 { // cut short: the chat continues all the same
			r.Candidates[0].FinishReason, r.Usage.Source = "MAX_TOKENS", eval.UsageCounted
		}
		return r, nil
	}).service()
	r := converse(
		t,
		`{equals: reply 3}, {equals: reply 1, turn: 1}, {finishReason: MAX_TOKENS, turn: 2}, {contains: reply, turn: all}, `+
			`{equals: reply 3, turn: last}, {not: {equals: reply 2, turn: 1}}, {latency: {max: 10ms}, turn: 1}, {latency: {max: 60ms}}`,
		config(f, 1),
	)
	want := []string{"u:first a", "u:first a m:reply 1 u:second", "u:first a m:reply 1 u:second m:reply 2 u:third"}
	expect.Same(t, "the calls", sent, want)
	if r.Outcome() != eval.Pass || r.Response.Text() != "reply 3" || len(r.Calls) != 3 || !r.Request.Live {
		t.Errorf("%+v, want it passed with `reply 3` after 3 turns", r)
	}
	expect.Same(t, "the request", spoken(r.Request.Contents), want[2])
	expect.Same(t, "the usage", r.Usage, &eval.Usage{PromptTokens: 6, OutputTokens: 30, TotalTokens: 36, Source: eval.UsageCounted})
	checkChatTiming(t, &r.Result)
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 || !slices.Contains(ids, r.ID) {
		t.Errorf("turns are sent under the names %v, want 3 names with %s among them", ids, r.ID)
	}

	// What is known is judged as if it had just come.
	known := r
	cfg := config(&fake{}, 1)
	cfg.EarlierRuns.Trial = func(*runner.Planned) runner.EarlierTrial { return runner.AnsweredTrial{Result: &known.Result} }
	second := converse(t, `{equals: reply 1, turn: 1}, {latency: {max: 20ms}, turn: 2}, {tokens: {max: 36}}`, cfg)
	expect.Same(t, "the outcome of known turns", second.Outcome(), eval.Pass)
	expect.Same(t, "the request of known turns", spoken(second.Request.Contents), want[2])
	expect.Same(t, "known turns", second.Calls, r.Calls)
}

// checkChatTiming wants the timing of the chat of TestEachTurnOfALiveChatIsACall to be that of its turns added up.
func checkChatTiming(t *testing.T, r *eval.Result) {
	t.Helper()
	if r.Timing.LatencyMs != 60 || r.Timing.QueuedMs != 3 || r.Timing.FirstTokenMs != 1 || r.Timing.Attempts != 3 ||
		r.Timing.StartedAt.IsZero() {
		t.Errorf("%+v, want 60 ms, queued for 3, the first token after 1, in 3 attempts", r.Timing)
	}
	if r.Calls[1].Timing.LatencyMs != 20 || r.Calls[1].Usage.PromptTokens != 2 {
		t.Errorf("%+v, want 20 ms and 2 prompt tokens", r.Calls[1])
	}
}

// A block ends the chat: it is the answer, and what comes later was never answered.
func TestBlockEndsTheChat(t *testing.T) {
	t.Parallel()
	blocks := map[string]*eval.Response{
		"prompt": {PromptFeedback: &eval.PromptFeedback{BlockReason: "SAFETY"}},
		"answer": says("", "SAFETY"),
	}
	for what, blocked := range blocks {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := talk(func(k int, _ *eval.Call) (*eval.Response, error) {
				if k == 2 {
					return blocked, nil
				}
				return says("reply", "STOP"), nil
			}).service()
			r := converse(
				t,
				`{blocked: SAFETY}, {contains: reply, turn: 1}, {blocked: SAFETY, turn: 2}, {not: {contains: x, turn: 3}}, `+
					`{contains: reply, turn: all}, {contains: x, turn: 3, threshold: 0}`,
				config(f, 1),
			)
			expect.Same(t, "calls", f.sent.Load(), 2)
			expect.Same(t, "turns", len(r.Calls), 2)
			expect.Same(t, "the outcome", r.Outcome(), eval.Fail)
			expect.Same(t, "the block", r.Response.Blocked(), "SAFETY")
			expect.Same(t, "the request", spoken(r.Request.Contents), "u:first a m:reply u:second")
			var got []bool
			for _, s := range r.Scores {
				got = append(got, s.Passed())
			}
			expect.Same(t, "the scores", got, []bool{true, true, true, false, false, false})
			expect.Same(t, "a reason", r.Scores[3].Reason, "turn 3 was never answered: turn 2 was blocked (SAFETY)")
			if !strings.HasPrefix(r.Scores[4].Reason, "turn 2: ") {
				t.Errorf("%+v, want a reason about turn 2", r.Scores[4])
			}
		})
	}
}

// What ends a chat in the middle is an error that names the turn; what was answered stays.
func TestErrorsInAChatNameTheTurn(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		second     *eval.Response
		err        *eval.Error
		kind       eval.ErrorKind
		message    string
		turns      int
		overBudget bool
	}{
		"status": {
			err: &eval.Error{Kind: eval.KindStatus, Status: 500, Message: "oops"}, kind: eval.KindStatus, message: "turn 2: oops", turns: 1,
		},
		"canceled": {
			err: eval.Errorf(eval.KindCanceled, "x"), kind: eval.KindTransport, message: "abandoned when the run was stopped", turns: 1,
		},
		"budget": {
			err: eval.Errorf(eval.KindBudget, "the budget is spent"), kind: eval.KindUnscored, message: "turn 2: the budget is spent",
			turns: 1, overBudget: true,
		},
		"the service is gone": {
			err:  &eval.Error{Kind: eval.KindTransport, Origin: eval.FromBreaker, Message: "no answer for 20 attempts"},
			kind: eval.KindTransport, message: "no answer for 20 attempts", turns: 1,
		},
		"the login has ended": {
			err:  &eval.Error{Kind: eval.KindAuth, Origin: eval.FromLogin, Message: "log in again"},
			kind: eval.KindAuth, message: "log in again", turns: 1,
		},
		"nothing": {second: &eval.Response{}, kind: eval.KindNoCandidates, message: "turn 2: the answer has no candidates", turns: 2},
		"no text": {
			second: says(" \r\n", "STOP"), kind: eval.KindNoCandidates,
			message: "turn 2: the answer has no text (finish reason STOP)", turns: 2,
		},
		"no text, only what cannot be seen": {
			second: says("\u200b\ufeff", "STOP"), kind: eval.KindNoCandidates,
			message: "turn 2: the answer has no text (finish reason STOP)", turns: 2,
		},
		"no text for another reason": {
			second: says(" \r\n", "OTHER"), kind: eval.KindNoCandidates,
			message: "turn 2: the answer has no content (finish reason OTHER)", turns: 2,
		},
		"a reason that is not known": {
			second:  &eval.Response{Candidates: []eval.Candidate{{FinishReason: "OTHER", VendorReason: "expired"}}},
			kind:    eval.KindNoCandidates,
			message: `turn 2: the answer has no content (finish reason OTHER, "expired")`, turns: 2,
		},
		"grows large": {
			second: says(strings.Repeat("x", wire.MaxPromptBytes), "STOP"), kind: eval.KindOverLimit,
			message: "turn 3: the chat has grown to", turns: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := talk(func(k int, _ *eval.Call) (*eval.Response, error) {
				switch {
				case k == 2 && one.err != nil:
					return nil, one.err
				case k == 2:
					return one.second, nil
				}
				return says("reply", "STOP"), nil
			}).service()
			r := converse(t, "{contains: reply}", config(f, 1))
			expect.Same(t, "the outcome", r.Outcome(), eval.Err)
			expect.Same(t, "the kind", r.Err().Kind, one.kind)
			if !strings.HasPrefix(r.Err().Message, one.message) {
				t.Errorf("%v, want %q first", r.Err(), one.message)
			}
			expect.Same(t, "over budget", r.overBudget(), one.overBudget)
			expect.Same(t, "turns", len(r.Calls), one.turns)
			expect.Same(t, "attempts", r.Timing.Attempts, 2)
			expect.Same(t, "calls", f.sent.Load(), 2)
			if r.Usage == nil || r.Response != nil {
				t.Errorf("%+v, want usage and no response", r)
			}
		})
	}
}

// A chat whose first turn is over the budget is skipped.
func TestAChatOverBudgetIsSkipped(t *testing.T) {
	t.Parallel()
	first := talk(func(int, *eval.Call) (*eval.Response, error) {
		return nil, eval.Errorf(eval.KindBudget, "the budget is spent")
	}).service()
	r := converse(t, "{contains: reply}", config(first, 1))
	if r.Outcome() != eval.Skip || !r.overBudget() || r.SkipReason() != "the budget is spent" {
		t.Errorf("%+v, want it skipped because the budget is spent", r)
	}
}

// Every turn counts its own prompt where that matters.
func TestEveryTurnCountsItsPrompt(t *testing.T) {
	t.Parallel()
	var counted []int
	f := talk(func(_ int, call *eval.Call) (*eval.Response, error) {
		counted = append(counted, call.PromptTokens)
		return says("reply", "STOP"), nil
	}).service()
	cfg := config(f, 1)
	cfg.Counting.Mode = suite.CountAlways
	if r := converse(t, "{contains: reply}", cfg); r.Outcome() != eval.Pass || f.counted.Load() != 3 || fmt.Sprint(counted) != "[7 7 7]" ||
		r.Usage.PromptTokens != 21 {
		t.Errorf("%d counts, %v, %+v, want 3 of 7 tokens, 21 in all", f.counted.Load(), counted, r.Usage)
	}
	f.tokens = 31_000
	if r := converse(t, "{contains: reply}", cfg); r.Outcome() != eval.Err || r.Err().Kind != eval.KindOverLimit ||
		!strings.HasPrefix(r.Err().Message, "turn 1: ") {
		t.Errorf("%+v, want %s in turn 1", r, eval.KindOverLimit)
	}
}

// A live chat is another trial than the same turns in one call, and repeats of it go their own ways at once.
func TestALiveChatIsAnotherTrialThanOneCall(t *testing.T) {
	defer goleak.VerifyNone(t)
	text := `version: 1
name: s
targets: [{name: one, model: svc-pro}]
prompts: [{name: p, live: true, turns: [{user: hello}]}]
cases: [{name: a, scorers: [{contains: "a"}]}]
`
	ids := map[string]bool{}
	for _, one := range []string{
		text, strings.Replace(text, "live: true, ", "", 1),
		strings.Replace(text, "user: hello", "user: hello}, {user: hello", 1),
	} {
		for tr := range plan(t, one, runner.Filter{}).Trials() {
			ids[tr.ID] = true
		}
	}
	expect.Same(t, "names", len(ids), 3)
	var mu sync.Mutex
	calls := map[string]int{}
	f := talk(func(k int, call *eval.Call) (*eval.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[call.TrialID]++
		return says(call.TrialID, "STOP"), nil
	}).service()
	many := strings.Replace(liveChat, "SCORERS", "{regex: .}", 1) + "defaults: {repeats: 20}\n"
	for r := range runner.Run(t.Context(), plan(t, many, runner.Filter{}), config(f, 8)) {
		if r.Outcome() != eval.Pass || r.Calls[0].Text() != r.ID {
			t.Errorf("%+v, want it passed with its own id as the reply", r)
		}
	}
	expect.Same(t, "different calls", len(calls), 60)
}
