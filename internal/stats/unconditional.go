package stats

import "math"

// When comparisons use the exact tests (docs/explanation/statistics.md).
const (
	alwaysExact = 2000   // pairs up to which they are always used
	maxExact    = 50_000 // pairs above which they are never used, because their time grows with the number of tables
	fewFlips    = 50     // expected flips at the margin up to which the asymptotic tests are not reliable
)

// Exact reports whether a comparison of n pairs uses the exact tests: when there are few pairs, or few flips are
// expected at the margin. Elsewhere the asymptotic tests keep to their level, and take no time.
func Exact(n int, margin float64) bool {
	return n <= alwaysExact || (n <= maxExact && float64(n)*margin <= fewFlips)
}

// Exact unconditional tests of paired pass/fail. A table of n pairs is its numbers of gained and regressed cases, and
// a statistic orders the tables. The p-value is the probability of a table at least as extreme as the one seen. It is
// taken at the discordance (the share of cases that flip) for which that probability is largest. So the level holds
// whatever the discordance is.
//
// Among tables with m flips, those with many gained cases are extreme: tails[m] is the least such number of gained
// cases, m+1 when no table is extreme.
//
// Source: Barnard, Biometrika 34, 1947; for paired tables Sidik, Statistics in Medicine 22, 2003.
type tails []int

// ExactNonInferiority is the p value of the hypothesis that the pass rate of B is lower by margin or more. It counts the
// tables that Tango's statistic puts at or above the one seen. Bad input, and margins outside of (-1,1): 1.
func (p Pairs) ExactNonInferiority(margin float64) float64 {
	if !p.isTable() || !inside(margin, -1, 1) {
		return 1
	}
	return p.tangoTails(-margin).most(p.N, -margin, fine)
}

// ExactWorse is the p value of the hypothesis that B is not worse. It counts the tables whose McNemar mid-p is at or
// below the one seen. To test that B is not better, exchange Gained and Regressed. Bad input: 1.
func (p Pairs) ExactWorse() float64 {
	if !p.isTable() || p.Regressed == 0 {
		return 1
	}
	return midTails(p.N, p.McNemar().MidWorse).most(p.N, 0, fine)
}

// ExactInterval is every difference that neither of the two exact tests by Tango's statistic rejects. No pairs: [-1,1].
func (p Pairs) ExactInterval(conf float64) Interval {
	if !p.isTable() {
		return Interval{-1, 1}
	}
	alpha := tail(conf)
	start := p.Tango(conf)
	return Interval{Lo: p.exactBound(start.Lo, alpha), Hi: -p.Exchanged().exactBound(-start.Hi, alpha)}
}

// Exchanged are the pairs seen from the other side.
func (p Pairs) Exchanged() Pairs { return Pairs{p.N, p.Regressed, p.Gained} }

// exactBound is the smallest difference that the test of "at most this" does not reject. near is the bound of the
// asymptotic test, where the search starts.
func (p Pairs) exactBound(near, alpha float64) float64 {
	rejected := func(d float64) bool { return p.tangoTails(d).most(p.N, d, coarse) <= alpha }
	out, in := near, p.difference()
	for step := 0.01; out > -1 && !rejected(out); step *= 2 {
		in, out = out, max(-1, out-step)
	}
	for in-out > 1e-4 {
		if mid := (in + out) / 2; rejected(mid) {
			out = mid
		} else {
			in = mid
		}
	}
	return out
}

// tangoTails are the tables where Tango's statistic for a difference d is at least its value in the table seen.
func (p Pairs) tangoTails(d float64) tails {
	return tangoTailsFrom(p.N, d, p.tangoZ(d))
}

func tangoTailsFrom(n int, d, least float64) tails {
	least -= 1e-9 * max(1, math.Abs(least))
	return newTails(n, func(g, r int) bool { return tangoZ(float64(n), float64(g), float64(r), d) >= least })
}

// midTails are the tables whose mid-p is at most p, counted by regressed cases.
func midTails(n int, p float64) tails {
	return newTails(n, func(r, g int) bool { return Pairs{Gained: g, Regressed: r}.McNemar().MidWorse <= p*(1+1e-9) })
}

// newTails finds the limits for a statistic that rises with the first count and falls with the second, so that the
// limits never fall.
func newTails(n int, extreme func(first, second int) bool) tails {
	out := make(tails, n+1)
	k := 0
	for m := range out {
		for k <= m && !extreme(k, m-k) {
			k++
		}
		out[m] = k
	}
	return out
}

