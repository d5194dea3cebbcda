// Package stats holds the formulas of evalrun's intervals and tests, on the standard library
// alone, each with its source.
package stats

import "math"

// Z95 is the 95 % point of the standard normal distribution: both bounds of a two-sided 90 %
// interval are one-sided 95 % bounds.
const Z95 = 1.6448536269514722

// Wilson is the score interval for a proportion p observed on n independent units, z being
// the normal quantile of each bound (Wilson, JASA 22, 1927). For a mean of values in
// [0,1] in place of a proportion it is conservative, since their variance is at most
// p(1-p). With n = 0 nothing is known: [0,1].
func Wilson(p, n, z float64) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	z2 := z * z
	centre := p + z2/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	scale := 1 + z2/n
	return math.Max(0, (centre-half)/scale), math.Min(1, (centre+half)/scale)
}
