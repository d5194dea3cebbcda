package harness

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Todo compares the plan with what is recorded.
type Todo struct {
	Send    int      // trials to run
	Rescore int      // recorded answers that only have to be scored again
	Settled int      // trials that stay unchanged
	Dropped []string // recorded trials, by case and arm, that the plan does not have any more
	Twice   int      // calls that were under way when the run was killed: they may be made and paid again

	of     *job.Resumption
	doc    *journal.Document // the run so far
	plan   *runner.Plan
	ids    []string // ids of the dropped trials
	counts eval.Counts
}

// NewTodo returns what a run still has to do. plan is the plan of the run's job.
func NewTodo(r *job.Resumption, plan *runner.Plan) (*Todo, error) {
	todo := Todo{of: r, doc: r.SoFar(), plan: plan}
	met := make([]bool, todo.doc.Len())
	for t := range plan.Trials() {
		if place, ok := todo.doc.Find(t.ID); ok {
			met[place] = true
		}
		k, ok := todo.find(t)
		switch {
		case ok && todo.settled(k):
			todo.Settled++
			todo.counts.Add(k.Outcome)
		case r.Options.Rescore != "", resultOf(todo.kept(t, k, ok)) != nil:
			todo.Rescore++
		default:
			todo.Send++
		}
	}
	for place, fine := range met {
		if fine {
			continue
		}
		if r.Options.NoContent {
			return nil, exit.BadInput(
				"recorded trials are not in the plan any more: a run with --no-content does not keep the values of --var; give the same ones again",
			)
		}
		t, err := todo.doc.Trial(place)
		if err != nil {
			return nil, exit.BadInput("the run cannot be read: %w", err)
		}
		todo.ids = append(todo.ids, t.ID)
		todo.Dropped = append(todo.Dropped, runner.Describe(&t.Trial))
	}
	if todo.doc.End == nil {
		todo.Twice = r.Workers()
		if r.Options.NoContent { // nor can what waited be used
			todo.Twice += todo.doc.PendingCalls()
		} else {
			todo.Twice = min(todo.Twice, todo.calls())
		}
	}
	return &todo, nil
}

// calls is how many calls may be left to make at most, retries aside.
func (todo *Todo) calls() (n int) {
	for t := range todo.plan.Trials() {
		k, ok := todo.find(t)
		if ok && todo.settled(k) {
			continue
		}
		if n += t.MaxCalls() + 2*len(t.Judges()) + 2*len(t.References()); n > todo.of.Workers() {
			break
		}
	}
	return n
}

// kept returns what the run has recorded of an unsettled trial. That is an answer that still has to be
// scored, or the calls of an interrupted trial. ok says that the trial is among the recorded ones.
func (todo *Todo) kept(t *runner.Planned, k trialSoFar, ok bool) runner.EarlierTrial {
	if todo.of.Options.NoContent { // what is kept is without its texts
		return nil
	}
	var result *eval.Result
	var turns []eval.AnsweredCall
	if ok {
		result, turns = todo.answer(k)
	}
	p := todo.doc.Pending(t.ID)
	switch {
	case p == nil:
	case p.Response != nil:
		result, turns = p, nil
	case result != nil:
		result.Judgements = append(p.Judgements, result.Judgements...)
	case len(p.Calls) > len(turns):
		turns = p.Calls
	}
	if result != nil {
		return runner.AnsweredTrial{Result: result}
	}
	if turns = answered(turns); t.KeepsChat() || ended(t, turns) >= t.Request.UserTurns() {
		return nil // an application that keeps the chat by itself begins another one
	}
	return runner.BegunTrial{Calls: turns}
}

// resultOf is the result that only has to be scored; nil where there is none.
func resultOf(earlier runner.EarlierTrial) *eval.Result {
	answered, _ := earlier.(runner.AnsweredTrial)
	return answered.Result
}

// answered are the calls of a trial after which it can continue.
func answered(turns []eval.AnsweredCall) []eval.AnsweredCall {
	for i := range turns {
		one := &turns[i]
		if one.Block() != "" || len(one.FunctionCalls()) == 0 && strings.TrimSpace(one.Text()) == "" {
			return turns[:i]
		}
	}
	return turns
}

// ended is how many turns of the user have an answer.
func ended(t *runner.Planned, turns []eval.AnsweredCall) int {
	n := 0
	for i := range turns {
		if turns[i].Results == nil && (t.IsApplication() || len(turns[i].FunctionCalls()) == 0) {
			n++
		}
	}
	return n
}

// settled reports whether a recorded trial stays unchanged. A scored one always does.
func (todo *Todo) settled(k trialSoFar) bool {
	switch k.Outcome {
	case eval.Pass, eval.Fail:
		return true
	case eval.Err:
		return !todo.of.RetryErrors && !todo.doc.Partial() || todo.doc.StopOf(k.Suite, k.Arm) != nil // a verdict that is final rests on it
	}
	return false
}

// isUnscored reports whether a scorer had no verdict, for whatever reason: another service refused its key, say.
func isUnscored(t *eval.Result) bool {
	return slices.ContainsFunc(t.Scores, func(s eval.Score) bool { return s.Unscored() != "" })
}

// answer returns the answer of a recorded trial, which only has to be scored again, or the answered calls of a trial that
// takes several.
func (todo *Todo) answer(k trialSoFar) (result *eval.Result, turns []eval.AnsweredCall) {
	if k.Outcome != eval.Err {
		return nil, nil
	}
	t, err := todo.doc.Trial(k.place)
	switch {
	case err != nil || t.Err() == nil: // what cannot be read is sent again
	case t.Response != nil && (t.Err().Kind.IsUnscored() || isUnscored(t)):
		return t, nil
	default:
		return nil, t.Calls
	}
	return nil, nil
}
