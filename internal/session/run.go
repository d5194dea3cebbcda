package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/app"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// drainTime is how long calls in progress may take after the first signal.
const drainTime = 30 * time.Second

type progressWatcher interface {
	// Start reports how many trials there are.
	Start(trials int)
	// Done reports one finished trial and the total spend.
	Done(r *eval.Result, spent eval.Spent)
	// Finish is called when no more results come.
	Finish()
}

// Run carries out the plan into a new run directory. The first signal stops and drains, the second abandons.
func (s *Session) Run(ctx context.Context, plan *runner.Plan, progress progressWatcher, signals <-chan os.Signal) (dir string, err error) {
	gates, origins, err := s.checks(plan).Gates(s.Suites)
	if err != nil {
		return "", err
	}
	if s.extends != nil {
		if err := s.extends.CheckGates(gates, s.Options.NoBaseline()); err != nil {
			return "", err
		}
	}
	removeCheckouts, err := s.CheckOut()
	if err != nil {
		return "", err
	}
	defer removeCheckouts()
	run := s.header(plan, gates, origins)
	if err := s.checkBatchGates(run); err != nil {
		return "", err
	}
	s.Options.In().NumberLooks(run, s.Options.Env)
	early, err := gate.NewSequential(run, plan, s.extends.has())
	if err != nil {
		return "", err
	}
	if dir, err = s.Options.In().Make(s.Options.Out, run.ID); err != nil {
		return "", err
	}
	if err := s.checkPlace(dir); err != nil {
		return "", err
	}
	w, err := s.create(run, plan, dir)
	if err != nil {
		return "", err
	}
	c := &consumer{session: s, journal: w, plan: plan, end: eval.End{Reason: eval.EndCompleted}, early: early}
	c.part = c.partOf(func(*runner.Planned) bool { return false })
	from, _ := s.Settings.Rescored()
	c.earlier = runner.EarlierRuns{RepeatUseless: from.AskJudges, Reader: s.reader()}
	c.earlier.Trial = func(t *runner.Planned) runner.EarlierTrial {
		known, _ := s.known(t)
		return known
	}
	s.retries.enter(running)
	progress.Start(plan.Size())
	defer s.noteEchoes()
	return dir, c.carryOut(ctx, progress, signals)
}

