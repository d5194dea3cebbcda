package harness

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// sequential watches the suites whose gates stop early. It feeds units to each arm's test in the order of the schedule, whatever
// the order in which answers come: only what is complete from the beginning on counts, or slow answers would come last and look
// like the future.
type sequential struct {
	seed   uint64
	mu     sync.Mutex // of decided, which the runner asks about
	suites map[string]*watchedSuite
}

type watchedSuite struct {
	rule *eval.BaselineRule
	min  *float64                 // of the pass rate, when the gate has that rule too
	base map[string]*compare.Side // of the baseline, by arm; nil when the baseline is an arm of the run
	arms map[string]*watchedArm
}

// watchedArm is an arm that is compared.
type watchedArm struct {
	suite, arm string
	base       *compare.Side
	units      []*unit // in the order of the schedule
	by         map[string]*unit
	next       int // the first that was not fed
	test       *compare.Sequential
	decided    bool

	cases, lost float64 // that count for the pass rate; those among them, or parts of them, that have failed
}

// unit is a case, or a cluster of cases, on its way to be complete.
type unit struct {
	rank    uint64
	pending int // trials that have no result yet, those of the baseline's arm too
	cases   map[string]*unitCase
	trials  []string // ids of the head's
}

// unitCase adds up what a case says of each metric, base and head, and how many of its repeats passed.
type unitCase struct {
	base, head []compare.Sum
	passed     compare.Sum
	isolated   bool // in quarantine
}

// newSequential is nil when no gate of the run stops early.
func newSequential(run *eval.Run, plan *runner.Plan) (*sequential, error) {
	var flags Flags
	_ = json.Unmarshal(run.Flags, &flags) // they were read before
	q := &sequential{seed: run.RandomSeed, suites: map[string]*watchedSuite{}}
	for i := range run.Suites {
		g := run.Suites[i].Gate
		if g == nil || g.Baseline == nil || !g.Baseline.StopEarly || flags.NoBaseline || plan.Shard() != nil {
			continue
		}
		w := &watchedSuite{rule: g.Baseline, min: g.PassRateMin, arms: map[string]*watchedArm{}}
		if w.rule.Arm == "" {
			sides, err := baseSides(w.rule.Path, run.Suites[i].Name)
			if err != nil {
				return nil, err
			}
			w.base = sides
		}
		q.suites[run.Suites[i].Name] = w
	}
	if len(q.suites) == 0 {
		return nil, nil
	}
	for t := range plan.Trials() {
		q.expect(t)
	}
	for _, w := range q.suites {
		w.begin()
	}
	return q, nil
}

