// Package stats holds the formulas of evalrun's intervals and tests, on the standard library
// alone, each with its source. "Section A2" and the like refer to the design document
// statistics.md, "Verdicts: the statistics of a gate".
//
// Conventions: A is the baseline, B the candidate, a difference is B - A. A case regressed when A passed and B
// failed, and gained the other way round. "Worse" is the one-sided p of the hypothesis that B is not worse, "better"
// of the hypothesis that B is not better. A non-inferiority p is that of the hypothesis that B is worse by the margin
// or more. The argument conf is the two-sided confidence: both bounds of a 0.90 interval are one-sided 95 % bounds.
//
// Nothing here panics or returns NaN. Without evidence an interval is the whole range of the parameter and a p-value
// is 1: missing data never help a side. That is so for no units, for one unit where a variance is needed, and for an
// argument out of its range.
package stats

import "math"

// Z95 is the 95 % point of the standard normal distribution: both bounds of a two-sided 90 %
// interval are one-sided 95 % bounds.
const Z95 = 1.6448536269514722

// Interval is a confidence interval in the unit of its parameter, bounds included.
type Interval struct{ Lo, Hi float64 }

// clamp takes x into [0,1]; NaN becomes 0.
func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// probability keeps rounding from leaving [0,1]; NaN becomes 1, the p-value of no evidence.
func probability(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return min(max(p, 0), 1)
}

// inside says whether x lies strictly between lo and hi; NaN does not.
func inside(x, lo, hi float64) bool { return x > lo && x < hi }

// finite says whether v is a measurement: neither NaN nor so large that its cube, summed,
// leaves float64.
func finite(v float64) bool { return math.Abs(v) <= 1e100 }