func (s *Session) create(run *eval.Run, plan *runner.Plan, dir string) (*journal.Writer, error) {
	copies := s.Copies()
	run.Copies = journal.CopiesOf(copies)
	if err := s.sign(run, dir); err != nil {
		return nil, eval.BadInput("the run directory cannot be made: %w", err)
	}
	w, err := journal.Create(dir, run, copies)
	if err != nil {
		return nil, eval.BadInput("the run directory cannot be made: %w", err)
	}
	if run.Options().Narrows() {
		if err := w.WriteNotRun(plan.NotRun()); err != nil {
			return nil, errors.Join(eval.BadInput("the run directory cannot be made: %w", err), w.Close())
		}
	}
	if s.workspaces.Run, err = filepath.Abs(dir); err != nil {
		return nil, errors.Join(eval.BadInput("the run directory cannot be used: %w", err), w.Close())
	}
	if !s.Options.NoHistory {
		s.Options.In().ExpectRun(run, dir)
	}
	if err := s.openBatchesOf(run, dir, w, nil); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// sign signs the header of a run that is about to be made in dir, unless answers or suites come from a run that is not trusted.
func (s *Session) sign(run *eval.Run, dir string) error {
	run.Signature = ""
	if s.rescores != nil && !s.rescores.trusted {
		return nil
	}
	err := s.Settings.Sign(run, dir)
	if err == nil && run.Signature == "" {
		s.Notice("warning: the run is not signed, since no key can be written to your configuration folder: EVALRUN_TRUST_KEY can hold one")
	}
	return err
}

func (s *Session) checks(plan *runner.Plan) *gate.Checks {
	c := &gate.Checks{Options: s.Options.WithDefaults(), Dir: s.Options.In(), Plan: plan, Notice: s.Notice, Origins: s.origins}
	if s.rescores != nil {
		c.Answers = s.rescores.doc.Run.AnswersOf()
	}
	return c
}

// carryOut runs the trials that are left and finishes the run file.
func (c *consumer) carryOut(ctx context.Context, progress progressWatcher, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caught := eval.Catch(ctx, signals, func() { c.session.stopping(ctx, signals, cancel) })
	if limit := c.session.Settings.Limits.BudgetTime; limit > 0 {
		timer := time.AfterFunc(limit, func() { c.halt(eval.EndBudget, fmt.Sprintf("the budget of %s is spent", limit)) })
		defer timer.Stop()
	}
	c.journal.Watch(func(err error) { // answers in progress could not be kept either
		c.kept(err)
		cancel()
	})
	if c.collect(ctx) {
		c.consume(ctx, progress)
		c.submit(ctx)
	}
	c.session.workspaces.Close()
	progress.Finish()
	if reasons := c.session.closed.all(); reasons != "" {
		c.halt(eval.EndStopped, reasons)
	}
	if err := c.plan.Err(); err != nil && c.broken == nil {
		c.broken = fmt.Errorf("a data file cannot be read any more, and its rows are missing: %w", err)
	}
	cancel()
	if c.end.Signal = caught(); c.end.Signal != "" {
		c.end.Reason, c.end.Message = eval.EndInterrupted, ""
	}
	return c.finish()
}

// stopping handles the first signal: no more calls. A second signal, or drainTime, abandons calls in progress.
func (s *Session) stopping(ctx context.Context, signals <-chan os.Signal, cancel context.CancelFunc) {
	s.stop.Now("interrupted")
	s.Notice("stopping: no new calls, and up to " + drainTime.String() + " for calls in progress; once more to abandon them")
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-signals:
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	cancel()
}

// consumer takes the results of a run. Its loop is the one place that appends to the journal, moves the progress and
// decides to stop.
type consumer struct {
	session    *Session
	journal    *journal.Writer
	plan       *runner.Plan
	targets    []eval.RunTarget           // targets of the plan
	earlier    runner.EarlierRuns         // what the run that is resumed or rescored left
	early      *gate.Sequential           // stops arms whose verdict is known; nil when no gate does
	part       map[string]bool            // the trials that may be put into batches now; nil: all
	last       func(*runner.Planned) bool // trials that are sent after all others; nil: none
	unsent     []eval.Result              // results that deferUnsent keeps for the end of a race
	end        eval.End
	halting    sync.Mutex // held while the run is being stopped
	failures   int
	lenient    map[closing]int                // how many 404s of a model are taken for those of a request
	tried      func(*eval.Trial) *eval.Result // the error that a trial had before, else nil
	again      func(*eval.Trial) bool         // whether a trial has an error and is sent again, which is not written down yet
	needless   []eval.Result                  // of trials that no batch needs, as far as is known before the last batch
	waiting    int                            // trials that have no result since a reply comes with a batch
	unanswered int                            // calls of collected batches that have no answer, for a reason that may pass
	moved      bool                           // there are replies of batches, or results
	late       bool                           // batches that were waited for are not over
	cut        bool                           // a trial was skipped, or ended in an error, because of a budget or a stop
	broken     error
}

func (c *consumer) consume(ctx context.Context, progress progressWatcher) {
	s := c.session
	c.targets, c.lenient = c.plan.Targets(), map[closing]int{}
	config := c.config()
	s.limiter.Book(c.journal.Booked)
	s.recorder.know(c.plan.Models)
	for r, halt := range runner.Run(ctx, c.plan, config) {
		if c.waits(&r, halt) {
			continue
		}
		if s.Options.NoContent {
			r.Withhold()
		}
		if c.deferUnsent(&r) {
			if c.broken != nil {
				return
			}
			continue
		}
		counted, err := c.write(&r)
		if err != nil {
			c.broken = err // without a journal, further answers would be paid and lost
			return
		}
		if c.early != nil {
			if c.broken = c.early.Observe(&r, c.journal); c.broken != nil {
				return
			}
		}
		c.moved = c.moved || r.Outcome() != eval.Skip
		s.recorder.keep(&r)
		c.done(counted, progress)
		c.decide(&r, halt)
	}
	c.writeNeedless(progress)
	for i := range c.unsent {
		c.writeDeferred(&c.unsent[i], progress)
	}
}

func (c *consumer) config() runner.Config {
	s := c.session
	limits := &s.Settings.Limits
	config := runner.Config{
		Services: runner.Services{
			Generator: s.service, Counter: s.service, Embedder: s.service,
			Concurrency: limits.Concurrency, ByName: s.shares(),
		},
		Counting:    runner.CountingUnder(limits),
		Stop:        s.stop,
		Admission:   &admission{s, c.early, c.part},
		EarlierRuns: c.earlier,
		Keeper:      c,
		ScorerData:  runner.ScorerData{Prices: s.Settings.Prices, PeopleLabels: s.Settings.PeopleLabels},
		Environment: runner.Environment{Keys: s.KeyVariables(), NameSalt: s.id, Workspaces: s.workspaces},
	}
	if c.early != nil {
		config.Schedule = c.early.Schedule(c.plan)
	} else if c.last != nil {
		config.Schedule = inTwo(c.plan.Trials(), c.last)
	}
	return config
}

// admission lets trials run while what they call can be reached, their arm has no verdict, and the executor has room.
type admission struct {
	session *Session
	early   *gate.Sequential // nil when no gate stops early
	part    map[string]bool  // the trials that may be put into batches now; nil: all
}

func (a *admission) Hold(t *runner.Planned, stop, done <-chan struct{}) {
	if a.early != nil && a.part == nil { // the trials that others wait for may be in batches
		a.early.Hold(t, a.session.Settings.Limits.Concurrency, stop, done)
	}
}

func (a *admission) Skip(t *runner.Planned) eval.Ending {
	if reason := a.session.unreachable(t); reason != "" {
		return eval.Skipped{Reason: reason}
	}
	if a.early != nil && !a.session.batches.Has(t.ID, t.Request.Service, t.Request.Model) { // what is paid is judged
		return a.early.Skip(t)
	}
	return nil
}

func (a *admission) Waits(t *runner.Planned) bool {
	b := a.session.batches
	if b.Waits(t.ID, t.Request.Service, t.Request.Model) {
		return true
	}
	return a.part != nil && !a.part[t.ID] && a.early.Skip(t) == nil
}

func (a *admission) Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func()) {
	return a.session.executor.Enter(ctx, stop)
}

