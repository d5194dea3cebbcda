package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// judgeReply is the reply of a judge. A question is sent once in a run, however many answers need it.
type judgeReply struct {
	eval.Judgement
	before bool // it comes from an earlier run
}

const maxReplies = 4096

func newReplies(before iter.Seq[eval.Judgement]) *memo[judgeReply] {
	r := newMemo[judgeReply](maxReplies)
	if before == nil {
		return r
	}
	for j := range before {
		if len(r.byKey) == maxReplies {
			break
		}
		if !usable(&j) {
			continue
		}
		if one, first := r.take(j.ID); first {
			one.value = judgeReply{j, true}
			r.settle(j.ID, one)
		}
	}
	return r
}

func usable(j *eval.Judgement) bool { return j.Error == nil && j.Withheld == nil }

// forget drops a reply from before, so that the next worker that takes it has to get it.
func forget(r *memo[judgeReply], id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.byKey[id]; ok {
		select {
		case <-one.done:
			if one.value.before {
				delete(r.byKey, id)
			}
		default: // it is under way
		}
	}
}

// keep takes over earlier replies of judges.
func (a *scoring) keep(before []eval.Judgement) {
	a.kept = map[string]eval.Judgement{}
	for _, j := range before {
		if usable(&j) {
			a.kept[j.ID] = j
		}
	}
}

// consult sends the questions of scorers to judges, and returns the first error. If it is a reply missing from the
// records, or one that comes with a batch, other questions may still have one. After any other failure, consult uses earlier
// replies only.
func (r *run) consult(ctx context.Context, a *scoring) (first *eval.Error) {
	for _, q := range a.answer.Context.Judgements.Wanted {
		if a.answer.Context.Judgements.Known[q.Key] != nil { // two scorers put the same question
			continue
		}
		j, err := r.ruling(ctx, a, &q)
		if j.Prompt = q.Prompt(); a.showsPrompt(j.Prompt) {
			j.Prompt = ""
		}
		if err == nil || j.Attempts > 0 {
			a.result.Judgements = append(a.result.Judgements, j)
		}
		if err == nil {
			a.answer.Context.Judgements.Known[q.Key] = &j
			continue
		}
		a.refuse(&q, err)
		if first == nil {
			first = err
		}
	}
	return first
}

// showsPrompt reports whether a judgement about the answer has the prompt already: repeats and panels share it.
func (a *scoring) showsPrompt(prompt string) bool {
	return slices.ContainsFunc(a.result.Judgements, func(j eval.Judgement) bool { return j.Prompt == prompt })
}

// refuse notes that a question gets no reply, so that the scorers that put it cannot tell, and the others can.
func (a *scoring) refuse(q *scorers.Question, e *eval.Error) {
	if a.answer.Context.Judgements.Unavailable == nil {
		a.answer.Context.Judgements.Unavailable = map[string]eval.Unscored{}
	}
	why := e.Message
	switch e.Kind {
	case eval.KindReplayMiss:
	case eval.KindWaiting: // other questions go into the same batch
		a.halt = Waits{}
	default:
		a.denied = e
		why = fmt.Sprintf("no reply from the judge `%s`: %s", q.Judge.Name, whyUnsent(e))
	}
	a.answer.Context.Judgements.Unavailable[q.Key] = eval.Unscored{Why: why, Cause: e.Cause}
}

// whyUnsent says why a judge did not reply.
func whyUnsent(e *eval.Error) string {
	if e.Kind == eval.KindCanceled {
		return "the run was stopped before the judge replied"
	}
	return e.Error()
}

// ruling gets the reply to a question: the one of the trial, as another answer got it, or from the judge.
func (r *run) ruling(ctx context.Context, a *scoring, q *scorers.Question) (eval.Judgement, *eval.Error) {
	t := r.plan.question(q)
	if j, ok := a.kept[t.ID]; ok {
		a.known(q, t.ID)
		j.Judge = q.Judge.Name
		return j, nil
	}
	if a.denied != nil {
		return eval.Judgement{}, a.denied
	}
	one, first := r.replies.take(t.ID)
	if first {
		return r.firstRuling(ctx, a, q, t, one)
	}
	if err := one.wait(ctx); err != nil {
		return eval.Judgement{}, err
	}
	if one.value.before {
		a.known(q, t.ID)
	}
	j := one.value.Judgement
	j.Judge = q.Judge.Name
	j.Cached = true
	j.Attempts = 0
	j.LatencyMs = 0
	return j, nil
}

// firstRuling calls the judge, and writes down what it replied.
func (r *run) firstRuling(
	ctx context.Context, a *scoring, q *scorers.Question, t *Planned, one *memoEntry[judgeReply],
) (eval.Judgement, *eval.Error) {
	ctx, written := r.writing(ctx)
	defer written()
	r.askJudge(ctx, t, q, one, a.resent[t.ID])
	if one.value.before {
		a.known(q, t.ID)
	}
	j := one.value.Judgement
	if r.Keeper != nil && j.Attempts > 0 {
		kept := j
		r.Keeper.KeepJudgement(a.trial.ID, &kept)
		j.Noted = true
	}
	return j, one.err
}

