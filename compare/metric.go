package compare

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

type measure struct {
	Options
	pairs     []pair
	groups    groups
	worst     bool // errors of head count as their worst value
	testsOnly bool // skip intervals and advice, which take most of the time
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
	if name == eval.MetricPass && m.wantsRepeats(&c) {
		c.Repeats, c.repeatsChance = m.neededRepeats(g.Margin)
	}
	return c
}

// wantsRepeats reports whether a comparison that people read leaves "not worse" open.
func (m *measure) wantsRepeats(c *MetricComparison) bool {
	return !m.worst && !m.testsOnly && c.PNonInferior != nil && *c.PNonInferior > m.Alpha
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
	if c.N > 0 {
		m.scores(c, u, margin, better)
	}
}

// scores compares the means of units whose values lie in [0,1].
func (m *measure) scores(c *MetricComparison, u units, margin float64, better direction) {
	rise := newMeans(scaledBy(float64(better), u.d), u.weights, margin)
	fall := newMeans(scaledBy(-1, rise.d), u.weights, margin)
	worse, improved := fall.atMost(0), rise.atMost(0)
	c.PWorse, c.PBetter = &worse, &improved
	if margin > 0 {
		p := rise.atMost(-margin)
		c.PNonInferior = &p
		if fall.atMost(margin) <= m.Alpha {
			c.Cautions = append(c.Cautions, beyondMargin)
		}
	}
	c.sample = &rise
	if rise.whole() {
		rise.describe(c, margin, better)
	} else {
		c.Test = "Gaffke bound"
	}
	if u.clustered {
		c.Test += ", clusters as units"
	}
	if !m.testsOnly {
		i := agreed(c, rise.bound(m.Alpha), -fall.bound(m.Alpha), m.Alpha, limits{0, -margin})
		c.Interval = oriented(i, better)
	}
}

// describe says how units were counted, with the tests of large numbers next to the exact ones.
func (t *means) describe(c *MetricComparison, margin float64, better direction) {
	c.Test = "Tango score interval, McNemar mid-p"
	if !t.up.exact {
		return
	}
	c.Test = "exact unconditional tests, ordered by Tango's score and McNemar's mid-p"
	i := t.up.pairs().Tango(c.Level)
	mid := t.up.pairs().McNemar()
	_, notInferior := t.up.pairs().TangoNonInferiority(margin)
	c.Asymptotic = &Asymptotic{
		Interval:     *oriented([2]float64{i.Lo, i.Hi}, better),
		PNonInferior: notInferior,
		PWorse:       mid.MidWorse,
		PBetter:      mid.MidBetter,
	}
}

// smoothed compares pseudo-values, which are hardly ever 0.
func (m *measure) smoothed(c *MetricComparison, u units, margin float64) {
	d, fall := u.d, scaledBy(-1, u.d)
	room := make([]float64, len(d))
	_, worse, improved, _ := stats.PairedT(residuals(room, d, u.weights, u.mean(d)))
	worse = max(worse, atMostZero(fall, u.weights, -1, room))
	improved = max(improved, atMostZero(d, u.weights, -1, room))
	c.PWorse, c.PBetter = &worse, &improved
	c.Test = "jackknife over cases, Gaffke bound, t test" // few, skewed or constant: the t interval would be too short
	if stats.UseT(residuals(room, d, u.weights, u.mean(d))) {
		c.Test = "jackknife over cases, t interval, t test"
	}
	if u.clustered {
		c.Test += ", clusters as units"
	}
	c.sample = newSmooth(d, u.weights)
	if margin > 0 {
		c.PNonInferior = new(c.sample.notWorse(margin))
		if atMostZero(scaledBy(-1, c.sample.shifted), u.weights, -1-margin, room) <= m.Alpha {
			c.Cautions = append(c.Cautions, beyondMargin)
		}
	}
	if !m.testsOnly {
		i := agreed(c, lowerBound(d, u.weights, m.Alpha), -lowerBound(fall, u.weights, m.Alpha), m.Alpha, limits{0, -margin})
		c.Interval = &i
	}
}

// limits are the differences at which a verdict changes: no change, and the margin.
type limits struct{ none, margin float64 }

// hair is how far apart bounds and tests may be for reasons of computing alone.
const hair = 0.002

// agreed adjusts an interval to the deciding tests, for a quantity where more is better. The tests of no change order
// the data differently, so its bounds can be on the other side of 0. At the margin they differ by a hair at most,
// unless too few units are compared to rule out a loss: then the interval keeps its end.
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
	hi = side(c.PWorse, hi, l.none, false)
	if math.Abs(lo-l.margin) < hair {
		lo = side(c.PNonInferior, lo, l.margin, true)
	}
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
// unchanged pass rate is not worse, if each case passes as often as on both sides together, and the simulated power.
func (m *measure) neededRepeats(margin float64) (repeats int, chance float64) {
	rates := make([]float64, len(m.pairs))
	for i, p := range m.pairs {
		if p.clustered() || min(p.base.Passed+p.base.Failed, p.head.Passed+p.head.Failed) < 2 {
			return 0, 0
		}
		passed := p.base.Passed + p.head.Passed
		rates[i] = float64(passed) / float64(passed+p.base.Failed+p.head.Failed)
	}
	if margin <= 0 || len(rates) < 2 {
		return 0, 0
	}
	weights := slices.Repeat([]float64{1}, len(rates))
	decided := stats.NewNotWorseTables(len(rates), margin, m.Alpha)
	shown := func(k, draws int) float64 {
		return chanceOf(draws, func(rng *rand.Rand) bool {
			x := make([]float64, len(rates))
			for i, rate := range rates {
				if rate > 0 && rate < 1 {
					x[i] = drawn(rng, k, rate) - drawn(rng, k, rate)
				}
			}
			t := newMeans(x, weights, margin)
			return t.shows(-margin, m.Alpha, decided)
		})
	}
	if shown(mostRepeats, adviceDraws) < power {
		return noRepeatsEnough, 0
	}
	repeats = 2 + sort.Search(mostRepeats-2, func(k int) bool { return shown(2+k, adviceDraws) >= power })
	return repeats, shown(repeats, saidDraws)
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
	c.perMargin = 2
	m.scores(c, u, 2*margin, moreIsBetter)
	if c.Interval != nil {
		c.Interval[0], c.Interval[1] = c.Interval[0]/2, c.Interval[1]/2
	}
}
