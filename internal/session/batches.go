package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// openBatches finds the services that answer in batches, and checks that the run does nothing that batches cannot do.
func (s *Session) openBatches(lines map[string]any) error {
	services := map[string]*flow.BatchService{}
	for _, name := range s.calls {
		if !s.Settings.Batches(name) {
			continue
		}
		batcher, ok := lines[name].(wire.Batcher)
		if !ok {
			return eval.BadInput("%s does not answer in batches: leave out --batch, or set `batch: false` at the service", runner.Served(name))
		}
		services[name] = &flow.BatchService{Batcher: batcher, Peer: runner.Served(name), Caller: s.callerOf(name)}
	}
	if _, live := s.Settings.Source.(eval.FromService); !live {
		return nil // what is scored again is not paid again, and its judges are sent at once
	}
	if err := s.CheckBatches(); err != nil || len(services) == 0 {
		return err
	}
	s.warnBatchPrices(services)
	s.batches = flow.NewBatches(flow.BatchesConfig{
		Services: services, Live: s.Options.Live, Retry: s.retryPolicy(way{peer: theService}),
		Notice: func(text string) { s.Notice(text) },
	})
	return nil
}

// warnBatchPrices says which models have a price, but none in batches.
func (s *Session) warnBatchPrices(services map[string]*flow.BatchService) {
	var names []string
	prices := s.Settings.Prices
	note := func(m *suite.ConfiguredModel) {
		name, _ := m.Service.Identity()
		if services[name] != nil && prices.Knows(m.ID) && !prices.KnowsBatch(m.ID) && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	for _, of := range s.Suites {
		for _, arm := range of.Arms() {
			if m := arm.Target.Model(); m != nil {
				note(m)
			}
		}
		for _, j := range of.Judges {
			note(&j.Model)
		}
	}
	if len(names) > 0 {
		s.Notice(fmt.Sprintf("the price list %s has no `batch` for %s: calls in batches count at the full price",
			s.Settings.pricesFile, strings.Join(names, ", ")))
	}
}

// callerOf identifies the caller to a service; "" when it needs to know none.
func (s *Session) callerOf(name string) string {
	switch one := s.Settings.Services[name]; {
	case one != nil:
		return one.Caller()
	case s.oauth():
		return "project " + s.Settings.Service.Project
	}
	return s.Settings.Key()
}

// CheckBatches refuses what batches cannot do, if calls come by batch, or are meant to.
func (j *Job) CheckBatches() error {
	if !slices.ContainsFunc(j.used(), j.Settings.Batches) && !j.batchesNothing() {
		return nil
	}
	for _, other := range []struct {
		given bool
		what  string
	}{
		{j.Options.Interleave != "", "--interleave: the versions would not be answered at the same time"},
		{j.Options.Race == eval.MetricLatency, "--race=latency: answers of a batch have no latency"},
		{j.Settings.Ledger.URL != "", "--ledger: it grants calls one by one; add --no-ledger"},
		{j.Options.Executor != nil, "a fleet: its workers make each call themselves"},
	} {
		if other.given {
			return eval.BadInput("--batch does not go with %s", other.what)
		}
	}
	for _, of := range j.Suites {
		for _, arm := range of.Arms() {
			j.checkBatchArm(of, arm)
		}
	}
	return j.Bad()
}

// batchesNothing reports whether --batch was given for applications alone. Runs that began so before it was refused continue.
func (j *Job) batchesNothing() bool {
	asks := func(arm suite.Arm) bool { return arm.Target.Model() != nil }
	return j.Options.Batch && !j.copied && !slices.ContainsFunc(j.Suites, func(s *suite.Suite) bool {
		return slices.ContainsFunc(s.Arms(), asks)
	})
}

func (j *Job) checkBatchArm(of *suite.Suite, arm suite.Arm) {
	m := arm.Target.Model()
	if m == nil {
		j.Diags.Errorf(
			diag.Pos{File: of.File}, "run it without --batch (--batch=false, if the project file has it), in a suite of its own",
			"the target `%s` is an application (%s), and only models answer in batches", arm.Target.Name, arm.Target.App(),
		)
		return
	}
	if name, _ := m.Service.Identity(); !j.Settings.Batches(name) {
		return
	}
	if arm.Target.Stream {
		j.Diags.Errorf(
			m.Pos, "remove `stream: true`, or leave out --batch",
			"the target `%s` streams its answers, and batches do not", arm.Target.Name,
		)
	}
	if at, judged := of.JudgesLatency(arm); judged {
		j.Diags.Errorf(
			at, "remove it, or leave out --batch", "the scorer judges how long the service took, and answers of a batch have no latency",
		)
	}
}

// checkBatchGates refuses rules about latencies, which answers of a batch do not have.
func (s *Session) checkBatchGates(run *eval.Run) error {
	if s.batches == nil {
		return nil
	}
	isLatency := func(m eval.MetricMargin) bool { return m.Name == eval.MetricLatency }
	for i := range run.Suites {
		g := run.Suites[i].Gate
		if g == nil {
			continue
		}
		if g.LatencyP95Ms != nil || g.Baseline != nil && slices.ContainsFunc(g.Baseline.Metrics, isLatency) ||
			g.Best != nil && g.Best.Metric == eval.MetricLatency {
			return eval.BadInput("%s: the gate judges latencies, and answers of a batch have none: remove the rule, or leave out --batch",
				run.Suites[i].File)
		}
	}
	return nil
}

// checkRounds refuses trials of several calls in batches where answers are not kept: each process would pay for the first call again.
func (s *Session) checkRounds(p *runner.Plan) error {
	if s.batches == nil || !s.Options.NoContent {
		return nil
	}
	for t := range p.Trials() {
		if t.MaxCalls() > 1 || len(t.Judges()) > 0 || len(t.References()) > 0 {
			return eval.BadInput(
				"--batch does not go with --no-content in %s: its calls go into batches one after another, and nothing keeps the first answer",
				text.Describe(&t.Trial),
			)
		}
	}
	return nil
}

// openBatchesOf has the batches of a run continue in its directory; doc is nil for a new one.
func (s *Session) openBatchesOf(run *eval.Run, dir string, w *journal.Writer, doc *journal.Document) error {
	var open []*journal.OpenBatch
	var past []string
	if doc != nil {
		open, past = doc.OpenBatches(), doc.BatchIDs()
	}
	switch {
	case s.batches == nil && len(open) > 0:
		return eval.BadInput("%s of the run are open, and it does not send batches any more: leave out what says so",
			diag.Count(len(open), "batch"))
	case s.batches == nil:
		return nil
	}
	if s.emulator != nil {
		if err := s.emulator.KeepBatches(filepath.Join(dir, "emulator")); err != nil {
			return eval.Incomplete("the emulator's batches cannot be kept: %w", err)
		}
	}
	s.batches.Open(run, dir, w, open, past)
	return nil
}

// settleBatches finds out what the services have of the batches of a run that is resumed. While that is not known, nothing is sent
// at once that may be in a batch.
func (s *Session) settleBatches(ctx context.Context, doc *journal.Document, dir string, w *journal.Writer) error {
	if err := s.openBatchesOf(&doc.Run, dir, w, doc); err != nil {
		return err
	}
	unclear, err := s.batches.Settle(ctx)
	switch {
	case err != nil:
		return eval.Incomplete("%w", err)
	case unclear > 0 && s.Options.Live:
		return eval.BadInput(
			"--live is refused while it is not known which batches the service has: it could pay for calls twice; resume without it",
		)
	}
	return nil
}

// Continues reports whether the run goes on at once: with --wait until its batches are answered, and always while nothing is to be
// waited for.
func (s *Session) Continues() bool { return s.continues }

// collect gets the replies of batches before a run continues. It returns false when the run cannot go on.
func (c *consumer) collect(ctx context.Context) bool {
	s := c.session
	if s.batches == nil {
		return true
	}
	var wait time.Duration
	if s.Options.Wait {
		wait = s.Settings.Limits.BatchWait
	}
	open, err := s.batches.Collect(ctx, wait)
	c.moved = s.batches.Replied()
	c.late = wait > 0 && open > 0
	switch e := eval.AsError(err); {
	case err == nil:
	case e != nil && e.Kind == eval.KindAuth:
		c.halt(eval.EndStopped, s.reasonOf(e.Service, e))
	default:
		c.halt(eval.EndStopped, err.Error())
	}
	return s.stop.Reason() == ""
}

// waits reports whether a result is not to be written yet: that of a trial which waits for a batch, and of one that the verdict so far
// makes needless. The latter would be written again by each process until the last batch is collected.
func (c *consumer) waits(r *eval.Result, halt runner.Halt) bool {
	if _, waits := halt.(runner.Waits); waits {
		c.waiting++
		if c.again != nil && c.again(&r.Trial) {
			c.kept(c.journal.WriteAgain(r.ID))
		}
		return true
	}
	needless := c.part != nil && r.Outcome() == eval.Skip && !isSkipped(r)
	if needless {
		c.needless = append(c.needless, *r)
	}
	return needless
}

// writeNeedless writes the results of needless trials, unless the run goes on in another process.
func (c *consumer) writeNeedless(progress progressWatcher) {
	for i := range c.needless {
		if c.waiting > 0 || c.broken != nil {
			return
		}
		if c.broken = c.append(&c.needless[i]); c.broken == nil {
			c.done(&c.needless[i], progress)
		}
	}
}

// submit sends the calls that the run has put into batches, and says how the run ends if it waits for any.
func (c *consumer) submit(ctx context.Context) {
	b := c.session.batches
	if b == nil {
		return
	}
	whole := c.end.Reason == eval.EndCompleted && c.session.stop.Reason() == ""
	waits := whole || c.end.Reason == eval.EndBudget
	if waits {
		if err := b.Submit(ctx); err != nil {
			whole, waits = false, false
			c.end.Reason, c.end.Message = eval.EndStopped, "a batch was refused: "+err.Error()
		}
	}
	left, err := b.Finish(whole)
	if err != nil {
		c.broken = err
	}
	switch {
	case waits && left.Calls > 0:
		c.end.Reason = eval.EndWaiting
		c.end.Message = fmt.Sprintf(
			"%s in %s, due by %s UTC", diag.Count(left.Calls, "call"), diag.Count(left.Batches, "batch"),
			text.When(left.Due.Format(time.RFC3339Nano)),
		)
		c.session.continues = c.session.Options.Wait && !c.late
	case whole:
		c.endWithout(c.unanswered + left.Unanswered)
	}
}

// endWithout ends a run with no open batch. Some calls in batches may have failed for a reason that may pass.
func (c *consumer) endWithout(failed int) {
	switch {
	case c.waiting > 0 && c.moved:
		c.end.Reason, c.end.Message = eval.EndWaiting, "further calls can be submitted now"
		c.session.continues = true
	case c.waiting > 0:
		c.end.Reason, c.end.Message = eval.EndStopped, "no further call can be submitted"
	case failed > 0:
		c.end.Reason = eval.EndStopped
		c.end.Message = fmt.Sprintf("%s in batches got no answer; a resume sends %s again", diag.Count(failed, "call"), themOrIt(failed))
	}
}

func themOrIt(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// shares of the plan in the batches of a run that may stop early: each is as large as those before it together.
var batchShares = []float64{1. / 8, 1. / 4, 1. / 2, 1}

// partOf is the trials that a run that may stop early puts into batches now: until they have their answers, it is not known whether
// the others are needed. It is nil for other runs.
func (c *consumer) partOf(settled func(*runner.Planned) bool) map[string]bool {
	if c.early == nil || c.session.batches == nil {
		return nil
	}
	order := slices.Collect(c.early.Schedule(c.plan))
	part := map[string]bool{}
	from := 0
	for _, share := range batchShares {
		until := int(share * float64(len(order)))
		for _, t := range order[from:until] {
			part[t.ID] = true
		}
		if slices.ContainsFunc(order[from:until], func(t *runner.Planned) bool { return !settled(t) && c.early.Skip(t) == nil }) {
			break
		}
		from = until
	}
	return part
}