// done counts a result that was written down.
func (c *consumer) done(r *eval.Result, progress progressWatcher) {
	c.end.Counts.Add(r.Outcome())
	c.cut = c.cut || isSkipped(r) || r.Outcome() == eval.Err && c.session.stop.Reason() != ""
	progress.Done(r, c.session.limiter.Spent())
}

// isSkipped reports whether a trial was not sent although its verdict is needed.
func isSkipped(r *eval.Result) bool { _, skipped := r.Ending.(eval.Skipped); return skipped }

// write writes a result down. An earlier error of a trial that is not sent again stays in its place, with all that was paid for it.
func (c *consumer) write(r *eval.Result) (counted *eval.Result, err error) {
	if c.tried != nil && isSkipped(r) {
		if earlier := c.tried(&r.Trial); earlier != nil {
			c.cut = true
			return earlier, nil
		}
	}
	return r, c.append(r)
}

// append writes a result down. Then it removes the folder that the trial's program worked in, unless it is kept.
func (c *consumer) append(r *eval.Result) error {
	if c.session.Options.NoContent { // nor is it looked for
		r.Changes = ""
	} else if found := c.session.workspaces.Changes(c.session.id, r); found != "" { // what is scored again has them
		r.Changes = found
	}
	kept, release := c.session.workspaces.Settle(c.session.id, r)
	r.Workspace = kept
	err := c.journal.Append(r)
	if err == nil {
		release()
	}
	return err
}

