package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// capFactor times the baseline's median is the default cap of a ratio. Larger values count as the cap: an
// unbounded mean can hide any loss in answers that were not seen.
const capFactor = 5

func amount(metric string, c *CaseTotals) eval.Sum {
	if metric == eval.MetricLatency {
		return c.LatencyMs
	}
	return c.Tokens
}

// defaultCap is the cap of a ratio metric where a gate states none: five times the median over the cases of the
// baseline. 0 means that the baseline has no value.
func defaultCap(metric string, base *Side) float64 {
	var all []float64
	for _, c := range base.Cases {
		if v, ok := amount(metric, c).Mean(); ok && !c.Quarantined {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return capFactor * (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// ratio compares the ratio of mean capped amounts. It tests that the mean of head - limit x base is 0 or less.
func (m *measure) ratio(c *MetricComparison, g eval.MetricMargin, base *Side) {
	most := g.Cap
	if most == 0 {
		most = defaultCap(c.Name, base)
	}
	ofBase, ofHead := m.capped(c.Name, most)
	u := m.unitsOf(ofBase, ofHead, bothSides)
	c.N, c.Test = u.n, "means of capped amounts, bounded"
	c.Base, c.Head = u.means()
	if c.N == 0 || c.Base == 0 || c.Head == 0 { // 0 means that nothing was measured
		c.N = 0
		return
	}
	c.Estimate, c.Cap = c.Head/c.Base, &most
	test := ratioTest{u, most, make([]float64, u.n), make([]float64, u.n)}
	better, worse := test.below(1), test.above(1)
	c.PBetter, c.PWorse = &better, &worse
	if g.Margin > 1 {
		c.Needs = ratioNeeds(c.Base, most, g.Margin, m.Alpha)
		p := max(test.below(g.Margin), reach(gain(c.Base, most, g.Margin), effective(u.weights)))
		if share := m.hidden(c.Name, most); share > mostHidden {
			p = 1
			c.Advice = fmt.Sprintf("the cap of %.4g hides %.0f %% of what the baseline costs: state a larger cap", most, 100*share)
		}
		c.PNonInferior = &p
	}
	if u.clustered {
		c.Test += ", clusters as units"
	}
	if m.testsOnly {
		return
	}
	i := test.interval(c.Estimate, m.Alpha)
	c.Interval = oriented(agreed(c, -i[1], -i[0], m.Alpha, limits{-1, -g.Margin}), lessIsBetter)
}

// mostHidden is the largest share of the baseline's amounts that a cap may hide: above it, the cap hides most of
// what a rise could affect.
const mostHidden = 0.25

// hidden is the share of the baseline's amounts above the cap.
func (m *measure) hidden(metric string, most float64) float64 {
	var whole, seen float64
	for _, p := range m.pairs {
		if v, ok := amount(metric, p.base).Mean(); ok {
			whole += v
			seen += min(v, most)
		}
	}
	if whole == 0 {
		return 0
	}
	return 1 - seen/whole
}

// capped are amounts as shares of the cap. Errors of head count as the cap in the worst case.
func (m *measure) capped(metric string, most float64) (ofBase, ofHead value) {
	ofBase = func(c *CaseTotals) (float64, bool) {
		v, ok := amount(metric, c).Mean()
		return min(v, most), ok
	}
	return ofBase, func(c *CaseTotals) (float64, bool) {
		s := amount(metric, c)
		v, ok := s.Mean()
		if !m.worst || c.Errors == 0 {
			return min(v, most), ok
		}
		return eval.Sum{Total: float64(s.N)*min(v, most) + float64(c.Errors)*most, N: s.N + c.Errors}.Mean()
	}
}

// gain is the distance of head - limit x base below 0 when nothing changed, as a share of the distance to its
// worst value.
func gain(base, most, limit float64) float64 {
	room := (limit - 1) * base
	return room / (room + most)
}

// ratioNeeds is the number of units that shows a ratio within limit when nothing changed and all cases cost the
// same.
func ratioNeeds(base, most, limit, alpha float64) int {
	return stats.MinCasesConstant(alpha, gain(base, most, limit))
}

// RatioOutlook is what a limit of latency or tokens needs, before a request is sent.
type RatioOutlook struct {
	Metric string  `json:"metric"`
	Limit  float64 `json:"limit"`
	Cap    float64 `json:"cap"`    // largest value that counts for a case
	Needed int     `json:"needed"` // units, when nothing changes and all cases cost the same
}

// NewRatioOutlook returns false when the baseline has no value of the metric.
func NewRatioOutlook(g eval.MetricMargin, base *Side, alpha float64) (RatioOutlook, bool) {
	out := RatioOutlook{Metric: g.Name, Limit: g.Margin, Cap: g.Cap}
	if out.Cap == 0 {
		out.Cap = defaultCap(g.Name, base)
	}
	var all eval.Sum
	for _, c := range base.Cases {
		if v, ok := amount(g.Name, c).Mean(); ok {
			all.Add(min(v, out.Cap))
		}
	}
	mean, ok := all.Mean()
	if !ok || mean == 0 {
		return out, false
	}
	out.Needed = ratioNeeds(mean, out.Cap, g.Margin, alpha)
	return out, true
}

// ratioTest tests the ratio of the means of units, whose values are at most most.
type ratioTest struct {
	units
	most float64
	x    []float64 // scratch space for the tested values
	room []float64 // scratch space for the test
}

// below is the p value of the hypothesis that the ratio is limit or more.
func (t ratioTest) below(limit float64) float64 {
	for i := range t.x {
		t.x[i] = (limit*t.base[i] - t.head[i]) / t.most
	}
	return atMostZero(t.x, t.weights, -1, t.room)
}

// above is the p value of the hypothesis that the ratio is limit or less.
func (t ratioTest) above(limit float64) float64 {
	for i := range t.x {
		t.x[i] = (t.head[i] - limit*t.base[i]) / t.most
	}
	return atMostZero(t.x, t.weights, -max(limit, 1e-9), t.room)
}

// interval holds every ratio that neither test rejects.
func (t ratioTest) interval(estimate, alpha float64) [2]float64 {
	top := 2 * (estimate + 1)
	for ; t.below(top) > alpha && top < 1e6; top *= 2 {
	}
	hi := -bisect(-top, -estimate, func(r float64) bool { return t.below(-r) <= alpha })
	lo := bisect(0, estimate, func(r float64) bool { return t.above(r) <= alpha })
	return [2]float64{lo, hi}
}

// reach is the probability that a sample misses every unit with a loss of the whole range, when a share of all
// units has one. Above alpha, no test can show "not worse".
func reach(share, units float64) float64 { return math.Pow(1-min(share, 1), units) }
