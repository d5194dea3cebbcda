package runner

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

// scoring is an answer that waits for its scores.
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
	a.result.TraceID = earlier.TraceID
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

// answered prepares the answer for scorers.
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
