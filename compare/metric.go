package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// measure computes metrics over pairs.
type measure struct {
	Options
	pairs    []pair
	advisory bool // one of many that nobody decides by
}

// value is what a case says of a metric, false when it says nothing.
type value func(*Case) (float64, bool)

func named(side *Side, metric string) value {
	at := slices.Index(side.Metrics, metric)
	return func(c *Case) (float64, bool) {
		if at >= len(c.Metrics) {
			return 0, false
		}
		return c.Metrics[at].Mean()
	}
}

// units are the differences, head minus base, of the independent units: cases, or clusters of them.
type units struct {
	base, head         []float64 // of the units
	d                  []float64
	clustered, repeats bool
	gained, regressed  int  // cases
	binary             bool // every case says 0 or 1
}

// units averages a metric inside cases, and cases inside clusters.
func (m *measure) units(of value) units { return m.unitsOf(of, of) }

func (m *measure) unitsOf(ofBase, ofHead value) units {
	u := units{binary: true}
	type sums struct{ base, head Sum }
	clusters := map[string]*sums{}
	var order []*sums
	for _, p := range m.pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if !okBase || !okHead {
			continue
		}
		u.binary = u.binary && (b == 0 || b == 1) && (h == 0 || h == 1)
		u.repeats = u.repeats || max(p.base.Passed+p.base.Failed, p.head.Passed+p.head.Failed) > 1
		switch {
		case h > b:
			u.gained++
		case h < b:
			u.regressed++
		}
		s, known := clusters[p.head.Cluster]
		if p.head.Cluster == "" || !known {
			s = &sums{}
			order = append(order, s)
		}
		if p.head.Cluster != "" {
			clusters[p.head.Cluster], u.clustered = s, true
		}
		s.base.Add(b)
		s.head.Add(h)
	}
	for _, s := range order {
		b, _ := s.base.Mean()
		h, _ := s.head.Mean()
		u.base, u.head, u.d = append(u.base, b), append(u.head, h), append(u.d, h-b)
	}
	return u
}

func mean(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total / float64(max(1, len(x)))
}

// geometricMean is that of positive numbers, 0 of none.
func geometricMean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	logs := make([]float64, len(x))
	for i, v := range x {
		logs[i] = math.Log(v)
	}
	return math.Exp(mean(logs))
}

// metric compares one metric, without a verdict.
func (m *measure) metric(name string, base, head *Side) eval.MetricComparison {
	c := eval.MetricComparison{Name: name, Level: 1 - 2*m.Alpha}
	margin := 0.0
	if i := slices.IndexFunc(m.Gated, func(g eval.MetricMargin) bool { return g.Name == name }); i >= 0 {
		margin = m.Gated[i].Margin
	}
	if name == eval.MetricChoose && m.chosen() {
		m.choice(&c, margin)
		return c
	}
	switch name {
	case eval.MetricLatency:
		m.latency(&c, margin)
	case eval.MetricTokens:
		m.tokens(&c, margin)
	case eval.MetricBlocked:
		m.differences(&c, m.units((*Case).blockRate), margin, -1)
	case eval.MetricPass:
		m.differences(&c, m.units((*Case).PassRate), margin, 1)
		c.Repeats = m.repeatsNeeded(margin)
	default:
		m.differences(&c, m.unitsOf(named(base, name), named(head, name)), margin, 1)
	}
	return c
}

// differences compares rates and scores in [0,1]. good is 1 when more is better, -1 when less is.
func (m *measure) differences(c *eval.MetricComparison, u units, margin, good float64) {
	c.N, c.Base, c.Head, c.Estimate = len(u.d), mean(u.base), mean(u.head), mean(u.d)
	c.Gained, c.Regressed = u.gained, u.regressed
	if good < 0 {
		c.Gained, c.Regressed = u.regressed, u.gained
	}
	if c.N == 0 {
		return
	}
	if u.binary && !u.clustered && !u.repeats {
		m.binary(c, margin, good)
		return
	}
	d := u.d
	if good < 0 {
		d = negated(d)
	}
	m.scores(c, d, margin, good)
	if u.clustered {
		c.Test += ", clusters as units"
	}
}

