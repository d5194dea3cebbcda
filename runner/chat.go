package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/payload"
	"github.com/evalrun/evalrun/internal/service"
)

// chat asks the turns of a live chat, one after the other, until the last is answered or one is blocked. What was answered is in the
// result whatever happens: it was paid. The error is an *eval.Error.
func (r *run) chat(ctx context.Context, a *asked) error {
	out, turns := &a.result, a.trial.Request.Turns()
	a.resumeChat()
	for k := len(out.Turns) + 1; k <= turns; k++ {
		t := a.trial.turn(out.Turns)
		out.Request = &t.Request
		one, err := r.keptTurn(ctx, a, t, k)
		if k == 1 {
			*out.Timing = one.Timing
		} else {
			out.Timing.Add(&one.Timing)
		}
		if err != nil {
			return a.inTurn(k, err)
		}
		if out.Usage == nil {
			out.Usage = &eval.Usage{}
		}
		out.Usage.Add(&one.Usage)
		out.Turns = append(out.Turns, one)
		if err := empty(&one.Response); err != nil {
			return a.inTurn(k, err)
		}
		if one.Block() != "" {
			break
		}
		if k < turns && strings.TrimSpace(one.Text()) == "" {
			return a.inTurn(k, eval.Errorf(
				eval.KindNoCandidates, "the answer has no text (finish reason %s), so that the chat cannot go on",
				one.Candidates[0].FinishReason,
			))
		}
	}
	out.Response = new(out.Turns[len(out.Turns)-1].Response)
	a.answered()
	return nil
}

// resumeChat takes up the turns that were answered before the run broke off.
func (a *asked) resumeChat() {
	out := &a.result
	for i := range out.Turns {
		before := &out.Turns[i]
		if i == 0 {
			*out.Timing, out.Usage = before.Timing, &eval.Usage{Source: before.Usage.Source}
		} else {
			out.Timing.Add(&before.Timing)
		}
		out.Usage.Add(&before.Usage)
	}
}

// keptTurn asks the k-th turn, and writes it down when the chat goes on.
func (r *run) keptTurn(ctx context.Context, a *asked, t *Planned, k int) (eval.Turn, error) {
	ctx, written := r.writing(ctx)
	defer written()
	one, err := r.turn(ctx, t)
	if err == nil && k < a.trial.Request.Turns() && empty(&one.Response) == nil && one.Block() == "" {
		r.keepTurn(a, &one, k)
	}
	return one, err
}

// keepTurn writes down the k-th turn of a chat that goes on.
func (r *run) keepTurn(a *asked, one *eval.Turn, k int) {
	if r.Keeper == nil || one.Timing.Attempts == 0 {
		return
	}
	t := &a.result
	r.Keeper.KeepAnswer(&eval.Answer{
		ID: t.ID, N: t.N, Model: t.Model, Turn: k, Request: t.Request, Response: &one.Response, Usage: &one.Usage, Timing: &one.Timing,
	})
}

// turn makes the call of one turn. Its timing is told with an error too.
func (r *run) turn(ctx context.Context, t *Planned) (one eval.Turn, err error) {
	if size := payload.Size(t.Request.Contents); size > service.MaxPromptBytes { // by the replies: the rest was checked with the suite
		return one, eval.Errorf(eval.KindOverLimit, "the chat has grown to %d bytes; at most %d are allowed", size, service.MaxPromptBytes)
	}
	resp, err := r.generate(ctx, t, &one.Timing)
	if err == nil {
		one.Response, one.Usage = *resp, *resp.Usage
	}
	return one, err
}

// turn is the trial as the turn that follows the answered ones is asked.
func (t *Planned) turn(answered []eval.Turn) *Planned {
	next := *t
	next.Request, next.ID = t.Request.After(answered), eval.TurnID(t.ID, answered)
	return &next
}

// inTurn is an error that says in which turn it was. A budget that is spent in the middle makes no skip of a chat that has cost
// something.
func (a *asked) inTurn(k int, err error) error {
	e := *eval.AsError(err)
	if e.Kind == eval.KindBudget {
		if k == 1 {
			return &e
		}
		e.Kind, a.result.OverBudget = eval.KindUnscored, true
	}
	e.Message = fmt.Sprintf("turn %d: %s", k, e.Message)
	return &e
}

// recordedTurns takes the turns of a chat that are known from before.
func (a *asked) recordedTurns(turns []eval.Turn) {
	a.result.Turns = turns
	a.result.Request = new(a.trial.Request.After(turns[:max(0, len(turns)-1)]))
}
