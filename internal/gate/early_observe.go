package gate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Observe feeds a result, in any order, and records the verdicts that are known now.
func (q *Early) Observe(r *eval.Result, journal *journal.Writer) error {
	if w := q.suites[r.Suite]; w != nil && r.Outcome() == eval.Skip {
		q.stall(w, r.Arm)
	}
	return q.observe(q.ofResult(r), journal)
}

// seen is the part of a result that the tests need.
type seen struct {
	trial    *eval.Trial
	outcome  eval.Outcome
	isolated bool // in quarantine
	blocked  bool
	scores   func(metric string) (float64, bool)
}

func (q *Early) observe(r seen, journal *journal.Writer) error {
	w, ok := q.suites[r.trial.Suite]
	if !ok || r.outcome == eval.Skip || r.isolated {
		return nil
	}
	for _, a := range w.order {
		arm := a.arm
		u := q.unitOf(w, a, r.trial)
		if u == nil {
			continue
		}
		u.take(w, r, r.trial.Arm == arm)
		if w.race != nil {
			return q.run(w, journal)
		}
		if a.decided {
			continue
		}
		next := a.next
		if stop := a.advance(w, &q.mu); stop != nil {
			if err := q.decide(w, a, stop, journal); err != nil {
				return err
			}
		}
		if a.next > next { // workers that held back, or wait for an arm that is decided now, may continue
			q.wake()
		}
	}
	return nil
}

// take adds a result to its case.
func (u *unit) take(w *watchedSuite, r seen, head bool) {
	c := u.of(w, r.trial)
	u.pending--
	side, ids := c.base, &u.base
	if head {
		side, ids = c.head, &u.trials
	}
	*ids = append(*ids, strings.Clone(r.trial.ID)) // a recorded id is a part of a longer line
	if head {
		c.results++
	}
	if r.outcome == eval.Err {
		return
	}
	if passed, _ := r.value(eval.MetricPass); head {
		c.passed.Add(passed)
	}
	for i, m := range w.rule.Metrics {
		if v, ok := r.value(m.Name); ok {
			side[i].Add(v)
		}
	}
}

// decide records that the verdict on an arm is known.
func (q *Early) decide(w *watchedSuite, a *watchedArm, stop *eval.KnownVerdict, journal *journal.Writer) error {
	if err := journal.WriteStop(stop); err != nil {
		return err
	}
	q.mu.Lock()
	a.decided = true
	q.mu.Unlock()
	return w.closeBase(a, journal)
}

// closeBase records which trials of the baseline's arm were used, once the verdicts on all other arms are
// known.
func (w *watchedSuite) closeBase(a *watchedArm, journal *journal.Writer) error {
	base := w.baseOf(a.arm)
	if base == "" || w.closed[base] {
		return nil
	}
	used, unused := map[string]bool{}, map[string]bool{}
	var against []*watchedArm
	for _, other := range w.order {
		if w.baseOf(other.arm) != base {
			continue
		}
		if !other.decided {
			return nil
		}
		against = append(against, other)
		for _, u := range other.units[:other.next] {
			used[u.key] = true
		}
	}
	for _, other := range against {
		for _, u := range other.units[other.next:] {
			for _, id := range u.base {
				if !used[u.key] {
					unused[id] = true
				}
			}
		}
	}
	w.closed[base] = true
	return journal.WriteStop(&eval.BaseExit{StoppedArm: eval.StoppedArm{
		Suite: a.suite, Arm: base, Units: len(used), Of: len(a.units), Unused: slices.Sorted(maps.Keys(unused)),
	}})
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

// advance feeds the complete units from the beginning of the schedule on.
func (a *watchedArm) advance(w *watchedSuite, mu *sync.Mutex) *eval.KnownVerdict {
	for a.next < len(a.units) && a.units[a.next].pending == 0 {
		u := a.units[a.next]
		stop := a.test.Feed(compare.Unit{
			Differences: u.differences(w.rule.Metrics, false),
			Worst:       u.differences(w.rule.Metrics, true),
			Weight:      u.weight,
		})
		mu.Lock()
		a.next++
		mu.Unlock()
		if stop == nil {
			stop = a.curtail(u, w.min)
		}
		if stop == nil {
			continue
		}
		stop.Suite = a.suite
		stop.Arm = a.arm
		stop.Of = len(a.units)
		stop.Base, stop.Metrics = cmp.Or(w.baseOf(a.arm), w.rule.RunID()), w.rule.Metrics
		for _, later := range a.units[a.next:] {
			stop.Unused = append(stop.Unused, later.trials...)
		}
		return stop
	}
	return nil
}

// curtail stops an arm whose pass rate can no longer reach the gate's minimum, whatever the other results
// are. This needs no part of the error rate.
func (a *watchedArm) curtail(u *unit, least *float64) *eval.KnownVerdict {
	if least == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(u.cases)) { // sums of floats depend on their order
		if rate, ok := u.cases[key].passed.Mean(); ok {
			a.lost += 1 - rate
		}
	}
	if a.lost <= a.cases*(1-*least)+slack {
		return nil
	}
	return &eval.KnownVerdict{
		StoppedArm: eval.StoppedArm{Units: a.next}, Verdict: eval.Inconclusive, Metric: "passRate", LogE: map[string]float64{},
	}
}

