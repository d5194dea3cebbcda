package compare

import (
	"math"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/internal/stats"
)

// Tests of a weighted mean of independent units whose values are bounded below. Weights are cluster sizes, scaled
// to the mean 1. The tests hold given the cluster sizes.

// atMostZero is the p value of the hypothesis that the mean is 0 or less, where no value is below floor, which is
// negative. It uses Student's test when the units are many and even enough (stats.UseT), and Gaffke's bound
// otherwise. Student's test knows only the losses in the data. So it must also be unlikely that the data missed
// losses of size floor that are frequent enough to make the mean 0.
//
// The slice room is scratch space of len(x): samples may have a million units, and a bound runs fifty tests.
func atMostZero(x, weights []float64, floor float64, room []float64) float64 {
	mean := weightedMean(x, weights)
	e := residuals(room, x, weights, mean)
	if stats.UseT(e) {
		p := max(stats.NonInferiorityT(e, 0), stats.NonInferiorityHall(e, 0))
		if mean > 0 {
			p = max(p, math.Pow(floor/(floor-mean), effective(weights)))
		}
		return p
	}
	return bounded(x, weights, floor, room)
}

// bounded is atMostZero by Gaffke's bound alone.
func bounded(x, weights []float64, floor float64, room []float64) float64 {
	scaled, largest := room[:len(x)], slices.Max(weights)
	for i := range x {
		scaled[i] = weights[i] / largest * x[i]
	}
	return stats.GaffkeNonInferiority(roundedIn(scaled, scaled, floor), floor, 0)
}

// boundedBySeen is bounded with the least value seen instead of the floor, which the samples of repeats hardly ever
// reach. A value that falls never lowers it. It must also be unlikely that the data missed values at the floor that are
// frequent enough to make the mean 0.
func boundedBySeen(x, weights []float64, floor float64, room []float64) float64 {
	mean := weightedMean(x, weights)
	if mean <= 0 {
		return 1
	}
	seen := max(floor, min(slices.Min(x), 0))
	return max(bounded(x, weights, seen, room), math.Pow(floor/(floor-mean), effective(weights)))
}

// lowerBound returns the lower bound of the mean of d, in [-1,1], by atMostZero, with error alpha.
func lowerBound(d, weights []float64, alpha float64) float64 {
	e := residuals(make([]float64, len(d)), d, weights, weightedMean(d, weights))
	if !stats.UseT(e) && slices.Max(weights) == slices.Min(weights) {
		return stats.Gaffke(roundedIn(e, d, -1), -1, alpha)
	}
	return boundBy(atMostZero, d, weights, alpha)
}

// boundBy is the least mean of d, in [-1,1], that a test of "0 or less" does not reject.
func boundBy(test func(x, weights []float64, floor float64, room []float64) float64, d, weights []float64, alpha float64) float64 {
	room, shifted := make([]float64, len(d)), make([]float64, len(d))
	return bisect(-1, weightedMean(d, weights), func(bound float64) bool {
		for i := range d {
			shifted[i] = d[i] - bound
		}
		return test(shifted, weights, -1-bound, room) <= alpha
	})
}

// means tests the mean of the differences of independent units, in [-1,1]. Where units weigh the same and differ by a
// whole case or not at all, whatever made them, the exact tests count them. Elsewhere Gaffke's bound decides, but never
// more boldly than the exact test of the units rounded up to whole cases, and never more cautiously than that of the
// units rounded down. So a unit that gets worse never helps, even where it changes the test.
type means struct {
	d, weights    []float64
	shifted, room []float64 // scratch space for the tests
	even          bool      // units weigh the same
	smooth        bool      // pseudo-values, which are hardly ever whole
	up, down      counts    // of the units rounded to whole cases
}

// newSmooth are means of pseudo-values. They serve notWorse alone.
func newSmooth(d, weights []float64) *means {
	return &means{d: d, weights: weights, smooth: true, shifted: make([]float64, len(d)), room: make([]float64, len(d))}
}

// notWorse is the p value of the hypothesis that the mean of pseudo-values is -margin or less.
func (t *means) notWorse(margin float64) float64 {
	for i, x := range t.d {
		t.shifted[i] = x + margin
	}
	return max(atMostZero(t.shifted, t.weights, margin-1, t.room), reach(margin, effective(t.weights)))
}

// rounding is how far from a whole number a mean may be for reasons of computing.
const rounding = 1e-9

func newMeans(d, weights []float64, margin float64) means {
	t := means{d: d, weights: weights, even: slices.Max(weights) == slices.Min(weights)}
	exact := margin > 0 && stats.Exact(len(d), margin)
	t.up, t.down = counts{n: len(d), exact: exact}, counts{n: len(d), exact: exact}
	for _, x := range d {
		t.up.count(math.Ceil(x - rounding))
		t.down.count(math.Floor(x + rounding))
	}
	if !t.whole() {
		t.shifted, t.room = make([]float64, len(d)), make([]float64, len(d))
	}
	return t
}

