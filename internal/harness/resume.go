package harness

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/selection"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// trialSoFar is a trial of the run so far.
type trialSoFar struct {
	journal.IndexedTrial
	place int // among the document's trials
}

// find returns the record of a trial of the plan, never the record of another case with the same request.
func (todo *Todo) find(t *runner.Planned) (k trialSoFar, ok bool) {
	place, ok := selection.FindTrial(todo.doc, &t.Trial)
	if ok {
		k = trialSoFar{todo.doc.Indexed(place), place}
	}
	return k, ok
}

// replies yields the replies so far of judges; nil when there are none.
func (todo *Todo) replies() iter.Seq[eval.Judgement] {
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

// failed reports whether a trial that has failed before is sent again, so that new ones come first. It is nil when
// there are none.
func (todo *Todo) failed(t *runner.Planned) bool {
	k, ok := todo.find(t)
	return ok && k.Outcome == eval.Err
}

// Resume finishes a run. It returns when nothing is left to send, or when a signal ended it.
func (s *Session) Resume(ctx context.Context, todo *Todo, progress Progress, signals <-chan os.Signal) error {
	r, plan := todo.of, todo.plan
	removeCheckouts, err := s.CheckOut()
	if err != nil {
		return err
	}
	defer removeCheckouts()
	w := r.Writer()
	if s.workspaces.Run, err = filepath.Abs(r.Dir); err != nil {
		return exit.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	s.workspaces.Resume(todo.doc)
	note := journal.Resumed{
		At: time.Now().UTC().Format(time.RFC3339Nano), Dropped: todo.ids,
		Workers: s.MostAtOnce(&s.Settings.Limits),
	}
	if err := w.Resumed(&note); err != nil {
		return exit.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	early, err := verdict.NewEarly(&todo.doc.Run, plan)
	if err == nil && early != nil {
		err = early.Replay(todo.doc, func(k journal.IndexedTrial) bool { return todo.settled(trialSoFar{k, 0}) }, w)
	}
	if err != nil {
		return exit.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	c := &consumer{session: s, journal: w, plan: plan, end: eval.End{Reason: eval.EndCompleted, Counts: todo.counts}, early: early}
	from, rescored := s.Settings.Rescored()
	c.earlier = runner.EarlierRuns{Replies: todo.replies(), RepeatUseless: !rescored || from.AskJudges, Reader: s.reader()}
	c.earlier.Trial = func(t *runner.Planned) runner.EarlierTrial {
		k, ok := todo.find(t)
		if ok && todo.settled(k) {
			return runner.SettledTrial{}
		}
		if known, given := s.answers.known(t); given {
			if p, one := todo.doc.Pending(t.ID), resultOf(known); p != nil && one != nil {
				one.Judgements = append(p.Judgements, one.Judgements...)
			}
			return known
		}
		known := todo.kept(t, k, ok)
		if one := resultOf(known); one != nil {
			s.workspaces.Adopt(runner.TrialName(s.id, t.N), t.Program(), one)
		}
		return known
	}
	c.last = todo.failed
	s.moved(todo.doc.Run.Models, plan.Models)
	progress = &resumedProgress{progress, s.limiter.Spent()}
	s.retries.enter(running)
	progress.Start(todo.Send + todo.Rescore)
	defer s.noteEchoes()
	return c.carryOut(ctx, progress, signals)
}

// resumedProgress shows the spend since the run was resumed, to match the trials that it counts.
type resumedProgress struct {
	Progress
	before eval.Spent
}

// Done reports a result.
func (p *resumedProgress) Done(r *eval.Result, spent eval.Spent) {
	spent.Attempts -= p.before.Attempts
	spent.Tokens -= p.before.Tokens
	spent.Money -= p.before.Money
	p.Progress.Done(r, spent)
}

// moved warns about models that have changed since the run began.
func (s *Session) moved(before, now []eval.Model) {
	for _, m := range now {
		for _, b := range before {
			if sameModel(&b, &m) && b.Version != m.Version {
				s.Notice(
					fmt.Sprintf("warning: the model %s was of version %s when the run began and is of version %s now", m.ID(), b.Version, m.Version),
				)
			}
		}
	}
}
