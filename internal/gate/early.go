package gate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// stopping returns a suite whose gate stops early or that runs round by round, nil if it does neither.
func stopping(run *eval.Run, plan *runner.Plan, one *eval.RunSuite) (*watchedSuite, error) {
	g := one.Gate
	if g == nil || g.Baseline == nil {
		return nil, nil
	}
	stops := g.Baseline.StopEarly && !run.Options().NoBaseline() && plan.Shard() == nil
	byRounds := g.Baseline.Estimand == eval.OfSuite && run.Options().Rescore == ""
	if !stops && !byRounds {
		return nil, nil
	}
	s := &watchedSuite{
		name:     one.Name,
		rule:     g.Baseline,
		verdicts: plannedVerdicts(run, plan),
		min:      leastRate(g),
		oneArm:   armsOf(plan, one.Name) == 1,
		arms:     map[string]*watchedArm{},
		matchers: map[string]*sideMatcher{},
		lost:     map[string][][]float64{},
		closed:   map[string]bool{},
		partners: map[string]map[string]string{},
	}
	if byRounds {
		s.rounds = newRounds(run, plan, one, stops)
	}
	if other, isRun := s.rule.Against.(eval.BaseRun); isRun && stops {
		base, err := baseSides(other.Path, one.Name, s.rule.Estimand, plan, run.AnswersOf())
		if err != nil {
			return nil, err
		}
		s.base = base
	}
	return s, nil
}

// leastRate is the pass rate below which the gate cannot hold; nil for none.
func leastRate(g *eval.GateConfig) *float64 {
	if g.PassRateBound != nil && g.PassRateBound.OnInconclusive != eval.OnFail {
		return nil
	}
	return g.PassRateMin
}

func armsOf(plan *runner.Plan, suite string) (n int) {
	for _, a := range plan.Arms() {
		if a.Suite == suite {
			n++
		}
	}
	return n
}

// plannedVerdicts is how many verdicts the gates of a run have at its end (compare.Verdicts).
func plannedVerdicts(run *eval.Run, plan *runner.Plan) (n int) {
	for _, a := range plan.Arms() {
		at := slices.IndexFunc(run.Suites, func(s eval.RunSuite) bool { return s.Name == a.Suite })
		if at < 0 || run.Suites[at].Gate == nil {
			continue
		}
		if rule := run.Suites[at].Gate.Baseline; rule != nil && !rule.Against.Includes(a.Name()) {
			n += len(rule.Metrics)
		}
	}
	return n
}

// earlyTest compares an arm with its baseline. A unit is the mean difference over its requests.
type earlyTest struct {
	*compare.EarlyStop
	suite *watchedSuite
	arm   *watchedArm
	in    *sequence

	cases, lost float64 // cases that count for the pass rate, and how many of them have failed, in parts
}

func newEarlyTest(s *watchedSuite, w *sequence) *earlyTest {
	e := &earlyTest{suite: s, arm: w.arms[0], in: w}
	e.EarlyStop = compare.NewEarlyStop(s.rule.Metrics, s.rule.LookAlpha(), s.verdicts)
	largest := 0
	for _, u := range e.arm.units {
		largest = max(largest, u.requests())
		e.cases += float64(len(u.cases))
	}
	for _, u := range e.arm.units {
		u.weight = float64(u.requests()) / float64(largest)
	}
	for _, worst := range s.lost[e.arm.arm] {
		e.Lose(worst, 1/float64(max(1, largest)))
	}
	return e
}

// lose finds the cases that the planned arms have lost: as in the final test, they count at their worst.
func (s *watchedSuite) lose(planned map[string]*compare.Side, o *eval.Options) {
	if s.race {
		return
	}
	for name, head := range planned {
		if s.isBase(name) {
			continue
		}
		paired := &compare.Options{Accepted: s.rule.Accepted}
		base := planned[s.baseOf(name)]
		if m := s.matcher(name); m != nil {
			base, paired.Selected = m.side, selectedBy(o, head, head.NotRun)
		}
		if base == nil {
			continue
		}
		for _, c := range compare.NewPreview(base, head, paired).Lost {
			s.lost[name] = append(s.lost[name], s.worst(base, c))
		}
	}
}

