package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

type measure struct {
	Options
	pairs     []pair
	groups    groups
	worst     bool // errors of head count as their worst value
	advisory  bool // one of many results, which no rule uses
	smooth    bool // units are pseudo-values, which are hardly ever 0
	testsOnly bool // skip the intervals, which take most of the time
}

func newMeasure(o Options, pairs []pair) *measure {
	m := &measure{Options: o, pairs: pairs}
	if o.Estimand == eval.OfSuite { // each case is itself, whatever it sends
		m.groups = groups{apart: true, request: make([]int, len(pairs)), unit: make([]int, len(pairs))}
		for i := range pairs {
			m.groups.request[i], m.groups.unit[i] = i, i
		}
		return m
	}
	m.groups = groupsOf(pairs)
	return m
}

// gatedAs is the gate's margin for a metric, false when it is not gated.
func (o *Options) gatedAs(metric string) (eval.MetricMargin, bool) {
	i := slices.IndexFunc(o.Margins, func(g eval.MetricMargin) bool { return g.Name == metric })
	if i < 0 {
		return eval.MetricMargin{}, false
	}
	return o.Margins[i], true
}

func (m *measure) metric(name string, base, head *Side) MetricComparison {
	c := MetricComparison{Name: name, MetricChange: MetricChange{Level: 1 - 2*m.Alpha}}
	g, _ := m.gatedAs(name)
	if m.Estimand == eval.OfSuite {
		m.ofSuite(&c, base, head, g.Margin)
		return c
	}
	switch {
	case eval.IsRatio(name):
		m.ratio(&c, g, base)
	case isClassMetric(name, base, head):
		m.classified(&c, base, head, g.Margin)
		return c
	case name == eval.MetricPreference:
		m.preference(&c, g.Margin)
	case name == eval.MetricBlocked:
		m.differences(&c, m.units(name, base, head), g.Margin, lessIsBetter)
	default:
		m.differences(&c, m.units(name, base, head), g.Margin, moreIsBetter)
	}
	if m.EarlyVerdict != nil && c.N > 0 && !eval.IsRatio(name) && name != eval.MetricPreference {
		m.anytime(&c, base, head)
	}
	if name == eval.MetricPass && !m.worst {
		c.Repeats = m.neededRepeats(g.Margin)
	}
	return c
}

// anytime replaces the interval of a metric, on an arm that stopped early, with the betting interval, which is
// valid at any stopping time. The estimate is biased away from zero: runs stop where luck exaggerates the effect.
func (m *measure) anytime(c *MetricComparison, base, head *Side) {
	u := m.units(c.Name, base, head)
	weights := scaledBy(1/slices.Max(u.weights), u.weights)
	lower := func(sign float64) float64 {
		return stats.BettingLower(scaledBy(sign, u.d), weights, m.EarlyVerdict.Alpha, bets)
	}
	c.Interval, c.Level, c.Anytime = &[2]float64{lower(1), -lower(-1)}, 1-2*m.EarlyVerdict.Alpha, true
}

type direction float64

const (
	moreIsBetter direction = 1
	lessIsBetter direction = -1
)

func (m *measure) differences(c *MetricComparison, u units, margin float64, better direction) {
	c.N, c.Estimate = u.n, u.mean(u.d)
	c.Base, c.Head = u.means()
	c.Gained, c.Regressed = u.gained, u.regressed
	if better == lessIsBetter {
		c.Gained, c.Regressed = u.regressed, u.gained
	}
	switch {
	case c.N == 0:
	case u.binary:
		m.binary(c, margin, better)
	default:
		m.scores(c, u, margin, better)
	}
}

// binary compares requests that ran once, by counts. Gates use exact tests where these are feasible.
func (m *measure) binary(c *MetricComparison, margin float64, better direction) {
	n := c.N
	gained := c.Gained
	regressed := c.Regressed
	i := stats.Tango(n, gained, regressed, c.Level)
	p := asymptotically(n, gained, regressed, margin)
	c.Test, c.of = "Tango score interval, McNemar mid-p", ofCounts
	if margin > 0 && stats.Exact(n, margin) {
		c.Test = "exact unconditional tests, ordered by Tango's score and McNemar's mid-p"
		c.Asymptotic = &Asymptotic{
			Interval:     *oriented([2]float64{i.Lo, i.Hi}, better),
			PNonInferior: p.notInferior,
			PWorse:       p.worse,
			PBetter:      p.better,
		}
		p = testCounts(n, gained, regressed, margin)
		if !m.testsOnly {
			i = stats.ExactInterval(n, gained, regressed, c.Level)
		}
	}
	c.PWorse, c.PBetter = &p.worse, &p.better
	if margin > 0 {
		p.notInferior = max(p.notInferior, reach(margin, float64(n)))
		c.PNonInferior = &p.notInferior
		if stats.TangoBeyond(n, gained, regressed, margin) <= m.Alpha {
			c.Cautions = append(c.Cautions, beyondMargin)
		}
	}
	c.Interval = oriented(agreed(c, i.Lo, i.Hi, m.Alpha, limits{0, -margin}), better)
}

