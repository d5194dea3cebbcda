package session

import (
	"iter"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// remainder is what a run to continue still has to do: its plan, compared with what is recorded.
type remainder struct {
	Send       int         // trials to run
	Rescore    int         // recorded answers that only have to be scored again
	Settled    int         // trials that stay unchanged
	Counts     eval.Counts // the outcomes of the settled trials
	Dropped    []string    // recorded trials, by case and arm, that the plan does not have any more
	DroppedIDs []string
	Twice      int // calls that may be made and paid again: those in progress when the run was killed, and Restarted
	Restarted  int // answered calls that are made again, such as those of chats that start again

	run     *Resumption
	mayStop bool              // errors stay until nothing is waited for: the tests take the trials in their order
	doc     *journal.Document // the run so far
	plan    *runner.Plan
}

type trialSoFar struct {
	journal.IndexedTrial
	place int // among the document's trials
}

// NewTodo compares a run with the plan of its job.
func NewTodo(r *Resumption, plan *runner.Plan) (*remainder, error) {
	todo := remainder{run: r, doc: r.SoFar(), plan: plan}
	todo.mayStop = gate.MayStop(&todo.doc.Run)
	met := make([]bool, todo.doc.Len())
	for t := range plan.Trials() {
		if place, ok := todo.doc.Find(t.ID); ok {
			met[place] = true
		}
		if k, ok := todo.find(t); ok && todo.Stays(k.IndexedTrial) {
			todo.Settled++
			todo.Counts.Add(k.Outcome)
			continue
		}
		known, restarted := todo.kept(t)
		todo.Restarted += restarted
		if r.Options.Rescore != "" || resultOf(known) != nil {
			todo.Rescore++
		} else {
			todo.Send++
		}
	}
	for place, fine := range met {
		if fine {
			continue
		}
		if r.Options.NoContent {
			return nil, eval.BadInput(
				"recorded trials are not in the plan any more: a run with --no-content does not keep the values of --var; give the same ones again",
			)
		}
		t, err := todo.doc.Trial(place)
		if err != nil {
			return nil, eval.BadInput("the run cannot be read: %w", err)
		}
		todo.DroppedIDs = append(todo.DroppedIDs, t.ID)
		todo.Dropped = append(todo.Dropped, text.Describe(&t.Trial))
	}
	if r.Options.NoContent { // what waited cannot be used
		todo.Restarted += todo.doc.PendingCalls()
	}
	if todo.doc.End == nil && !todo.doc.InBatches() {
		todo.Twice = min(r.Workers(), todo.calls())
	}
	todo.Twice += todo.Restarted
	return &todo, nil
}

// Run is the run to continue.
func (todo *remainder) Run() *Resumption { return todo.run }

// Plan is what the run was compared with.
func (todo *remainder) Plan() *runner.Plan { return todo.plan }

// find returns the record of a trial of the plan, never the record of another case with the same request.
func (todo *remainder) find(t *runner.Planned) (k trialSoFar, ok bool) {
	place, ok := gate.FindTrial(todo.doc, &t.Trial)
	if ok {
		k = trialSoFar{todo.doc.Indexed(place), place}
	}
	return k, ok
}

// IsSettled reports whether a trial of the plan is recorded and stays unchanged.
func (todo *remainder) IsSettled(t *runner.Planned) bool {
	k, ok := todo.find(t)
	return ok && todo.Stays(k.IndexedTrial)
}

// Stays reports whether a recorded trial stays unchanged. A scored one always does.
func (todo *remainder) Stays(k journal.IndexedTrial) bool {
	switch k.Outcome {
	case eval.Pass, eval.Fail:
		return true
	case eval.Err:
		switch final := todo.doc.StopOf(k.Suite, k.Arm) != nil; { // its verdict rests on the trial
		case final:
			return true
		case todo.doc.WaitsAgain(k.ID), todo.run.Options.RetryErrors:
			return false
		}
		return !todo.doc.Partial() || todo.doc.End.Waits() && (!k.MayPass || todo.mayStop)
	}
	return false
}

// calls is how many calls may be left to make at most, retries aside.
func (todo *remainder) calls() (n int) {
	for t := range todo.plan.Trials() {
		if todo.IsSettled(t) {
			continue
		}
		if n += t.MaxCalls() + 2*len(t.Judges()) + 2*len(t.References()); n > todo.run.Workers() {
			break
		}
	}
	return n
}

// Kept returns what is recorded of a trial that is not settled: an answer to score, calls of an interrupted trial, or nil.
func (todo *remainder) Kept(t *runner.Planned) runner.EarlierTrial {
	known, _ := todo.kept(t)
	return known
}

// kept is Kept, and how many answered calls of the trial are made again.
func (todo *remainder) kept(t *runner.Planned) (known runner.EarlierTrial, restarted int) {
	var result *eval.Result
	var turns []eval.AnsweredCall
	if k, ok := todo.find(t); ok {
		result, turns = todo.answer(k)
	}
	if todo.run.Options.NoContent { // what is kept is without its texts
		if result != nil {
			return nil, max(1, sent(result.Calls))
		}
		return nil, sent(turns)
	}
	p := todo.doc.Pending(t.ID)
	switch {
	case p == nil:
	case p.Response != nil:
		result, turns = p, nil
	case result != nil:
		addReplies(result, p)
	case len(p.Calls) > len(turns):
		turns = p.Calls
	}
	if result != nil {
		return runner.AnsweredTrial{Result: result}, 0
	}
	usable := answered(turns)
	if t.KeepsChat() || ended(t, usable) >= t.Request.UserTurns() {
		return nil, sent(turns) // an application that keeps the chat by itself begins another one
	}
	return runner.BegunTrial{Calls: usable}, sent(turns[len(usable):])
}

// sent is how many of the calls were sent, and not answered by an earlier run.
func sent(calls []eval.AnsweredCall) (n int) {
	for i := range calls {
		if calls[i].Timing.Attempts > 0 {
			n++
		}
	}
	return n
}

// AddReplies adds to an answer from elsewhere what judges have said of it in the run so far.
func (todo *remainder) AddReplies(t *runner.Planned, earlier runner.EarlierTrial) {
	if p, one := todo.doc.Pending(t.ID), resultOf(earlier); p != nil && one != nil {
		addReplies(one, p)
	}
}

// addReplies adds what judges have said of an answer that is not settled, which its result may know in part.
func addReplies(to, pending *eval.Result) {
	type reply struct {
		judge, id string
		repeat    int
	}
	known := map[reply]bool{}
	for i := range to.Judgements {
		one := &to.Judgements[i]
		known[reply{one.Judge, one.ID, one.Repeat}] = true
	}
	for i := range pending.Judgements {
		if one := &pending.Judgements[i]; !known[reply{one.Judge, one.ID, one.Repeat}] {
			to.Judgements = append(to.Judgements, *one)
		}
	}
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

// isUnscored reports whether a scorer had no verdict, for whatever reason: another service refused its key, say.
func isUnscored(t *eval.Result) bool {
	return slices.ContainsFunc(t.Scores, func(s eval.Score) bool { return s.Unscored() != "" })
}

// answer returns the answer of a recorded trial, which only has to be scored again, or the answered calls of a trial that
// takes several.
func (todo *remainder) answer(k trialSoFar) (result *eval.Result, turns []eval.AnsweredCall) {
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

// Failed reports whether a trial has failed before and is sent again, so that new ones come first.
func (todo *remainder) Failed(t *runner.Planned) bool { return todo.hasError(&t.Trial) }

func (todo *remainder) hasError(t *eval.Trial) bool {
	place, ok := gate.FindTrial(todo.doc, t)
	return ok && todo.doc.Indexed(place).Outcome == eval.Err
}

// tried returns the recorded result of a trial that ended in an error, nil for others.
func (todo *remainder) tried(t *eval.Trial) *eval.Result {
	if !todo.hasError(t) {
		return nil
	}
	place, _ := gate.FindTrial(todo.doc, t)
	result, err := todo.doc.Trial(place)
	if err != nil { // nothing is lost when a line that cannot be read is replaced
		return nil
	}
	return result
}

// repeatsUseless reports whether a question is sent again whose reply does not count. In batches each reply is of an earlier process,
// so that it would be sent by every resume.
func (todo *remainder) repeatsUseless(asks bool) bool {
	return asks && (!todo.doc.InBatches() || todo.run.Options.RetryErrors)
}

// Replies yields the replies so far of judges.
func (todo *remainder) Replies() iter.Seq[eval.Judgement] {
	return func(yield func(eval.Judgement) bool) {
		more := true
		todo.doc.PendingJudgements(func(j eval.Judgement) bool { more = yield(j); return more })
		if !more || todo.doc.Summary.JudgeRequests.Replies == 0 {
			return
		}
		for t, err := range todo.doc.Trials() {
			if err != nil { // what cannot be read is requested again
				continue
			}
			for _, j := range t.Judgements {
				if !yield(j) {
					return
				}
			}
		}
	}
}