// inTwo yields the trials of a schedule with some of them after all others.
func inTwo(trials iter.Seq[*runner.Planned], last func(*runner.Planned) bool) iter.Seq[*runner.Planned] {
	return func(yield func(*runner.Planned) bool) {
		held := false
		for t := range trials {
			if last(t) {
				held = true
			} else if !yield(t) {
				return
			}
		}
		if !held {
			return
		}
		for t := range trials {
			if last(t) && !yield(t) {
				return
			}
		}
	}
}

// Writing marks a call as under way until its answer is written down.
func (c *consumer) Writing(ctx context.Context) (calling context.Context, written func()) {
	return flow.Writing(ctx)
}

// KeepAnswer writes down an answer that waits to be scored.
func (c *consumer) KeepAnswer(r *eval.Result) { c.kept(c.journal.KeptAnswer(c.showable(r))) }

// KeepCall writes down a call of an unfinished trial.
func (c *consumer) KeepCall(r *eval.Result) { c.kept(c.journal.KeptCall(c.showable(r))) }

// showable is what the run file may have of a result that is not settled yet: without prompts and answers by --no-content.
func (c *consumer) showable(r *eval.Result) *eval.Result {
	if !c.session.Options.NoContent {
		return r
	}
	out := *r // the trial continues with the content
	out.Withhold()
	return &out
}

// KeepJudgement writes down what a judge replied about an answer that waits for others.
func (c *consumer) KeepJudgement(trialID string, j *eval.Judgement) {
	if c.session.Options.NoContent {
		j.Withhold()
	}
	c.kept(c.journal.KeptJudgement(trialID, j))
}

// kept stops the run when something could not be written down: a crash would lose it, so no new call is made.
func (c *consumer) kept(err error) {
	if err != nil {
		c.halt(eval.EndStopped, err.Error())
	}
}

// decide stops the run when further calls are pointless.
func (c *consumer) decide(r *eval.Result, halt runner.Halt) {
	switch halt := halt.(type) {
	case runner.SpentBudget:
		c.cut = true
		c.halt(eval.EndBudget, halt.Message)
	case runner.JudgeTrouble:
		c.decideOnError(nil, halt.Error)
	case runner.Waits: // consume leaves it out
	case nil:
		c.decideOnOutcome(r)
	}
}

// decideOnOutcome counts failures up to their limit, and looks at the error of the trial itself.
func (c *consumer) decideOnOutcome(r *eval.Result) {
	switch r.Outcome() {
	case eval.Fail:
		if c.failures++; c.session.Options.MaxFailures > 0 && c.failures >= c.session.Options.MaxFailures {
			c.halt(eval.EndMaxFailures, tooMany(c.session.Options.MaxFailures))
		}
	case eval.Err:
		c.decideOnError(c.applicationOf(r), r.Err())
		return
	}
	if t := c.targetOf(r); t != nil && c.answeredNow(r) {
		c.lenient[closing{t.Service, t.Model}] = 3 // in a row: a router may lack a provider for what one request needs
	}
}

func tooMany(limit int) string {
	if limit == 1 {
		return "1 trial failed (--fail-fast)"
	}
	return fmt.Sprintf("%d trials failed (--max-failures)", limit)
}

// applicationOf is the application that a trial calls, nil when that is a service.
func (c *consumer) applicationOf(r *eval.Result) *eval.RunTarget {
	if t := c.targetOf(r); t != nil && t.App != "" {
		return t
	}
	return nil
}

