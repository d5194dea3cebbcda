package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

type scoring struct {
	trial   *Planned
	answer  scorers.Answer
	result  eval.Result
	halt    Halt                      // why the run may have to stop; nil for most
	scores  []eval.Score              // one for each scorer
	settled []bool                    // whether the score is final, and does not wait for embeddings or judges
	kept    map[string]eval.Judgement // earlier replies of judges, by id
	before  map[string]string         // ids of questions with an earlier reply, by key
	resent  map[string]bool           // ids of questions that are sent again
	noted   bool                      // the answer is written down
	afresh  bool                      // a chat that the application keeps restarts: earlier answers are missing
	denied  *eval.Error               // why judges get no more questions about the answer; nil while they do
	room    func()                    // gives back the room for calls; nil: the trial has none
}

// leave gives back the room that the trial has.
func (a *scoring) leave() {
	if a.room != nil {
		a.room()
		a.room = nil
	}
}

// recorded takes over an earlier answer.
func (a *scoring) recorded(earlier *eval.Result) {
	a.result.Request = &a.trial.Request
	a.result.Response = earlier.Response
	a.result.TraceID, a.result.Changes = earlier.TraceID, earlier.Changes
	if a.trial.Request.Live || len(earlier.Calls) > 0 {
		a.takeCalls(earlier.Calls)
	}
	if a.result.Usage = earlier.Usage; earlier.Usage == nil {
		a.result.Usage = &eval.Usage{Source: eval.UsageEstimated}
	}
	if a.result.Timing = earlier.Timing; earlier.Timing == nil {
		a.result.Timing = &eval.Timing{}
	}
	a.keep(earlier.Judgements)
	a.answered()
}

// needsReplies reports whether the answer has to wait for judges or embeddings.
func (a *scoring) needsReplies() bool { return len(a.trial.Judges())+len(a.trial.References()) > 0 }

func (a *scoring) answered() {
	r := &a.result
	a.answer = scorers.Answer{
		Response: r.Response,
		Usage:    *r.Usage,
		Timing:   *r.Timing,
		Request:  r.Request,
		Calls:    r.Calls,
		Vars:     a.trial.vars,
		Context:  &scorers.Context{Trial: a.trial.Trial, Judgements: scorers.Judgements{Known: map[string]*eval.Judgement{}}},
	}
	if len(r.Response.Candidates) > 0 { // which most scorers look at
		a.answer.Candidate = &r.Response.Candidates[0]
	}
}

func (a *scoring) failed(e *eval.Error) eval.Result {
	a.result.Ending = eval.Errored{Error: e}
	if e.Answer != nil && !a.trial.Request.Live { // of a chat it may be any turn
		a.result.Response = e.Answer
	}
	if t := a.result.Timing; t != nil && t.StartedAt.IsZero() { // nothing was sent
		a.result.Timing = nil
	}
	return a.result
}

// score scores an answer. It is false when embeddings or judges are wanted first; what wants none is scored once.
func (a *scoring) score() bool {
	if a.scores == nil {
		a.scores, a.settled = make([]eval.Score, len(a.trial.scorers)), make([]bool, len(a.trial.scorers))
	}
	a.answer.Context.Vectors.Wanted, a.answer.Context.Judgements.Wanted = nil, nil
	wanted := 0
	for i, s := range a.trial.scorers {
		if a.settled[i] {
			continue
		}
		score, err := s.Score(&a.answer)
		if err != nil {
			a.result.Scores = a.scores[:i]
			a.failed(eval.Errorf(eval.KindScorer, "%s", err))
			return true
		}
		before := wanted
		wanted = len(a.answer.Context.Vectors.Wanted) + len(a.answer.Context.Judgements.Wanted)
		a.scores[i], a.settled[i] = score, wanted == before
	}
	if wanted > 0 {
		return false
	}
	a.result.Scores = a.scores
	a.result.Ending = scorers.EndingOf(a.result.Scores, a.trial.Threshold)
	a.derive()
	return true
}

// derive computes the derived metrics. A value outside 0 to 1 is an error, since its mean has no meaning.
func (a *scoring) derive() {
	a.result.Metrics = nil
	for _, m := range a.trial.derived {
		value, ok, err := m.Of(a.result.Scores)
		switch {
		case err != nil && a.result.Err() == nil:
			a.failed(eval.Errorf(eval.KindUnscored, "%s", err))
		case ok:
			if a.result.Metrics == nil {
				a.result.Metrics = map[string]float64{}
			}
			a.result.Metrics[m.Name] = value
		}
	}
}

// How much of the variables of a case a result keeps: enough to tell cases apart. The prompt has them in full.
const (
	mostVars     = 20
	mostVarBytes = 200
)

// shownVars are the beginnings of the first variables of the trial's case, by name; nil when it has none.
func (t *Planned) shownVars() map[string]string {
	if len(t.vars) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(t.vars))
	names = names[:min(len(names), mostVars)]
	out := make(map[string]string, len(names))
	for _, name := range names {
		text := fmt.Sprint(t.vars[name])
		if len(text) > mostVarBytes {
			text = strings.ToValidUTF8(text[:mostVarBytes], "") + "..."
		}
		out[name] = text
	}
	return out
}

// programsPerCPU is how many answers may be scored by programs at once, for each CPU: programs may do nothing but wait.
const programsPerCPU = 4

// slots limits scoring. Programs have their own slots, so that they hold up only each other.
func (r *run) slots(a *scoring) chan struct{} {
	if slices.ContainsFunc(a.trial.scorers, func(s *scorers.Compiled) bool { return len(s.Needs().Programs) > 0 }) {
		return r.programs
	}
	return r.scoring
}

// folder is where the program of a trial has worked, "" where that is nowhere any more.
func (r *run) folder(t *Planned, earlier *eval.Result) string {
	switch {
	case earlier != nil:
		return earlier.Workspace
	case r.Environment.Workspaces == nil || t.Program() == nil:
		return ""
	}
	return r.Environment.Workspaces.Folder(TrialName(r.Environment.NameSalt, t.N))
}

// waiting returns the pool of answers that wait for the same judge or the same embeddings. Separate pools
// keep a slow one from delaying the others.
func (r *run) waiting(a *scoring) chan struct{} {
	var of ModelRef
	if wanted := a.answer.Context.Judgements.Wanted; len(wanted) > 0 {
		of = refOf(&wanted[0].Judge.Model)
	} else {
		of = ModelRef{a.trial.Embedding.Service, a.trial.Embedding.Model}
	}
	r.pooling.Lock()
	defer r.pooling.Unlock()
	pool := r.pools[of]
	if pool == nil {
		pool = make(chan struct{}, maxWaiting)
		r.pools[of] = pool
	}
	return pool
}