// testCounts runs the tests of a gate on cases that passed or failed once.
func testCounts(n, gained, regressed int, margin float64) tested {
	p := asymptotically(n, gained, regressed, margin)
	if stats.Exact(n, margin) {
		p.notInferior = stats.ExactNonInferiority(n, gained, regressed, margin)
		p.worse, p.better = stats.ExactWorse(n, gained, regressed), stats.ExactWorse(n, regressed, gained)
	}
	p.notInferior = max(p.notInferior, reach(margin, float64(n)))
	return p
}

// asymptotically runs Tango's test and McNemar's mid-p, which hold their level for many cases.
func asymptotically(n, gained, regressed int, margin float64) tested {
	mid := stats.NewMcNemar(regressed, gained)
	_, notInferior := stats.TangoNonInferiority(n, gained, regressed, margin)
	return tested{notInferior: notInferior, worse: mid.MidWorse, better: mid.MidBetter, tests: 1}
}

func (m *measure) scores(c *MetricComparison, u units, margin float64, better direction) {
	d := scaledBy(float64(better), u.d)
	test := "sign-flip test"
	summed := weighted(d, u.weights)
	room := make([]float64, len(d))
	var worse, improved float64
	if flipping(d) > m.mostFlipping() {
		test = "t test"
		_, worse, improved, _ = stats.PairedT(residuals(room, d, u.weights, u.mean(d)))
	} else {
		worse, improved, _ = stats.SignFlip(summed, m.Seed)
	}
	worse = max(worse, atMostZero(scaledBy(-1, d), u.weights, -1, room))
	improved = max(improved, atMostZero(d, u.weights, -1, room))
	c.PWorse, c.PBetter = &worse, &improved
	c.Test = "Gaffke bound, " + test // few, skewed or constant: the t interval would be too short
	if stats.UseT(residuals(room, d, u.weights, u.mean(d))) {
		c.Test, c.of = "t interval, "+test, ofT
	}
	if u.clustered {
		c.Test += ", clusters as units"
	}
	if margin > 0 {
		shifted := make([]float64, len(d))
		for i := range d {
			shifted[i] = d[i] + margin
		}
		p := max(atMostZero(shifted, u.weights, margin-1, room), reach(margin, effective(u.weights)))
		c.PNonInferior = &p
		if atMostZero(scaledBy(-1, shifted), u.weights, -1-margin, room) <= m.Alpha {
			c.Cautions = append(c.Cautions, beyondMargin)
		}
	}
	if m.testsOnly {
		return
	}
	lo, hi := lowerBound(d, u.weights, m.Alpha), -lowerBound(scaledBy(-1, d), u.weights, m.Alpha)
	c.Interval = oriented(agreed(c, lo, hi, m.Alpha, limits{0, -margin}), better)
}

func flipping(d []float64) (n int) {
	for _, x := range d {
		if x != 0 {
			n++
		}
	}
	return n
}

// mostFlipping is the number of differing units above which the t test agrees with the slow sign-flip test.
func (m *measure) mostFlipping() int {
	switch {
	case m.smooth: // their signs are uninformative, and sign flips are slow
		return 0
	case m.advisory:
		return 100
	}
	return 1000
}

// limits are the differences at which a verdict changes: no change, and the margin.
type limits struct{ none, margin float64 }

// agreed adjusts an interval to the deciding tests, for a quantity where more is better. Its bounds come from
// tests that order the data differently, or more coarsely, so they can be on the other side of a limit by a hair.
func agreed(c *MetricComparison, lo, hi, alpha float64, l limits) [2]float64 {
	side := func(p *float64, bound, limit float64, above bool) float64 {
		switch {
		case p == nil:
			return bound
		case (*p <= alpha) == above:
			return max(bound, limit)
		}
		return min(bound, limit)
	}
	lo = side(c.PBetter, lo, l.none, true)
	lo = side(c.PNonInferior, lo, l.margin, true) // with too few cases no improvement is shown either
	hi = side(c.PWorse, hi, l.none, false)
	return [2]float64{lo, max(lo, hi)}
}

