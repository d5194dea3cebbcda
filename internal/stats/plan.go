package stats

import "math"

// defaultPower is the planned probability that a comparison succeeds if nothing changed (section A2).
const defaultPower = 0.80

// manyCases means that no number of cases is enough.
const manyCases = math.MaxInt32

// zSum returns z_{1-alpha} + z_{power}, alpha one-sided, and not below 0.
func zSum(alpha, power float64) float64 {
	return max(0, NormalQuantile(1-alpha)+NormalQuantile(power))
}

// cases rounds up. NaN and too large numbers become manyCases.
func cases(n float64) int {
	if !(n < manyCases) {
		return manyCases
	}
	return max(1, int(math.Ceil(n-1e-9)))
}

// NonInferiorityPlan describes a paired pass/fail comparison to come. Alpha is one-sided,
// Discordance the share of cases whose result differs, TrueDiff the expected B - A.
type NonInferiorityPlan struct{ Alpha, Power, Discordance, Margin, TrueDiff float64 }

// SampleSizeNonInferiority is the number of paired cases that show non-inferiority within Margin with probability
// Power. It is (z_{1-alpha}+z_power)^2*psi/(margin+diff)^2, rounded up. The share psi bounds the variance of a
// difference of 0 and +-1 from above. A margin that the expected loss uses up: MaxInt32. Source: normal approximation
// (Nam 1997, to first order); section A2.
func SampleSizeNonInferiority(p NonInferiorityPlan) int {
	distance := p.Margin + p.TrueDiff
	if !(distance > 0) {
		return manyCases
	}
	z := zSum(p.Alpha, p.Power)
	return cases(z * z * max(0, p.Discordance) / (distance * distance))
}

// MDE is the minimum detectable effect, a difference of rates or scores in [0,1]. It is what n paired cases detect
// with the given power at one-sided alpha: (z_{1-alpha}+z_power)* sqrt(variance/n). For pass/fail the variance is the
// discordance. No cases: 1. Source: section A2.
func MDE(n int, alpha, power, variance float64) float64 {
	if n <= 0 || !finite(variance) {
		return 1
	}
	return min(1, zSum(alpha, power)*math.Sqrt(max(0, variance)/float64(n)))
}

// minCasesWithoutFlip is the smallest number of paired cases with which Tango can show
// non-inferiority within margin at one-sided alpha when no case flips:
// floor(z^2*(1/margin-1))+1. No margin: MaxInt32.
// Source: Tango's statistic at gained = regressed = 0; section A2 (.05 needs 52).
func minCasesWithoutFlip(alpha, margin float64) int {
	if !(margin > 0) {
		return manyCases
	}
	z := max(0, NormalQuantile(1-alpha))
	n := z * z * max(0, 1/margin-1)
	if n >= manyCases {
		return manyCases
	}
	return int(math.Floor(n)) + 1
}

// MinCasesConstant is the same for scores, where no unit differs and Gaffke decides: the
// smallest n with (1-margin)^n <= alpha for differences in [-1,1]. No margin: MaxInt32.
// Source: the Gaffke bound of constant data; section A2 (.05 needs 59).
func MinCasesConstant(alpha, margin float64) int {
	switch {
	case !inside(alpha, 0, 1):
		return 1
	case margin >= 1:
		return 1
	case !(margin > 0):
		return manyCases
	}
	return cases(math.Log(alpha) / math.Log1p(-margin))
}

// Discordance estimates the share of cases that flip, (gained+regressed+1)/(n+2): never 0, since few cases without
// flips do not rule flips out. No cases: 1/2. Source: section A2, "how many more".
func Discordance(n, gained, regressed int) float64 {
	if !pairedTable(n, gained, regressed) {
		return 0.5
	}
	return float64(gained+regressed+1) / (float64(n) + 2)
}

// CasesNeeded is the number of paired cases that decide a comparison within margin with probability power if nothing
// changed. The variance is Discordance for pass/fail, and the squared SD of the differences for scores. It is never
// below minCasesWithoutFlip. For a candidate that looks worse or better by diff, pass the distance |margin+diff|.
// Source: section A2, "how many more".
func CasesNeeded(variance, margin, alpha, power float64) int {
	return max(
		SampleSizeNonInferiority(NonInferiorityPlan{Alpha: alpha, Power: power, Discordance: variance, Margin: margin}),
		minCasesWithoutFlip(alpha, margin),
	)
}