// Steps per standard deviation of the number of flips, in which the discordance is searched.
const (
	coarse = 1.0
	fine   = 3.0
)

// most is the largest probability of the tables over all discordances, at a difference d. The probability is smooth
// on the scale of a standard deviation of arcsin(sqrt(discordance)), which is 1/(2*sqrt(n)) everywhere; the best step
// is refined.
func (t tails) most(n int, d, perDeviation float64) float64 {
	from := math.Asin(math.Sqrt(math.Abs(d)))
	width := math.Pi/2 - from
	steps := int(math.Ceil(width * 2 * math.Sqrt(float64(n)) * perDeviation))
	at := func(x float64) float64 {
		root := math.Sin(from + width*min(max(x/float64(steps), 0), 1))
		return t.probability(n, d, max(root*root, math.Abs(d)))
	}
	best, where := 0.0, 0.0
	for i := range steps + 1 {
		if p := at(float64(i)); p > best {
			best, where = p, float64(i)
		}
	}
	if perDeviation < fine {
		return best
	}
	lo, hi := where-1, where+1
	for range 20 { // golden section
		a, b := hi-(hi-lo)/math.Phi, lo+(hi-lo)/math.Phi
		pa, pb := at(a), at(b)
		best = max(best, pa, pb)
		if pa < pb {
			lo = a
		} else {
			hi = b
		}
	}
	return probability(best)
}

// probability is the probability of the tables when a share psi of the cases flips and the difference is d, summed
// over the number of flips.
func (t tails) probability(n int, d, psi float64) float64 {
	if psi <= 0 {
		if t[0] == 0 {
			return 1
		}
		return 0
	}
	share := clamp((psi + d) / 2 / psi) // of the flips, the ones that count as extreme
	centre, spread := float64(n)*psi, 7*math.Sqrt(float64(n)*psi*(1-psi))+7
	from, to := max(0, int(centre-spread)), min(n, int(centre+spread))
	flips, extreme := newWalk(psi), newWalk(share)
	upper := extreme.atLeast(from, t[from])
	sum := 0.0
	for m := from; ; m++ {
		sum += flips.at(n, m) * upper
		if m == to {
			return sum
		}
		upper += share * extreme.at(m, t[m]-1) // of m+1, the same limit
		for k := t[m]; k < t[m+1]; k++ {
			upper -= extreme.at(m+1, k)
		}
		for k := t[m+1]; k < t[m]; k++ {
			upper += extreme.at(m+1, k)
		}
	}
}

type binomial struct {
	yes, no float64 // logarithms
	factorials
}

func (b binomial) at(m, k int) float64 {
	if k < 0 || k > m {
		return 0
	}
	return math.Exp(b.choose(m, k) + logTimes(k, b.yes) + logTimes(m-k, b.no))
}

// walk is a binomial whose probabilities are asked for one next to the other: each follows from the one before.
type walk struct {
	binomial
	never, odds float64
	m, k, steps int // of the last probability, and how many more follow before rounding errors end
	last        float64
}

func newWalk(p float64) *walk {
	return &walk{binomial: binomial{math.Log(p), math.Log1p(-p), logFactorials()}, never: 1 - p, odds: p / (1 - p)}
}

func (w *walk) at(m, k int) float64 {
	switch up, aside := m-w.m, k-w.k; {
	case k < 0 || k > m:
		return 0
	case w.steps == 0 || up < 0 || up > 1 || aside < -1 || aside > 1:
		w.last, w.steps = w.binomial.at(m, k), 64
	default:
		if up == 1 {
			w.last *= w.never * float64(m) / float64(m-w.k)
		}
		switch aside {
		case 1:
			w.last *= w.odds * float64(m-w.k) / float64(k)
		case -1:
			w.last *= float64(w.k) / (w.odds * float64(m-k))
		}
	}
	w.m, w.k = m, k
	if w.steps--; !(w.last > 1e-200) || w.never == 0 {
		w.steps = 0
	}
	return w.last
}

func (b binomial) atLeast(m, k int) float64 {
	switch {
	case k <= 0:
		return 1
	case k > m:
		return 0
	}
	return regIncBeta(math.Exp(b.yes), float64(k), float64(m-k+1))
}

// logTimes is n times a logarithm, 0 for none of them.
func logTimes(n int, log float64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * log
}