// requestsOf identifies the pair of requests of a case, "" where one is unknown. Cases with the same request on only
// one side are different requests that depend on each other. A prompt that drops a variable must not turn a
// hundred cases into one.
func requestsOf(base, head string) string {
	if base == "" || head == "" {
		return ""
	}
	return base + "\x00" + head
}

// differences returns, by metric, the means over the unit's requests, head minus base; NaN if a side has
// no value. With worst, each error of head and each answer without a value counts as the worst value of the
// metric.
func (u *unit) differences(metrics []eval.MetricMargin, worst bool) []float64 {
	d := make([]float64, len(metrics))
	keys := slices.Sorted(maps.Keys(u.cases)) // sums of floats depend on their order
	for i := range d {
		sums := map[string]*compare.Sum{}
		var order []*compare.Sum
		for _, key := range keys {
			c := u.cases[key]
			b, okBase := c.base[i].Mean()
			h, okHead := c.of(metrics[i].Name, i, worst).Mean()
			if !okBase || !okHead {
				continue
			}
			if sums[c.request] == nil {
				sums[c.request] = &compare.Sum{}
				order = append(order, sums[c.request])
			}
			sums[c.request].Add(h - b)
		}
		d[i] = meanOf(order)
	}
	return d
}

// of returns head's sum for the i-th metric. When worst is set, each result without a value counts as the worst:
// 1 for blocked answers, 0 for other metrics.
func (c *unitCase) of(metric string, i int, worst bool) compare.Sum {
	s := c.head[i]
	if missing := c.results - s.N; worst && missing > 0 {
		if metric == eval.MetricBlocked {
			s.Total += float64(missing)
		}
		s.N += missing
	}
	return s
}

// meanOf returns the mean of means, NaN without any.
func meanOf(sums []*compare.Sum) float64 {
	var whole compare.Sum
	for _, s := range sums {
		mean, _ := s.Mean()
		whole.Add(mean)
	}
	if mean, ok := whole.Mean(); ok {
		return mean
	}
	return math.NaN()
}

// ofResult extracts what the tests need from a result.
func (q *Early) ofResult(r *eval.Result) seen {
	return seen{
		trial:    &r.Trial,
		outcome:  r.Outcome(),
		isolated: r.Quarantine.Holds(q.startedAt),
		blocked:  r.Response != nil && r.Response.Blocked() != "",
		scores: func(metric string) (float64, bool) {
			for _, s := range r.Scores {
				if value, ok := s.Value(); ok && s.Name == metric {
					return value, true
				}
			}
			value, ok := r.Metrics[metric]
			return value, ok
		},
	}
}

// ofFacts extracts what the tests need from a recorded trial.
func ofFacts(f *journal.Facts) seen {
	t := &eval.Trial{ID: f.ID, CaseID: f.CaseID, Suite: f.Suite, Case: f.Case, Arm: f.Arm, Cluster: f.Cluster}
	return seen{trial: t, outcome: f.Outcome, isolated: f.Quarantined, blocked: f.Blocked != "", scores: func(metric string) (float64, bool) {
		for _, s := range f.Scores {
			if s.Name == metric {
				return s.Value, true
			}
		}
		return 0, false
	}}
}
