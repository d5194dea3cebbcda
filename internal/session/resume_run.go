package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Resume finishes a run. It returns when nothing is left to send, or when a signal ended it.
func (s *Session) Resume(ctx context.Context, todo *remainder, progress progressWatcher, signals <-chan os.Signal) error {
	r, plan := todo.Run(), todo.Plan()
	doc := r.SoFar()
	removeCheckouts, err := s.CheckOut()
	if err != nil {
		return err
	}
	defer removeCheckouts()
	w := r.Writer()
	if s.workspaces.Run, err = filepath.Abs(r.Dir); err != nil {
		return eval.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	s.workspaces.Resume(doc)
	if err := s.settleBatches(ctx, doc, r.Dir, w); err != nil {
		return errors.Join(err, w.Close())
	}
	note := journal.Resumed{
		At: time.Now().UTC().Format(time.RFC3339Nano), Dropped: todo.DroppedIDs,
		Workers: s.MostAtOnce(&s.Settings.Limits), Ledger: s.shared.noted(),
	}
	if err := w.Resumed(&note); err != nil {
		return eval.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	early, err := gate.NewSequential(&doc.Run, plan, s.extends.has())
	if err == nil && early != nil {
		err = early.Replay(doc, todo.Stays, w)
	}
	if err != nil {
		return eval.Incomplete("the run cannot be resumed: %w", errors.Join(err, w.Close()))
	}
	c := &consumer{session: s, journal: w, plan: plan, end: eval.End{Reason: eval.EndCompleted, Counts: todo.Counts}, early: early}
	c.part, c.unanswered = c.partOf(todo.IsSettled), doc.Unanswered()
	from, rescored := s.Settings.Rescored()
	c.earlier = runner.EarlierRuns{Replies: todo.Replies(), Reader: s.reader()}
	c.earlier.RepeatUseless = todo.repeatsUseless(!rescored || from.AskJudges)
	c.earlier.Trial = func(t *runner.Planned) runner.EarlierTrial {
		if todo.IsSettled(t) {
			return runner.SettledTrial{}
		}
		if known, given := s.known(t); given {
			todo.AddReplies(t, known)
			return known
		}
		known := todo.Kept(t)
		if one, ok := known.(runner.AnsweredTrial); ok {
			s.workspaces.Adopt(runner.TrialName(s.id, t.N), t.Program(), one.Result)
		}
		return known
	}
	c.last = todo.Failed
	c.tried = todo.tried
	c.again = func(t *eval.Trial) bool { return todo.hasError(t) && !doc.WaitsAgain(t.ID) }
	s.moved(doc.Run.Models, plan.Models)
	progress = &resumedProgress{progress, s.limiter.Spent()}
	s.retries.enter(running)
	progress.Start(todo.Send + todo.Rescore)
	defer s.noteEchoes()
	return c.carryOut(ctx, progress, signals)
}

// resumedProgress shows the spend since the run was resumed, to match the trials that it counts.
type resumedProgress struct {
	progressWatcher
	before eval.Spent
}

// Done reports a result.
func (p *resumedProgress) Done(r *eval.Result, spent eval.Spent) {
	spent.Attempts -= p.before.Attempts
	spent.Tokens -= p.before.Tokens
	spent.Money -= p.before.Money
	p.progressWatcher.Done(r, spent)
}

// moved warns about models that have changed since the run began.
func (s *Session) moved(before, now []eval.Model) {
	for _, m := range now {
		for _, b := range before {
			if sameModel(&b, &m) && b.Version != m.Version {
				s.Notice(
					fmt.Sprintf(
						"warning: the model %s was of version %s when the run began and is of version %s now", m.ID(), b.Version, m.Version,
					),
				)
			}
		}
	}
}
