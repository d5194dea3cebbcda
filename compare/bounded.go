package compare

import (
	"math"
	"slices"

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
	largest := slices.Max(weights)
	scaled := e // e is no longer needed
	for i := range x {
		scaled[i] = weights[i] / largest * x[i]
	}
	return stats.GaffkeNonInferiority(roundedIn(scaled, scaled, floor), floor, 0)
}

// lowerBound returns the lower bound of the mean of d, in [-1,1], by atMostZero, with error alpha.
func lowerBound(d, weights []float64, alpha float64) float64 {
	mean := weightedMean(d, weights)
	room := make([]float64, len(d))
	if e := residuals(room, d, weights, mean); !stats.UseT(e) && slices.Max(weights) == slices.Min(weights) {
		return stats.Gaffke(roundedIn(slices.Clone(d), d, -1), -1, alpha)
	}
	shifted := make([]float64, len(d))
	return bisect(-1, mean, func(bound float64) bool {
		for i := range d {
			shifted[i] = d[i] - bound
		}
		return atMostZero(shifted, weights, -1-bound, room) <= alpha
	})
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

// weighted multiplies x by the weights of its units: cluster sums, up to a constant factor.
func weighted(x, weights []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = weights[i] * v
	}
	return out
}