// whole reports whether each unit counts as one case that got better, worse, or neither.
func (t *means) whole() bool { return t.even && !t.smooth && t.up == t.down }

// atMost is the p value of the hypothesis that the mean is limit or less.
func (t *means) atMost(limit float64) float64 {
	if t.whole() {
		return t.up.atMost(limit)
	}
	p := t.byBound(limit)
	if t.even {
		p = min(max(p, t.up.atMost(limit)), t.down.atMost(limit))
	}
	return p
}

// byBound is atMost by Gaffke's bound alone.
func (t *means) byBound(limit float64) float64 {
	for i, x := range t.d {
		t.shifted[i] = x - limit
	}
	p := boundedBySeen(t.shifted, t.weights, -1-limit, t.room)
	if limit < 0 {
		p = max(p, reach(-limit, effective(t.weights)))
	}
	return p
}

// bound is the least mean that the tests do not reject.
func (t *means) bound(alpha float64) float64 {
	if t.whole() {
		return t.up.bound(alpha)
	}
	lo := boundBy(boundedBySeen, t.d, t.weights, alpha)
	if t.even && t.up.atMost(lo) > alpha {
		lo = min(lo, t.up.bound(alpha))
	}
	if t.even && t.down.atMost(lo) <= alpha {
		lo = max(lo, t.down.bound(alpha))
	}
	return lo
}

// counts are the units that differ by a whole case.
type counts struct {
	n, gained, regressed int
	exact                bool // the exact tests are feasible, and wanted
}

func (t *counts) count(d float64) {
	switch {
	case d > 0:
		t.gained++
	case d < 0:
		t.regressed++
	}
}

// knownTables are p values of exact tests, which take a moment: arms, repeats and simulations meet the same tables.
var knownTables = struct {
	sync.Mutex
	p map[tableAt]float64
}{p: map[tableAt]float64{}}

type tableAt struct {
	counts
	limit float64
}

const mostKnown = 1 << 16

// atMost is the p value of the hypothesis that the mean is limit or less.
func (t *counts) atMost(limit float64) float64 {
	at := tableAt{*t, limit}
	knownTables.Lock()
	p, known := knownTables.p[at]
	knownTables.Unlock()
	if known {
		return p
	}
	switch {
	case limit == 0 && t.exact:
		p = t.pairs().Exchanged().ExactWorse()
	case limit == 0:
		return t.pairs().McNemar().MidBetter
	case t.exact:
		p = t.pairs().ExactNonInferiority(-limit)
	default:
		_, p = t.pairs().TangoNonInferiority(-limit)
		return p
	}
	knownTables.Lock()
	defer knownTables.Unlock()
	if len(knownTables.p) >= mostKnown {
		clear(knownTables.p)
	}
	knownTables.p[at] = p
	return p
}

func (t *counts) pairs() stats.Pairs {
	return stats.Pairs{N: t.n, Gained: t.gained, Regressed: t.regressed}
}

func (t *counts) bound(alpha float64) float64 {
	if t.exact {
		return t.pairs().ExactInterval(1 - 2*alpha).Lo
	}
	return t.pairs().Tango(1 - 2*alpha).Lo
}

// bisect finds where holds changes from false at hi to true at lo, to 1e-5 of the distance. It returns the side on
// which it holds.
func bisect(lo, hi float64, holds func(float64) bool) float64 {
	for tolerance := 1e-5 * (hi - lo); hi-lo > tolerance; {
		if mid := (lo + hi) / 2; holds(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// manyUnits is the number of units from which on values are rounded down for Gaffke's bound: its cost grows with
// the number of different values.
const manyUnits = 2000

// roundedIn rounds x so that few different values remain, and errs on the safe side. It writes to out, which may be x.
func roundedIn(out, x []float64, floor float64) []float64 {
	if len(x) < manyUnits {
		return x
	}
	const steps = 500
	for i, v := range x {
		out[i] = max(floor, math.Floor(v*steps+1e-9)/steps)
	}
	return out
}

// effective is the effective number of units when the largest may hide a loss: one over its share of the weight.
func effective(weights []float64) float64 {
	if len(weights) == 0 {
		return 0
	}
	return float64(len(weights)) / slices.Max(weights)
}

func weightedMean(x, weights []float64) float64 {
	total := 0.0
	for i, v := range x {
		total += weights[i] * v
	}
	return total / float64(max(1, len(x)))
}

// residuals are weighted deviations from the mean, shifted by the mean, written to room: their standard error is
// the one of a mean over clustered cases.
//
// Source: Miller 2024, arXiv 2411.00640, with G/(G-1); docs/explanation/verdicts.md.
func residuals(room, x, weights []float64, mean float64) []float64 {
	out := room[:len(x)]
	for i, v := range x {
		out[i] = mean + weights[i]*(v-mean)
	}
	return out
}

func scaledBy(factor float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = factor * v
	}
	return out
}
