package stats

import "math"

// Pairs are the counts of a paired pass/fail comparison: cases, and those of them that B gained and that it regressed.
type Pairs struct{ N, Gained, Regressed int }

// mcNemar holds the p-values of the sign test on the discordant pairs of a paired pass/fail
// comparison: exact (conditional on their number) and mid-p, one-sided and two-sided.
// Without a flip the exact ones are 1, the one-sided mid-p are 0.5 and MidTwoSided is 1.
type mcNemar struct{ Worse, Better, TwoSided, MidWorse, MidBetter, MidTwoSided float64 }

// McNemar tests regressed against gained flips, however many cases there are: X ~ Bin(regressed+gained, 1/2), exact
// P(X >= regressed), mid-p P(X > regressed) + P(X = regressed)/2. Negative counts give the
// p-values of no flips.
// Source: McNemar 1947; mid-p: Fagerland, Lydersen & Laake, BMC Med Res Methodol 13:91,
// 2013. MidTwoSided is their 2*(smaller exact tail) - P(X = regressed), and
// 1 - P(X = regressed)/2 for as many gained as regressed.
func (p Pairs) McNemar() mcNemar {
	regressed, gained := p.Regressed, p.Gained
	if regressed < 0 || gained < 0 || regressed+gained == 0 {
		return mcNemar{1, 1, 1, 0.5, 0.5, 1}
	}
	r, g := float64(regressed), float64(gained)
	point := math.Exp(logChoose(regressed+gained, regressed) - (r+g)*math.Ln2)
	atLeast := func(k, rest float64) float64 { return regIncBeta(0.5, k, rest+1) }
	m := mcNemar{Worse: atLeast(r, g), Better: atLeast(g, r)}
	m.TwoSided = min(1, 2*min(m.Worse, m.Better))
	m.MidWorse = probability(m.Worse - point/2)
	m.MidBetter = probability(m.Better - point/2)
	m.MidTwoSided = probability(2*min(m.Worse, m.Better) - point)
	if regressed == gained {
		m.MidTwoSided = probability(1 - point/2)
	}
	return m
}

// tangoZ is the score statistic T(d) for the hypothesis that the difference is d in [-1,1]. q is the constrained
// maximum-likelihood estimate of the probability of a regression. Two limits: the root of the quadratic must have the
// form without cancellation, and q >= max(0,-d). Otherwise tables with only one kind of flip give NaN, or bounds that
// are off by more than 1. Where the hypothesis leaves no variance, any deviation from it is infinite.
func tangoZ(n, g, r, d float64) float64 {
	a, b, c := 2*n, -g-r+(2*n-g+r)*d, -r*d*(1-d)
	root := math.Sqrt(max(0, b*b-4*a*c))
	q := (root - b) / (2 * a)
	if b > 0 {
		q = -2 * c / (b + root)
	}
	q = max(q, 0, -d)
	deviation := g - r - n*d
	v := n * (2*q + d*(1-d))
	if v > n*1e-15 {
		return deviation / math.Sqrt(v)
	}
	if math.Abs(deviation) <= n*1e-12 {
		return 0
	}
	return math.Copysign(math.MaxFloat64, deviation)
}

func (p Pairs) isTable() bool {
	return p.N > 0 && p.Gained >= 0 && p.Regressed >= 0 && p.Gained+p.Regressed <= p.N
}

// tangoZ is the score statistic of these pairs for a difference d.
func (p Pairs) tangoZ(d float64) float64 {
	return tangoZ(float64(p.N), float64(p.Gained), float64(p.Regressed), d)
}

// Tango is the score interval for the difference of two paired pass rates on n pairs:
// every d that T(d) does not reject. With no flips it is -+z^2/(n+z^2). No pairs: [-1,1].
// Source: Tango, Statistics in Medicine 17:891, 1998. T falls in d, so
// bisection on either side of the estimate finds the bounds to 1e-15.
func (p Pairs) Tango(conf float64) Interval {
	if !p.isTable() {
		return Interval{-1, 1}
	}
	z := critical(conf)
	bound := func(in, out float64) float64 {
		for range 60 {
			mid := (in + out) / 2
			if math.Abs(p.tangoZ(mid)) <= z {
				in = mid
			} else {
				out = mid
			}
		}
		return in
	}
	estimate := p.difference()
	return Interval{bound(estimate, -1), bound(estimate, 1)}
}

// TangoNonInferiority tests the hypothesis that the pass rate of B is lower by margin or more: z = T(-margin), p =
// 1-Phi(z). The margin is a difference of rates strictly between -1 and 1; a negative one tests superiority. Bad
// input or no variance at all (margin 0 without flips): z = 0, p = 1. Source: as Tango.
func (p Pairs) TangoNonInferiority(margin float64) (z, probability float64) {
	if !p.testable(margin) {
		return 0, 1
	}
	z = p.tangoZ(-margin)
	return z, normalCDF(-z)
}

func (p Pairs) testable(margin float64) bool {
	return p.isTable() && inside(margin, -1, 1) && (margin != 0 || p.Gained+p.Regressed > 0)
}

func (p Pairs) difference() float64 { return float64(p.Gained-p.Regressed) / float64(p.N) }