// baseSides reads the arms of a suite in a baseline.
func baseSides(path, suite string) (map[string]*compare.Side, error) {
	d, err := journal.Open(path)
	if err != nil {
		return nil, Exitf(ExitIncomplete, "the baseline cannot be read: %w", err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	sides, err := sidesOf(d)
	if err != nil {
		return nil, Exitf(ExitIncomplete, "the baseline cannot be read: %w", err)
	}
	out := map[string]*compare.Side{}
	for _, s := range sides {
		if s.Suite == suite {
			out[s.Arm] = s
		}
	}
	return out, nil
}

// unitKey is what a trial belongs to: its cluster, or its case.
func unitKey(t *eval.Trial) string {
	if t.Cluster != "" {
		return "cluster\x00" + t.Cluster
	}
	return "case\x00" + t.CaseID + "\x00" + t.Case
}

// rank is the place of a unit in the schedule: random, the same for every arm, fixed by the seed.
func (q *sequential) rank(t *eval.Trial) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, q.seed) // a hash takes whatever comes
	_, _ = h.Write([]byte(t.Suite + "\x00" + unitKey(t)))
	x := h.Sum64() // the bits of FNV are not mixed well enough to sort by
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// expect takes up a trial of the plan.
func (q *sequential) expect(t *runner.Planned) {
	w, ok := q.suites[t.Suite]
	if !ok || t.Arm == w.rule.Arm {
		return
	}
	a, ok := w.arms[t.Arm]
	if !ok {
		a = &watchedArm{suite: t.Suite, arm: t.Arm, by: map[string]*unit{}}
		w.arms[t.Arm] = a
	}
	key := unitKey(&t.Trial)
	u, ok := a.by[key]
	if !ok {
		u = &unit{rank: q.rank(&t.Trial), cases: map[string]*unitCase{}}
		a.by[key] = u
		a.units = append(a.units, u)
	}
	u.pending++
	if w.rule.Arm != "" { // the baseline's arm asks the same cases as often
		u.pending++
	}
	known := len(u.cases)
	c := u.of(w, &t.Trial)
	if c.isolated = t.Quarantine.Holds(time.Now().UTC().Format(time.RFC3339)); !c.isolated && len(u.cases) > known {
		a.cases++
	}
	if base := w.baseOf(t.Arm); base != nil && t.Repeat == 1 {
		if b := base.Find(t.CaseID, t.Case, t.ScorersHash); b != nil && !c.isolated {
			for i, m := range w.rule.Metrics {
				c.base[i] = b.Of(base, m.Name)
			}
		}
	}
}

func (u *unit) of(w *watchedSuite, t *eval.Trial) *unitCase {
	key := t.CaseID + "\x00" + t.Case
	c, ok := u.cases[key]
	if !ok {
		n := len(w.rule.Metrics)
		c = &unitCase{base: make([]compare.Sum, n), head: make([]compare.Sum, n)}
		u.cases[key] = c
	}
	return c
}

// baseOf is the arm of the baseline that an arm is compared with.
func (w *watchedSuite) baseOf(arm string) *compare.Side {
	if s, ok := w.base[arm]; ok {
		return s
	}
	if len(w.base) == 1 && len(w.arms) == 1 {
		for s := range maps.Values(w.base) {
			return s
		}
	}
	return nil
}

// begin fixes the schedule.
func (w *watchedSuite) begin() {
	for _, a := range w.arms {
		slices.SortStableFunc(a.units, func(x, y *unit) int { return cmp.Compare(x.rank, y.rank) })
		a.test = compare.NewSequential(w.rule.Metrics, w.rule.Alpha, len(w.arms)*len(w.rule.Metrics))
	}
}

// schedule is the plan with the units of the watched suites in the order of their ranks; the arms of a case stay together, so that
// drift of the service meets all of them.
func (q *sequential) schedule(plan *runner.Plan) iter.Seq[*runner.Planned] {
	var all []*runner.Planned
	for t := range plan.Trials() {
		all = append(all, t)
	}
	suite := map[string]int{}
	for i, s := range plan.Suites {
		suite[s.Name] = i
	}
	slices.SortStableFunc(all, func(a, b *runner.Planned) int {
		if a.Suite != b.Suite || q.suites[a.Suite] == nil {
			return cmp.Compare(suite[a.Suite], suite[b.Suite])
		}
		return cmp.Compare(q.rank(&a.Trial), q.rank(&b.Trial))
	})
	return slices.Values(all)
}

// skip says that a trial need not be asked any more: the verdict on its arm is known, or, of the baseline's arm, on all others.
func (q *sequential) skip(t *runner.Planned) string {
	w, ok := q.suites[t.Suite]
	if !ok {
		return ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for arm, a := range w.arms {
		if (arm == t.Arm || t.Arm == w.rule.Arm) && !a.decided {
			return ""
		}
	}
	return eval.SkipEarly
}

// replay takes up what a run has so far that goes on now. A stop that was recorded is final.
func (q *sequential) replay(d *journal.Document, settled func(journal.Known) bool, w *journal.Writer) error {
	for _, stop := range d.Stops {
		if s, ok := q.suites[stop.Suite]; ok && s.arms[stop.Arm] != nil {
			s.arms[stop.Arm].decided = true
		}
	}
	for f, err := range d.Facts() {
		if err != nil {
			return err
		}
		if !settled(journal.Known{Outcome: f.Outcome}) {
			continue
		}
		if err := q.observe(ofFacts(f), w); err != nil {
			return err
		}
	}
	return nil
}

// seen is what a result says to the tests.
type seen struct {
	trial   *eval.Trial
	outcome eval.Outcome
	blocked bool
	scores  func(metric string) (float64, bool)
}

// observe takes up a result, in whatever order they come, and writes down the verdicts that are known now.
func (q *sequential) observe(r seen, journal *journal.Writer) error {
	w, ok := q.suites[r.trial.Suite]
	if !ok || r.outcome == eval.Skip {
		return nil
	}
	for _, arm := range slices.Sorted(maps.Keys(w.arms)) {
		a := w.arms[arm]
		if a.decided || r.trial.Arm != arm && r.trial.Arm != w.rule.Arm {
			continue
		}
		u, ok := a.by[unitKey(r.trial)]
		if !ok {
			continue
		}
		c := u.of(w, r.trial)
		side := c.head
		if r.trial.Arm == w.rule.Arm {
			side = c.base
		} else {
			if r.outcome != eval.Err {
				passed, _ := r.value(eval.MetricPass)
				c.passed.Add(passed)
			}
			u.trials = append(u.trials, strings.Clone(r.trial.ID)) // of recorded ones it is part of a line
		}
		if u.pending--; r.outcome != eval.Err {
			for i, m := range w.rule.Metrics {
				if v, ok := r.value(m.Name); ok {
					side[i].Add(v)
				}
			}
		}
		stop := a.advance(w)
		if stop == nil {
			continue
		}
		if err := journal.Stopped(stop); err != nil {
			return err
		}
		q.mu.Lock()
		a.decided = true
		q.mu.Unlock()
	}
	return nil
}

func (r *seen) value(metric string) (float64, bool) {
	yes := func(b bool) (float64, bool) {
		if b {
			return 1, true
		}
		return 0, true
	}
	switch metric {
	case eval.MetricPass:
		return yes(r.outcome == eval.Pass)
	case eval.MetricBlocked:
		return yes(r.blocked)
	}
	return r.scores(metric)
}

// advance feeds what is complete from the beginning of the schedule on.
func (a *watchedArm) advance(w *watchedSuite) *eval.Stop {
	for a.next < len(a.units) && a.units[a.next].pending == 0 {
		u := a.units[a.next]
		stop := a.test.Feed(u.differences(len(w.rule.Metrics)))
		a.next++
		if stop == nil {
			stop = a.curtail(u, w.min)
		}
		if stop == nil {
			continue
		}
		stop.Suite, stop.Arm, stop.Of = a.suite, a.arm, len(a.units)
		for _, later := range a.units[a.next:] {
			stop.Extra = append(stop.Extra, later.trials...)
		}
		return stop
	}
	return nil
}

// curtail says that the pass rate cannot reach what the gate wants any more, whatever the rest says: that costs no error rate.
func (a *watchedArm) curtail(u *unit, least *float64) *eval.Stop {
	if least == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(u.cases)) { // sums of floats depend on their order
		if rate, ok := u.cases[key].passed.Mean(); ok && !u.cases[key].isolated {
			a.lost += 1 - rate
		}
	}
	if a.lost <= a.cases*(1-*least)+slack {
		return nil
	}
	return &eval.Stop{Verdict: eval.Inconclusive, Metric: "passRate", Units: a.next, LogE: map[string]float64{}}
}

// differences are the unit's means, head minus base, by metric; NaN where a side says nothing.
func (u *unit) differences(metrics int) []float64 {
	d := make([]float64, metrics)
	for i := range d {
		var sum compare.Sum
		for _, key := range slices.Sorted(maps.Keys(u.cases)) { // sums of floats depend on their order
			c := u.cases[key]
			b, okBase := c.base[i].Mean()
			h, okHead := c.head[i].Mean()
			if okBase && okHead {
				sum.Add(h - b)
			}
		}
		if mean, ok := sum.Mean(); ok {
			d[i] = mean
		} else {
			d[i] = math.NaN()
		}
	}
	return d
}

// ofResult is what a result says.
func ofResult(r *eval.Result) seen {
	return seen{trial: &r.Trial, outcome: r.Outcome, blocked: r.Response != nil && r.Response.Blocked() != "", scores: func(metric string) (float64, bool) {
		for _, s := range r.Scores {
			if s.Name == metric && s.Value != nil {
				return *s.Value, true
			}
		}
		return 0, false
	}}
}

// ofFacts is what a recorded trial says.
func ofFacts(f *journal.Facts) seen {
	t := &eval.Trial{ID: f.ID, CaseID: f.CaseID, Suite: f.Suite, Case: f.Case, Arm: f.Arm, Cluster: f.Cluster}
	return seen{trial: t, outcome: f.Outcome, blocked: f.Blocked != "", scores: func(metric string) (float64, bool) {
		for _, s := range f.Scores {
			if s.Name == metric {
				return s.Value, true
			}
		}
		return 0, false
	}}
}