// worst is the largest loss by metric of a case of the baseline: what it has there or, before it ran, all of a value.
func (s *watchedSuite) worst(base *compare.Side, c *compare.CaseTotals) []float64 {
	out := make([]float64, len(s.rule.Metrics))
	for i, m := range s.rule.Metrics {
		before, least := 1.0, 0.0
		if m.Name == eval.MetricBlocked { // more blocked answers is worse
			before, least = 0, 1
		}
		if s.base != nil {
			mean, ran := c.Of(base, m.Name).Mean()
			if before = mean; !ran {
				before = math.NaN()
			}
		}
		out[i] = least - before
	}
	return out
}

func (e *earlyTest) needs(int) bool { return true }

func (e *earlyTest) resume(_, units int) { e.in.next = min(units, len(e.in.keys)) }

func (e *earlyTest) feed(key string) []eval.ArmStop {
	u, metrics := e.arm.by[key], e.suite.rule.Metrics
	stop := e.Feed(compare.Unit{
		Differences: u.differences(metrics, false),
		Worst:       u.differences(metrics, true),
		Weight:      u.weight,
	})
	if stop == nil && e.outOfReach(u) {
		stop = &eval.KnownVerdict{Verdict: eval.Inconclusive, Metric: "passRate", LogE: map[string]float64{}}
	}
	if stop == nil {
		return nil
	}
	stop.Arm, stop.Metrics = e.arm.arm, metrics
	stop.Base = cmp.Or(e.suite.baseOf(e.arm.arm), e.suite.rule.RunID())
	return []eval.ArmStop{stop}
}

// outOfReach reports whether the pass rate can no longer reach the gate's minimum, whatever the other results
// are. This needs no part of the error rate.
func (e *earlyTest) outOfReach(u *unit) bool {
	if e.suite.min == nil {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(u.cases)) { // sums of floats depend on their order
		if rate, ok := u.cases[key].passed.Mean(); ok {
			e.lost += 1 - rate
		}
	}
	return e.lost > e.cases*(1-*e.suite.min)+slack
}

// differences returns, by metric, the means over the unit's requests, head minus base; NaN if a side has
// no value. With worst, each error of head and each answer without a value counts as the worst value of the
// metric.
func (u *unit) differences(metrics []eval.MetricMargin, worst bool) []float64 {
	d := make([]float64, len(metrics))
	keys := slices.Sorted(maps.Keys(u.cases)) // sums of floats depend on their order
	for i := range d {
		sums := map[string]*eval.Sum{}
		var order []*eval.Sum
		for _, key := range keys {
			c := u.cases[key]
			b, okBase := c.base[i].Mean()
			h, okHead := c.of(metrics[i].Name, i, worst).Mean()
			if !okBase || !okHead {
				continue
			}
			if sums[c.request] == nil {
				sums[c.request] = &eval.Sum{}
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
func (c *unitCase) of(metric string, i int, worst bool) eval.Sum {
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
func meanOf(sums []*eval.Sum) float64 {
	var whole eval.Sum
	for _, s := range sums {
		mean, _ := s.Mean()
		whole.Add(mean)
	}
	if mean, ok := whole.Mean(); ok {
		return mean
	}
	return math.NaN()
}

// closeBase records which trials of the baseline's arm were used, once all other arms have stopped.
func (s *watchedSuite) closeBase(a *watchedArm, out *journal.Writer) error {
	base := s.baseOf(a.arm)
	if base == "" || s.closed[base] {
		return nil
	}
	used, unused := map[string]bool{}, map[string]bool{}
	against := slices.DeleteFunc(slices.Clone(s.order), func(other *watchedArm) bool { return s.baseOf(other.arm) != base })
	for _, other := range against {
		if !other.decided {
			return nil
		}
		for _, u := range other.units[:other.in.next] {
			used[u.key] = true
		}
	}
	for _, other := range against {
		for _, u := range other.units[other.in.next:] {
			for _, id := range u.base {
				if !used[u.key] {
					unused[id] = true
				}
			}
		}
	}
	s.closed[base] = true
	return out.WriteStop(&eval.BaseExit{StoppedArm: eval.StoppedArm{
		Suite: s.name, Arm: base, Units: len(used), Of: len(a.units), Unused: slices.Sorted(maps.Keys(unused)),
	}})
}
