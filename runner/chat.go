package runner

import (
	"context"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// following is the next step of a trial after its last answer.
type following int

const (
	done      following = iota // the trial has its answer
	answering                  // the suite answers what the model calls
	calling                    // the model is called, with the results or the next turn of the user
)

// converse makes the calls of a trial that takes several: one for each turn of a live chat, and one for each step in
// which the suite answers tool calls. The result keeps all answers even after an error, since they were paid for. The
// error is an *eval.Error.
func (r *run) converse(ctx context.Context, a *scoring) error {
	next, err := a.resume()
	for err == nil && next != done {
		if next == answering {
			err = a.during(len(a.result.Calls), r.answerCalls(ctx, a))
		}
		if err == nil {
			next, err = r.step(ctx, a)
		}
		if a.restarts(err) {
			next, err = calling, nil
		}
	}
	if err != nil {
		return err
	}
	a.whole()
	return nil
}

// restarts gives up the earlier answers of a chat that the application keeps when the next answer is not recorded.
func (a *scoring) restarts(err error) bool {
	e := eval.AsError(err)
	if e == nil || e.Kind != eval.KindReplayMiss || a.afresh || !a.trial.KeepsChat() || len(a.result.Calls) == 0 {
		return false
	}
	a.result.Calls = nil
	a.result.Usage = nil
	a.result.Timing = &eval.Timing{}
	a.afresh = true
	return true
}

// inKeptChat marks which earlier answers a call may use when an application keeps the chat itself: such an application
// must hear either the whole chat or nothing of it.
func (a *scoring) inKeptChat(call *eval.Call) {
	if !a.trial.KeepsChat() {
		return
	}
	sent := slices.ContainsFunc(a.result.Calls, func(t eval.AnsweredCall) bool { return t.Timing.Attempts > 0 })
	switch {
	case sent || a.afresh:
		call.Earlier = eval.EarlierRefused
	case len(a.result.Calls) > 0:
		call.Earlier = eval.EarlierRequired
	}
}

// resume restores the calls that were answered before the run broke off.
func (a *scoring) resume() (following, error) {
	out := &a.result
	for i := range out.Calls {
		before := &out.Calls[i]
		if i == 0 {
			*out.Timing, out.Usage = before.Timing, &eval.Usage{Source: before.Usage.Source}
		} else {
			out.Timing.Add(&before.Timing)
		}
		out.Usage.Add(&before.Usage)
	}
	if len(out.Calls) == 0 {
		return calling, nil
	}
	a.takeCalls(out.Calls)
	return a.follow()
}

// step makes the next call, and writes its answer down when the trial continues.
func (r *run) step(ctx context.Context, a *scoring) (following, error) {
	ctx, written := r.writing(ctx)
	defer written()
	out, k := &a.result, len(a.result.Calls)+1
	t := a.trial.turn(out.Calls)
	out.Request = &t.Request
	one, err := r.turn(ctx, a, t)
	if k == 1 {
		*out.Timing = one.Timing
	} else {
		out.Timing.Add(&one.Timing)
	}
	if err != nil {
		return done, a.during(k, err)
	}
	if out.Usage == nil {
		out.Usage = &eval.Usage{}
	}
	out.Usage.Add(&one.Usage)
	out.Calls = append(out.Calls, one)
	next, err := a.follow()
	if err == nil {
		next, err = r.keepStep(ctx, a, next)
	}
	return next, err
}

// keepStep writes down the last answer: together with the results of its tool calls if these are texts, and before they
// run if they are programs.
func (r *run) keepStep(ctx context.Context, a *scoring, next following) (following, error) {
	switch {
	case next == done:
		if a.whole(); a.needsReplies() {
			r.keepAnswer(a)
		}
	case next == answering && !a.startsPrograms():
		return calling, r.answerCalls(ctx, a)
	default:
		r.keepCall(a)
	}
	return next, nil
}

// follow says what comes after the last answer. An answer with which the trial cannot continue is an error.
func (a *scoring) follow() (following, error) {
	n := len(a.result.Calls)
	last := &a.result.Calls[n-1]
	if err := empty(&last.Response); err != nil {
		a.asOne()
		return done, a.during(n, err)
	}
	switch {
	case last.Results != nil:
		return calling, nil
	case last.Block() != "":
		return done, nil
	case len(last.FunctionCalls()) > 0 && a.trial.to == nil: // an application has made these calls itself
		if a.answers(&last.Candidates[0]) {
			return answering, nil
		}
		return done, nil
	case a.turnsLeft() == 0:
		return done, nil
	case eval.IsBlank(last.Text()):
		return done, a.during(n, eval.Errorf(
			eval.KindNoCandidates, "the answer has no text (finish reason %s), so the chat cannot continue",
			last.Candidates[0].FinishReason,
		))
	}
	return calling, nil
}

// turnsLeft is how many turns of the user come after the one to which the last answer belongs.
func (a *scoring) turnsLeft() int {
	left := a.trial.Request.UserTurns()
	for i := range a.result.Calls {
		if a.result.Calls[i].Results == nil {
			left--
		}
	}
	return left
}

func (r *run) keepCall(a *scoring) {
	last := &a.result.Calls[len(a.result.Calls)-1]
	if r.Keeper == nil || last.Timing.Attempts == 0 { // recorded and cached answers are somewhere else already
		return
	}
	r.Keeper.KeepCall(&a.result)
}

// turn makes one call. The timing is filled in even after an error. A recorded answer brings its tool results.
func (r *run) turn(ctx context.Context, a *scoring, t *Planned) (one eval.AnsweredCall, err error) {
	// The replies make it grow: the rest was checked with the suite.
	if size := wire.Size(t.Request.Contents) + len(t.Request.System); size > wire.MaxPromptBytes {
		return one, eval.Errorf(
			eval.KindOverLimit, "the chat has grown to %d bytes; at most %d are allowed", size, wire.MaxPromptBytes,
		)
	}
	call := r.newCall(t)
	a.inKeptChat(call)
	resp, err := r.generate(ctx, t, call, &one.Timing)
	a.trace(call.TrialName, &one.Timing)
	if err == nil {
		one.Response = *resp
		one.Usage = *resp.Usage
		one.Results = call.Results
	}
	return one, err
}

func (t *Planned) turn(answered []eval.AnsweredCall) *Planned {
	next := *t
	next.Request, next.ID = t.Request.After(answered), t.CallID(answered)
	next.render()
	return &next
}

// render makes the request to an application again, since in a plan it has only the turns of the user.
func (t *Planned) render() {
	if t.to == nil || !t.Request.Live {
		return
	}
	sent, err := t.to.Render(&eval.Input{Vars: t.sent, System: t.Request.System, Messages: wire.Messages(t.Request.Contents)})
	if err == nil { // else the call fails of it
		t.Request.App = sent.WithoutSecrets()
	}
}

// whole makes the last call's answer the answer of the trial.
func (a *scoring) whole() {
	if out := &a.result; len(out.Calls) > 0 {
		out.Response = new(out.Calls[len(out.Calls)-1].Response)
	}
	a.asOne()
	a.answered()
}

// asOne gives a trial with a single call, other than a chat, the same form as a trial without tools.
func (a *scoring) asOne() {
	out := &a.result
	if len(out.Calls) == 1 && !a.trial.Request.Live && out.Calls[0].Results == nil {
		out.Response, out.Calls = new(out.Calls[0].Response), nil
	}
}

// during adds to an error the call in which it happened; nil stays nil. A trial that runs out of budget after its first
// call is no skip, since it has cost something.
func (a *scoring) during(k int, err error) error {
	if err == nil {
		return nil
	}
	e := *eval.AsError(err)
	if e.Kind == eval.KindBudget {
		if k == 1 {
			return &e
		}
		e.Kind, a.halt = eval.KindUnscored, SpentBudget{e.Message}
	}
	ofEveryCall := e.Origin == eval.FromBreaker || e.Origin == eval.FromLogin
	if at := a.at(k); at != "" && !ofEveryCall {
		e.Message = at + ": " + e.Message
	}
	if a.trial.Request.Live { // the reply is not kept, so that a change of the suite does not help
		e.Cause = ""
	}
	return &e
}

// at names a call of the trial: the turn of the user in a live chat, and the step where a turn takes several. It is
// "" for the only call.
func (a *scoring) at(k int) string {
	turn, step := 1, 1
	for _, one := range a.result.Calls[:min(k-1, len(a.result.Calls))] {
		if step++; one.Results == nil {
			turn, step = turn+1, 1
		}
	}
	switch {
	case a.trial.Request.Live && step == 1:
		return fmt.Sprintf("turn %d", turn)
	case a.trial.Request.Live:
		return fmt.Sprintf("turn %d, step %d", turn, step)
	case step == 1:
		return ""
	}
	return fmt.Sprintf("step %d", step)
}

func (a *scoring) takeCalls(answered []eval.AnsweredCall) {
	a.result.Calls = answered
	a.result.Request = &a.trial.turn(answered[:max(0, len(answered)-1)]).Request
}