// binary compares cases that passed or failed once, by counts.
func (m *measure) binary(c *eval.MetricComparison, margin, good float64) {
	c.Test = "Tango score interval, McNemar mid-p"
	i := stats.Tango(c.N, c.Gained, c.Regressed, c.Level)
	c.Interval = oriented(i.Lo, i.Hi, good)
	mc := stats.NewMcNemar(c.Regressed, c.Gained)
	c.PWorse, c.PBetter = &mc.MidWorse, &mc.MidBetter
	if margin > 0 {
		_, p := stats.TangoNonInferiority(c.N, c.Gained, c.Regressed, margin)
		c.PNonInferior = &p
		if stats.TangoBeyond(c.N, c.Gained, c.Regressed, margin) <= m.Alpha {
			c.Flags = append(c.Flags, beyondMargin)
		}
	}
}

// scores compares the means of differences in [-1,1], of which more is better.
func (m *measure) scores(c *eval.MetricComparison, d []float64, margin, good float64) {
	test := "sign-flip test"
	var worse, better float64
	if flipping(d) > m.mostFlipping() {
		test = "t test"
		_, worse, better, _ = stats.PairedT(d)
	} else {
		worse, better, _ = stats.SignFlip(d, m.Seed)
	}
	c.PWorse, c.PBetter = &worse, &better
	var p float64
	if stats.UseT(d) {
		c.Test = "t interval, " + test
		i := stats.MeanT(d, c.Level)
		c.Interval = oriented(max(-1, i.Lo), min(1, i.Hi), good)
		p = stats.NonInferiorityT(d, margin)
		if beyond := stats.NonInferiorityT(negated(d), -margin); margin > 0 && beyond <= m.Alpha {
			c.Flags = append(c.Flags, beyondMargin)
		}
	} else { // few, skewed, or all the same: the t interval would be too short
		c.Test = "Gaffke bound, " + test
		c.Interval = oriented(stats.Gaffke(d, -1, m.Alpha), -stats.Gaffke(negated(d), -1, m.Alpha), good)
		p = stats.GaffkeNonInferiority(d, -1, margin)
	}
	if margin > 0 {
		c.PNonInferior = &p
	}
}

// flipping is how many units differ at all.
func flipping(d []float64) (n int) {
	for _, x := range d {
		if x != 0 {
			n++
		}
	}
	return n
}

// mostFlipping is beyond which the t test stands in for drawing signs, which would take long and say the same.
func (m *measure) mostFlipping() int {
	if m.advisory {
		return 100
	}
	return 1000
}

func negated(d []float64) []float64 {
	out := make([]float64, len(d))
	for i, x := range d {
		out[i] = -x
	}
	return out
}

// oriented is an interval of how much better, as one of the difference.
func oriented(lo, hi, good float64) *[2]float64 {
	if good < 0 {
		return &[2]float64{-hi, -lo}
	}
	return &[2]float64{lo, hi}
}

// latency compares service times by the geometric mean of the cases' ratios, which is the ratio of the geometric means that are shown
// with it.
func (m *measure) latency(c *eval.MetricComparison, limit float64) {
	u := m.units(func(c *Case) (float64, bool) { return c.LatencyMs.Mean() })
	var a, b []float64
	for i := range u.base {
		if u.base[i] > 0 && u.head[i] > 0 {
			a, b = append(a, u.base[i]), append(b, u.head[i])
		}
	}
	c.N, c.Base, c.Head, c.Test = len(a), geometricMean(a), geometricMean(b), "t on logarithms of ratios"
	if c.N == 0 {
		return
	}
	ratioTests(c, stats.LogRatioT(a, b, c.Level), limit)
}