func (c *consumer) targetOf(r *eval.Result) *eval.RunTarget {
	i := slices.IndexFunc(c.targets, func(t eval.RunTarget) bool { return t.Suite == r.Suite && t.Name == r.Target })
	if i < 0 {
		return nil
	}
	return &c.targets[i]
}

// answeredNow reports whether the answer of a trial was asked for by this process.
func (c *consumer) answeredNow(r *eval.Result) bool {
	earlier := c.session.extends.has()
	return r.Response != nil && r.Timing != nil && r.Timing.Attempts > 0 && (earlier == nil || !earlier(&r.Trial))
}

// forgives reports whether an error is taken for one of a request, since its model has answered.
func (c *consumer) forgives(e *eval.Error) bool {
	model := closing{e.Service, e.Model}
	if !lacksModel(e) || c.lenient[model] == 0 {
		return false
	}
	c.lenient[model]--
	return true
}

// decideOnError stops the run, or closes a service, after an error that would repeat with every further call. to is the
// application that was called, nil for a service.
func (c *consumer) decideOnError(to *eval.RunTarget, e *eval.Error) {
	switch spent := e.Kind == eval.KindQuota && e.Retry == eval.RetryNever; {
	case c.forgives(e), c.session.closes(to, e):
	case e.Kind == eval.KindAuth && to == nil:
		c.halt(eval.EndStopped, c.session.reasonOf(e.Service, e))
	case e.Kind == eval.KindAuth:
		c.halt(eval.EndStopped, refusalOf(to.Name, e))
	case to == nil && lacksModel(e):
		c.halt(eval.EndStopped, c.session.reasonOf(e.Service, e)+ofModel(e))
	case spent:
		of := ""
		if to != nil {
			of = fmt.Sprintf(" of the target `%s`", to.Name)
		}
		c.halt(eval.EndStopped, fmt.Sprintf("the quota%s is used up for longer than waiting makes sense: %s", of, e))
	case e.Kind == eval.KindTransport && e.Origin == eval.FromBreaker &&
		(to == nil || len(c.targets) == 1): // trials of other targets can continue
		c.halt(eval.EndStopped, e.Error())
	}
}

// refusalOf explains an error by which a target refuses its requests, or that its token cannot be had.
func refusalOf(target string, e *eval.Error) string {
	if e.Origin == eval.FromLogin {
		return e.Error()
	}
	key := "headers"
	for at, name := range map[string]string{app.AtLogin: "login", app.AtAuth: "auth"} {
		if strings.HasPrefix(e.Message, at) {
			key = name
		}
	}
	return fmt.Sprintf("the target `%s` refuses its requests: %s; look at its `%s`", target, e, key)
}

// halt stops the run for a reason; only the first reason counts.
func (c *consumer) halt(reason eval.EndReason, message string) {
	c.halting.Lock()
	defer c.halting.Unlock()
	if c.session.stop.Reason() == "" {
		c.end.Reason, c.end.Message = reason, message
		c.session.stop.Now(message)
	}
}

func (c *consumer) finish() error {
	if c.broken != nil {
		_ = c.journal.Close() // it is broken already
		return eval.Incomplete("the run stopped: %w", c.broken)
	}
	c.halting.Lock() // the time may be up just now
	defer c.halting.Unlock()
	if reached := c.end.Reason == eval.EndBudget || c.end.Reason == eval.EndMaxFailures; reached && !c.cut {
		c.end.Reason, c.end.Message = eval.EndCompleted, "" // every trial was judged all the same
	}
	c.end.FinishedAt = time.Now().UTC().Format(time.RFC3339Nano)
	spent := c.session.limiter.Spent()
	c.end.Spent = &spent
	if reason := c.session.shared.reason(); reason != "" && c.end.Message == "" {
		c.end.Reason, c.end.Message = eval.EndStopped, reason
	}
	if err := c.journal.Finish(&c.end); err != nil {
		return eval.Incomplete("the run file cannot be finished: %w", err)
	}
	return nil
}
