package compare

import (
	"fmt"
	"math"
	"sort"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Tests of the mean loss over the cases of a suite themselves, which are no sample: only the answers are random. They pair
// the k-th repeats of both sides of a case. Each test is an e-process over whole rounds, so it holds however many rounds
// there are, and whenever somebody stops (docs/explanation/verdicts.md).

// repeatPairs are the differences of a metric, head minus base, pair by pair, oriented so that more is better.
type repeatPairs struct {
	worst, best       []float64 // with each missing value at its worst and at its best for head
	powers            []float64
	cases             int
	fewest            int      // pairs of the case with the fewest
	missing           int      // pairs without a value of head
	worse, better     int      // pairs
	regressed, gained int      // cases, by the means of their pairs
	base, head        eval.Sum // of the cases' means, over pairs with both values
}

func (m *measure) repeatPairsOf(metric string, base, head *Side) *repeatPairs {
	ofBase, ofHead := repeatValue(metric, base), repeatValue(metric, head)
	var counted []pair
	r := &repeatPairs{fewest: math.MaxInt}
	for _, p := range m.pairs {
		if p.pairs() > 0 && (metric == eval.MetricPass || has(p.base, ofBase) || has(p.head, ofHead)) {
			counted = append(counted, p)
			r.fewest = min(r.fewest, p.pairs())
		}
	}
	r.cases = len(counted)
	for _, p := range counted {
		var b, h eval.Sum
		for k := range p.pairs() {
			before, now := ofBase(p.base.Repeats[k]), ofHead(p.head.Repeats[k])
			r.add(before, now, float64(r.fewest)/float64(p.pairs()))
			if !math.IsNaN(now - before) {
				b.Add(before)
				h.Add(now)
			}
		}
		if before, ok := b.Mean(); ok {
			now, _ := h.Mean()
			r.base.Add(before)
			r.head.Add(now)
			if now < before {
				r.regressed++
			} else if now > before {
				r.gained++
			}
		}
	}
	return r
}

// add counts a pair. A missing value of head is the worst that there is, whatever base has.
func (r *repeatPairs) add(base, head, power float64) {
	worst, best := head-base, head-base
	switch {
	case math.IsNaN(head):
		worst, best = -1, 1
		r.missing++
	case math.IsNaN(base):
		worst, best = head-1, head
	case head < base:
		r.worse++
	case head > base:
		r.better++
	}
	r.worst, r.best, r.powers = append(r.worst, worst), append(r.best, best), append(r.powers, power)
}

// pairs is the number of repeats that both sides have.
func (p *pair) pairs() int { return min(len(p.base.Repeats), len(p.head.Repeats)) }

// repeatValue reads a metric of a repeat, NaN if it has none. Of blocked answers, the share that was not blocked.
func repeatValue(metric string, s *Side) func(values []float64) float64 {
	at := -1
	switch metric {
	case eval.MetricPass:
		at = 0
	case eval.MetricBlocked:
		at = 1
	default:
		for i, name := range s.Metrics {
			if name == metric {
				at = i + len(repeatMetrics)
			}
		}
	}
	return func(values []float64) float64 {
		switch {
		case at < 0 || at >= len(values):
			return math.NaN()
		case metric == eval.MetricBlocked:
			return 1 - values[at]
		}
		return values[at]
	}
}

// repeatMetrics are the metrics that each judged repeat has.
var repeatMetrics = []string{eval.MetricPass, eval.MetricBlocked}

func has(c *CaseTotals, of func([]float64) float64) bool {
	for _, values := range c.Repeats {
		if !math.IsNaN(of(values)) {
			return true
		}
	}
	return false
}

// logE is the logarithm of the e-value against "the mean of d over the cases is null or less".
func (r *repeatPairs) logE(d []float64, null float64) float64 {
	return stats.LogMixture(d, r.powers, null, 1/(1+null), bets)
}

// ofSuite tests a metric of the suite's own cases. Ratios and metrics of all cases together have no such test.
func (m *measure) ofSuite(c *MetricComparison, base, head *Side, margin float64) {
	switch {
	case eval.IsRatio(c.Name):
		m.ratio(c, eval.MetricMargin{}, base)
	case isClassMetric(c.Name, base, head):
		m.classified(c, base, head, 0)
	default:
		m.ofRepeats(c, base, head, margin)
		return
	}
	c.Interval, c.PWorse, c.PBetter, c.Test = nil, nil, nil, ""
}

// ofRepeats tests a metric that each repeat has.
func (m *measure) ofRepeats(c *MetricComparison, base, head *Side, margin float64) {
	r := m.repeatPairsOf(c.Name, base, head)
	c.N, c.Pairs, c.PairsWorse, c.PairsBetter, c.HeadErrors = r.cases, len(r.worst), r.worse, r.better, r.missing
	c.Test = "betting e-process over whole rounds"
	if c.N == 0 {
		return
	}
	better := moreIsBetter
	c.Base, _ = r.base.Mean()
	c.Head, _ = r.head.Mean()
	if c.Name == eval.MetricBlocked {
		better, c.Base, c.Head = lessIsBetter, 1-c.Base, 1-c.Head
	}
	c.Gained, c.Regressed = r.gained, r.regressed
	c.Estimate = c.Head - c.Base
	r.test(c, margin)
	if m.testsOnly {
		return
	}
	c.logs, c.size = stats.LogBets(r.worst, r.powers, -margin, 1/(1-margin), bets), r.size()
	losses := scaledBy(-1, r.best)
	lo, hi := r.lower(r.worst, m.Alpha), -r.lower(losses, m.Alpha)
	if margin > 0 && hi <= -margin {
		c.Cautions = append(c.Cautions, beyondMargin)
	}
	c.Interval, c.Anytime = oriented([2]float64{lo, hi}, better), m.EarlyVerdict != nil
}

// PairsNeeded is the number of pairs of repeats, over all cases, that shows that a metric is not worse by a margin if no
// outcome changes; with better, if each pair gets better.
func PairsNeeded(margin, alpha float64, better bool) int {
	d := 0.0
	if better {
		d = 1
	}
	return sort.Search(mostReach, func(n int) bool {
		return stats.LogMixture([]float64{d}, []float64{float64(n)}, -margin, 1/(1-margin), bets) >= math.Log(1/alpha)
	})
}

// test fills in the p values.
func (r *repeatPairs) test(c *MetricComparison, margin float64) {
	c.PBetter, c.PWorse = probabilityOf(r.logE(r.worst, 0)), probabilityOf(r.logE(scaledBy(-1, r.best), 0))
	if margin > 0 {
		c.PNonInferior = probabilityOf(r.logE(r.worst, -margin))
	}
}

// size is the root of the mean square of the differences of pairs that differ, 1 if none does.
func (r *repeatPairs) size() float64 {
	var squares eval.Sum
	for _, d := range r.worst {
		if d != 0 {
			squares.Add(d * d)
		}
	}
	if mean, ok := squares.Mean(); ok {
		return math.Sqrt(mean)
	}
	return 1
}

// probabilityOf is the p value of an e-value.
func probabilityOf(logE float64) *float64 { return new(min(1, math.Exp(-logE))) }

// lower is the lower bound of the mean of d over the cases: what the test against it rejects, with error alpha.
func (r *repeatPairs) lower(d []float64, alpha float64) float64 {
	return bisect(-1, 1, func(mean float64) bool { return r.logE(d, mean) >= math.Log(1/alpha) })
}

// looksCached says that in most cases all repeats got the same answer although the model samples, "" if not.
func looksCached(s *Side, name string) string {
	alike, repeated := 0, 0
	for _, c := range s.Cases {
		if len(c.Repeats) > 1 && !c.Quarantined {
			repeated++
			if c.Alike {
				alike++
			}
		}
	}
	if 2*alike <= repeated {
		return ""
	}
	return fmt.Sprintf(
		"the answers of %s look cached: in %d of %d cases all repeats got the same one, at a temperature above 0", name, alike, repeated,
	)
}

// KnownOfSuite is the verdict on an arm if it is known after the rounds that both sides have, nil if not. Ran of head's
// cases is the number of their repeats in all rounds, and verdicts the number of metrics over all arms.
func KnownOfSuite(base, head *Side, o Options, verdicts int) *eval.KnownVerdict {
	paired := pairUp(base, head, &o)
	m := newMeasure(o, paired.all())
	m.testsOnly = true
	if !m.sameShares() {
		return nil
	}
	stop := &eval.KnownVerdict{Alpha: o.Alpha, LogE: map[string]float64{}}
	all := true
	for _, g := range o.Margins {
		c := m.metric(g.Name, base, head)
		if p := orOne(c.PWorse); p*float64(verdicts) <= o.Alpha {
			stop.Verdict, stop.Metric, stop.LogE = eval.Regressed, g.Name, map[string]float64{g.Name: -math.Log(p)}
			return stop
		}
		m.atWorst(&c, &paired, base, head)
		p := atWorst(&c, orOne(c.PNonInferior), 0)
		stop.LogE[g.Name] = -math.Log(p)
		all = all && p <= o.Alpha
	}
	if !all {
		return nil
	}
	stop.Verdict = eval.NotWorse
	return stop
}

// sameShares reports whether all cases have the same share of the pairs that they get in the end: before, the exponents of
// their factors would change.
func (m *measure) sameShares() bool {
	for _, p := range m.pairs {
		planned := func(p pair) int { return min(len(p.base.Repeats), p.head.Ran) }
		if p.pairs()*planned(m.pairs[0]) != m.pairs[0].pairs()*planned(p) {
			return false
		}
	}
	return true
}