// tokens compares what cases cost by the ratio of the sums.
func (m *measure) tokens(c *eval.MetricComparison, limit float64) {
	u := m.units(func(c *Case) (float64, bool) { return c.Tokens.Mean() })
	c.N, c.Base, c.Head, c.Test = len(u.d), mean(u.base), mean(u.head), "t on the ratio of sums"
	if c.N == 0 || c.Base == 0 {
		c.N = 0
		return
	}
	ratioTests(c, stats.RatioOfSums(u.base, u.head, c.Level), limit)
}

// ratioTests fills in the estimate and the p values of a ratio, of which less is better.
func ratioTests(c *eval.MetricComparison, r stats.Ratio, limit float64) {
	if c.Estimate = r.Estimate; r.SE > 0 {
		c.Interval = &[2]float64{r.Interval.Lo, r.Interval.Hi}
	}
	better, worse := r.Better(), r.Worse()
	c.PBetter, c.PWorse = &better, &worse
	if limit > 0 {
		p := r.NonInferiority(limit)
		if r.SE == 0 && r.Estimate < limit { // no unit differs from the others: as with Gaffke's bound, it takes enough of them
			p = math.Pow(max(0, 2-limit), float64(r.N))
		}
		c.PNonInferior = &p
	}
}

// fdr is the share of false discoveries among the slices that stand out.
const fdr = 0.1

// fewestInSlice is how many cases a slice needs to be shown.
const fewestInSlice = 5

// slices compares the pass rate among the cases with each tag. They are many and nobody planned for them: what stands
// out after Benjamini-Hochberg is a hint, not a verdict.
func (m *measure) slices() []eval.Slice {
	byTag := map[string][]pair{}
	for _, p := range m.pairs {
		for _, tag := range p.head.Tags {
			byTag[tag] = append(byTag[tag], p)
		}
	}
	var out []eval.Slice
	var ps []float64
	for tag, pairs := range byTag {
		if len(pairs) < fewestInSlice {
			continue
		}
		part := measure{m.Options, pairs, true}
		c := part.metric(eval.MetricPass, nil, nil)
		out = append(out, eval.Slice{Tag: tag, N: c.N, Estimate: c.Estimate, Interval: c.Interval, P: *c.PWorse})
	}
	slices.SortFunc(out, func(a, b eval.Slice) int { return cmp.Compare(a.Tag, b.Tag) })
	for _, s := range out {
		ps = append(ps, s.P)
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		out[i].P, out[i].StandsOut = p, p <= fdr
	}
	return out
}

// mostRepeats is how many repeats of a case are worth a thought.
const mostRepeats = 100

// repeatsNeeded is how many repeats of each case, on both sides, would tell an unchanged pass rate to be not worse with a power of
// 80 %, given how much the cases differ among each other and how much their repeats do: var_d = w^2 + sA^2/K + sB^2/K. -1 says that
// no number would, 0 that it is not known, since the cases were asked once or belong to clusters.
//
// Source: Miller 2024, arXiv 2411.00640; docs/verdicts.md.
func (m *measure) repeatsNeeded(margin float64) int {
	if margin == 0 || len(m.pairs) < 2 {
		return 0
	}
	var within, repeats float64
	var d []float64
	for _, p := range m.pairs {
		var sides [2]float64
		for i, c := range []*Case{p.base, p.head} {
			k := float64(c.Passed + c.Failed)
			if k < 2 || c.Cluster != "" {
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
	within /= n // of both sides together
	s := stats.NewSample(d)
	between := max(0, s.SD*s.SD-within/(repeats/(2*n)))
	z := stats.NormalQuantile(1-m.Alpha) + stats.NormalQuantile(power)
	most := margin * margin * n / (z * z) // the variance that the margin bears
	if between >= most {
		return -1
	}
	if k := math.Ceil(within / (most - between)); k <= mostRepeats {
		return max(2, int(k))
	}
	return -1
}
