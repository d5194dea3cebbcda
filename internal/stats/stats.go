// Package stats has the formulas of evalrun's intervals and tests, each with its source. It uses only the
// standard library. docs/explanation/statistics.md says which of them decides what.
//
// Conventions: A is the baseline, B the candidate, and a difference is B - A. A case regressed if A passed
// and B failed, and gained if it was the other way round. "Worse" is the one-sided p of the hypothesis that
// B is not worse, "better" of the hypothesis that B is not better. A non-inferiority p is that of the
// hypothesis that B is worse by the margin or more. The argument conf is the two-sided confidence: both
// bounds of a 0.90 interval are one-sided 95 % bounds.
//
// Functions never panic or return NaN. Without evidence, an interval is the whole range of the parameter
// and a p-value is 1, so that missing data never help a side. This applies to no units, to one unit if a
// variance is needed, and to arguments out of range.
package stats

import (
	"math"
)

// Z95 is the 95 % point of the standard normal distribution: both bounds of a two-sided 90 %
// interval are one-sided 95 % bounds.
const Z95 = 1.6448536269514722

// Interval is a confidence interval in the unit of its parameter, bounds included.
type Interval struct{ Lo, Hi float64 }

// clamp moves x into [0,1]; NaN becomes 0.
func clamp(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return min(max(x, 0), 1)
}

// probability removes rounding errors outside [0,1]. NaN becomes 1, the p-value without evidence.
func probability(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return min(max(p, 0), 1)
}

// inside reports whether lo < x < hi; false for NaN.
func inside(x, lo, hi float64) bool { return x > lo && x < hi }

// finite reports whether v is a measurement: not NaN, and so small that a sum of its cubes fits into a
// float64.
func finite(v float64) bool { return math.Abs(v) <= 1e100 }
