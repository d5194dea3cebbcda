package stats

import "math"

// NotWorseTables are the outcomes of n paired cases that are called not worse within margin at one-sided alpha. The
// test is the exact one for up to mostExact pairs, and Tango's above. None is called so where (1-margin)^n is above
// alpha.
type NotWorseTables struct {
	n     int
	tails tails
}

// NewNotWorseTables finds the least statistic that the exact test rejects at.
// Source: section C4, C5, C9.
func NewNotWorseTables(n int, margin, alpha float64) NotWorseTables {
	if n <= 0 || !inside(margin, 0, 1) || n < MinCasesConstant(alpha, margin) {
		return NotWorseTables{n: n}
	}
	least := NormalQuantile(1 - alpha)
	if n <= mostExact {
		lo, hi := 0.0, 2*least+5
		for range 14 {
			if mid := (lo + hi) / 2; tangoTailsFrom(n, -margin, mid).most(n, -margin, coarse) <= alpha {
				hi = mid
			} else {
				lo = mid
			}
		}
		least = hi
	}
	return NotWorseTables{n, tangoTailsFrom(n, -margin, least)}
}

// Probability returns the probability of being called not worse when a share psi of the cases flips and the
// difference of the pass rates is d.
func (t NotWorseTables) Probability(d, psi float64) float64 {
	if t.tails == nil {
		return 0
	}
	return probability(t.tails.probability(t.n, d, max(psi, math.Abs(d))))
}

// manyTables is the number of cases above which plans use the normal approximation, because tables would
// take too much memory and time.
const manyTables = 100_000

// CasesForPower returns the smallest number of paired cases, with one repeat each, that are called not
// worse within margin with probability power. It assumes that nothing changed, and that a share psi of the
// cases flips anyway. The power rises with n except for small steps back, so bisection finds the number
// approximately. No margin: MaxInt32. Source: section C9.
func CasesForPower(psi, margin, alpha, power float64) int {
	enough := func(n int) bool { return NewNotWorseTables(n, margin, alpha).Probability(0, psi) >= power }
	lo := MinCasesConstant(alpha, margin) - 1
	hi := max(lo+1, CasesNeeded(psi, margin, alpha, power))
	if hi > manyTables || !inside(margin, 0, 1) || !inside(power, 0, 1) {
		return hi // the normal approximation is good here, or no number is enough
	}
	for !enough(hi) && hi < manyTables {
		lo, hi = hi, hi+hi/4+1
	}
	for hi-lo > max(1, hi/200) {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// PowerOfMean is the probability with which a mean of n differences is called not worse within margin when nothing
// changed. A share psi of them is 1 or -1, and the others are 0. It uses the normal approximation, and is 0 where
// (1-margin)^n is above alpha. Source: section A2.
func PowerOfMean(n int, psi, margin, alpha float64) float64 {
	if n < MinCasesConstant(alpha, margin) {
		return 0
	}
	if psi <= 0 {
		return 1
	}
	return normalCDF(margin*math.Sqrt(float64(n)/psi) - NormalQuantile(1-alpha))
}