func (r *run) askJudge(ctx context.Context, t *Planned, q *scorers.Question, one *memoEntry[judgeReply], repeat bool) {
	defer r.replies.settle(t.ID, one)
	one.err = eval.Errorf(eval.KindScorer, "the call to the judge failed") // until it has not
	if r.Stop.Reason() != "" {
		one.err = eval.Errorf(eval.KindCanceled, "the run was stopped")
		return
	}
	j := &one.value.Judgement
	*j = eval.Judgement{ID: t.ID, Judge: q.Judge.Name, Model: q.Judge.Model.ID, Repeat: q.Repeat}
	call := &eval.Call{Request: t.Request, TrialID: t.ID, Judge: q.Judge.Name, OutputLimit: t.OutputLimit()}
	if repeat {
		call.Earlier = eval.EarlierRefused
	}
	one.err = eval.AsError(r.callJudge(ctx, t, call, j))
	j.Attempts, j.LatencyMs = call.Timing.Attempts, call.Timing.LatencyMs
	one.value.before = one.err == nil && j.Attempts == 0 && !repeat
	if one.err != nil {
		reported := *one.err
		if reported.Kind == eval.KindCanceled { // it was sent, and may have cost something
			reported = *eval.Errorf(eval.KindTransport, "abandoned when the run was stopped")
		}
		j.Error = &reported
	}
}

// callJudge sends a question to a judge. The error is an *eval.Error.
func (r *run) callJudge(ctx context.Context, t *Planned, call *eval.Call, j *eval.Judgement) error {
	if err := r.measure(ctx, t, call); err != nil {
		return err
	}
	resp, err := r.Services.Generator.Generate(ctx, call)
	if err != nil {
		return err
	}
	if err := empty(resp); err != nil {
		e := eval.AsError(err)
		e.Message = "of the judge: " + e.Message
		return e
	}
	resp.Usage = wire.Usage(call, resp)
	j.Take(resp)
	return nil
}

func requestTo(m *suite.ConfiguredModel, apiVersion string) eval.Request {
	name, protocol := m.Service.Identity()
	return eval.Request{
		Service: name, Protocol: protocol, Model: m.ID, APIVersion: apiVersion,
		GenerationConfig: m.GenerationConfig, SafetySettings: m.SafetySettings, Extra: m.Extra,
	}
}

// coolly gives a judge the temperature 0 by default: the same answer is to get the same ruling.
func coolly(c *eval.GenerationConfig) *eval.GenerationConfig {
	if c == nil {
		return &eval.GenerationConfig{Temperature: new(0.0)}
	}
	if c.Temperature != nil {
		return c
	}
	out := *c
	out.Temperature = new(0.0)
	return &out
}

// question is a question to a judge, ready to be sent. Its id is a hash of what the suite says, unlike that of any
// trial. The default temperature is no part of it, so that replies that were recorded before there was one stay
// replies to the same question.
func (p *Plan) question(q *scorers.Question) *Planned {
	key := p.configuredKey(&q.Judge.Model)
	request := requestTo(&q.Judge.Model, key.apiVersion)
	request.Contents = q.Contents
	base := identity(&request)
	sum := sha256.Sum256(fmt.Appendf(base[:], " judge %d", q.Repeat))
	request.GenerationConfig = coolly(request.GenerationConfig)
	return &Planned{
		Trial:    eval.Trial{ID: hex.EncodeToString(sum[:])[:16], Model: q.Judge.Model.ID, Repeat: q.Repeat},
		Request:  request,
		Metadata: p.modelOf(key), guessed: p.Uncounted[key.service],
	}
}

func (c *modelCheck) judge(ctx context.Context, j *suite.Judge) error {
	return c.generating(ctx, &j.Model, fmt.Sprintf("judge `%s`", j.Name))
}

// unjudged makes an error of a trial without the reply of a judge. Its answer came, and is kept with what other
// scorers say.
func (a *scoring) unjudged(e *eval.Error) eval.Result {
	switch {
	case e.Kind == eval.KindBudget:
		a.halt = SpentBudget{e.Message}
	case e.Kind != eval.KindCanceled && a.halt == nil: // a spent budget stops the run anyway
		a.halt = JudgeTrouble{e}
	}
	return a.failed(eval.Errorf(eval.KindUnscored, "the answer could not be judged: %s", whyUnsent(e)))
}

// known notes that a question was answered before.
func (a *scoring) known(q *scorers.Question, id string) {
	if a.before == nil {
		a.before = map[string]string{}
	}
	a.before[q.Key] = id
}

// doubt forgets earlier replies that do not count, and the scores that used them, so that the questions are sent again.
// It reports whether there were any.
func (r *run) doubt(a *scoring) bool {
	found := false
	for _, key := range a.answer.Context.Judgements.Useless {
		id, ok := a.before[key]
		if !ok {
			continue
		}
		found = true
		forget(r.replies, id)
		delete(a.before, key)
		delete(a.kept, id)
		delete(a.answer.Context.Judgements.Known, key)
		a.result.Judgements = slices.DeleteFunc(a.result.Judgements, func(j eval.Judgement) bool { return j.ID == id })
		if a.resent == nil {
			a.resent = map[string]bool{}
		}
		a.resent[id] = true
	}
	a.answer.Context.Judgements.Useless = nil
	for i := range a.scores {
		_, scored := a.scores[i].Value() // with `onError: fail` a useless reply makes a failure, which has a value
		a.settled[i] = a.settled[i] && (!found || scored && len(a.trial.scorers[i].Needs().Judges) == 0)
	}
	return found
}