// oriented turns an interval of improvement into one of the difference.
func oriented(i [2]float64, better direction) *[2]float64 {
	if better == lessIsBetter {
		return &[2]float64{-i[1], -i[0]}
	}
	return &i
}

const fdr = 0.1

// fewestInSlice is the least number of cases for which a slice is shown.
const fewestInSlice = 5

// slices compares the pass rate among the cases with each tag. They are many and were not planned: what is
// significant after Benjamini-Hochberg is a hint, not a verdict.
func (m *measure) slices() []Slice {
	byTag := map[string][]pair{}
	for _, p := range m.pairs {
		for _, tag := range p.head.Tags {
			byTag[tag] = append(byTag[tag], p)
		}
	}
	var out []Slice
	var ps []float64
	for tag, tagged := range byTag {
		if len(tagged) < fewestInSlice {
			continue
		}
		part := newMeasure(Options{Alpha: m.Alpha, Seed: m.Seed, Estimand: m.Estimand}, tagged)
		part.advisory = true
		c := part.metric(eval.MetricPass, nil, nil)
		if c.PWorse == nil {
			continue
		}
		out = append(out, Slice{Tag: tag, N: c.N, Estimate: c.Estimate, Interval: c.Interval, P: *c.PWorse})
	}
	slices.SortFunc(out, func(a, b Slice) int { return cmp.Compare(a.Tag, b.Tag) })
	for _, s := range out {
		ps = append(ps, s.P)
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		out[i].P, out[i].Significant = p, p <= fdr
	}
	return out
}

// mostRepeats is the largest number of repeats per case that is worth suggesting, and noRepeatsEnough what is said instead
// of a larger one.
const (
	mostRepeats     = 100
	noRepeatsEnough = -1
)

// neededRepeats is the number of repeats per case, on both sides, that would show with a power of 80 % that an
// unchanged pass rate is not worse. It depends on the variance between cases and between repeats: var_d = w^2 +
// sA^2/K + sB^2/K.
//
// Source: Miller 2024, arXiv 2411.00640; docs/explanation/verdicts.md.
func (m *measure) neededRepeats(margin float64) int {
	if margin == 0 || len(m.pairs) < 2 {
		return 0
	}
	var within, repeats float64
	var d []float64
	for _, p := range m.pairs {
		var sides [2]float64
		if p.clustered() {
			return 0
		}
		for i, c := range []*CaseTotals{p.base, p.head} {
			k := float64(c.Passed + c.Failed)
			if k < 2 {
				return 0
			}
			rate, _ := c.PassRate()
			sides[i] = rate
			within += rate * (1 - rate) * k / (k - 1)
			repeats += k
		}
		d = append(d, sides[1]-sides[0])
	}
	n := float64(len(m.pairs))
	within /= n // summed over both sides
	s := stats.NewSample(d)
	between := max(0, s.SD*s.SD-within/(repeats/(2*n)))
	z := stats.NormalQuantile(1-m.Alpha) + stats.NormalQuantile(power)
	most := margin * margin * n / (z * z) // the variance that the margin leaves for repeats
	if between >= most {
		return noRepeatsEnough
	}
	if k := math.Ceil(within / (most - between)); k <= mostRepeats {
		return max(2, int(k))
	}
	return noRepeatsEnough
}

func (m *measure) hasPreferences() bool {
	return slices.ContainsFunc(m.pairs, func(p pair) bool { return p.head.HeadPreferred.N > 0 })
}

// indifferent is the value of a case when neither answer is preferred.
const indifferent = 0.5

// preference compares the share of preferences for head, 1 for all repeats of a case and 0 for none, with indifference.
// The differences span half the range of other metrics, so differences and margin are doubled for the tests.
func (m *measure) preference(c *MetricComparison, margin float64) {
	u := m.units(eval.MetricPreference, nil, nil)
	c.N, c.Base, c.Estimate = u.n, indifferent, u.mean(u.d)
	_, c.Head = u.means()
	c.Gained, c.Regressed = u.gained, u.regressed
	if c.N == 0 {
		return
	}
	u.d = scaledBy(2, u.d)
	m.scores(c, u, 2*margin, moreIsBetter)
	if c.Interval != nil {
		c.Interval[0], c.Interval[1] = c.Interval[0]/2, c.Interval[1]/2
	}
}
