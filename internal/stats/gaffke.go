package stats

import (
	"math"
	"slices"
)

// The Gaffke bound for the mean of n independent units bounded below by supportMin is the
// alpha-quantile of sum w_i d_i + w_0*supportMin, w ~ Dirichlet(1,...,1) on n+1 points. Its
// coverage is conjectured, without a known counter-example; on two-valued data it equals
// Clopper-Pearson. Source: Gaffke 2005; Learned-Miller & Thomas, arXiv 1905.06208; Phan
// et al. 2021.
//
// Simulating the quantile would make a verdict at the limit depend on a seed. Dirichlet
// weights are exponential variables over their sum, so P(sum <= c) is the probability that
// a linear combination of exponentials is at most 0, which one integral gives exactly.

// Gaffke returns the lower bound with one-sided confidence 1-alpha. For an upper bound, mirror the data.
// Units below supportMin count as supportMin. No units, or bad input: supportMin.
func Gaffke(d []float64, supportMin, alpha float64) float64 {
	values := tally(d, supportMin)
	last := len(values) - 1
	if len(values) == 0 || !(alpha > 0) || values[last].at <= supportMin {
		return supportMin
	}
	if atMin, n, two := twoValued(values, supportMin); two {
		return supportMin + (values[last].at-supportMin)*betaQuantile(alpha, n-atMin, atMin+1)
	}
	below := func(c float64) float64 { return gaffkeBelow(values, supportMin, c) - alpha }
	return root(below, supportMin, values[last].at)
}

// GaffkeNonInferiority is the p of the hypothesis that the mean is -margin or less. It is the weight of the Gaffke
// distribution there, so p <= alpha just when the bound of Gaffke is at -margin or above. No units: 1.
func GaffkeNonInferiority(d []float64, supportMin, margin float64) float64 {
	values := tally(d, supportMin)
	if len(values) == 0 || math.IsNaN(margin) {
		return 1
	}
	top := values[len(values)-1].at
	switch {
	case -margin >= top:
		return 1
	case -margin <= supportMin:
		return 0
	}
	if atMin, n, two := twoValued(values, supportMin); two {
		return regIncBeta((-margin-supportMin)/(top-supportMin), n-atMin, atMin+1)
	}
	return gaffkeBelow(values, supportMin, -margin)
}

type valueCount struct{ at, count float64 }

// tally sorts, so that the result does not depend on the order of the units.
func tally(d []float64, floor float64) []valueCount {
	sorted := make([]float64, 0, len(d))
	for _, v := range d {
		if finite(v) {
			sorted = append(sorted, max(v, floor))
		}
	}
	slices.Sort(sorted)
	var out []valueCount
	for _, v := range sorted {
		if k := len(out); k > 0 && out[k-1].at == v {
			out[k-1].count++
		} else {
			out = append(out, valueCount{v, 1})
		}
	}
	return out
}

// twoValued recognises data with supportMin and one other value. Its bound is a quantile of the beta
// distribution.
func twoValued(values []valueCount, supportMin float64) (atMin, n float64, ok bool) {
	switch {
	case len(values) == 1:
		return 0, values[0].count, values[0].at > supportMin
	case len(values) == 2 && values[0].at == supportMin:
		return values[0].count, values[0].count + values[1].count, true
	}
	return 0, 0, false
}

// gaffkeBelow returns P(sum w_i d_i + w_0*supportMin <= c).
func gaffkeBelow(values []valueCount, supportMin, c float64) float64 {
	terms := []valueCount{{supportMin - c, 1}}
	var scale, mean float64
	for _, v := range values {
		if v.at != c {
			terms = append(terms, valueCount{v.at - c, v.count})
		}
	}
	for _, t := range terms {
		mean += t.at * t.count
		scale += t.at * t.at * t.count
	}
	scale = math.Sqrt(scale)
	if scale == 0 || terms[len(terms)-1].at <= 0 {
		return 1
	}
	if terms[0].at >= 0 {
		return 0
	}
	for i := range terms {
		terms[i].at /= scale
	}
	// Far from the mean, the integrand oscillates and the probability is negligible, so a conservative
	// bound is enough.
	if tailBound := chernoff(terms, mean > 0); tailBound < 1e-7 {
		if mean > 0 {
			return tailBound
		}
		return 1
	}
	return probability(0.5 - imhof(terms)/math.Pi)
}

// chernoff bounds P(Q <= 0) for positive, P(Q >= 0) for negative mean of
// Q = sum of count exponentials times at: the minimum over s of prod (1+s*at)^-count, whose
// logarithm is convex.
func chernoff(terms []valueCount, positive bool) float64 {
	sign, steepest := 1.0, -terms[0].at
	if !positive {
		sign, steepest = -1, terms[len(terms)-1].at
	}
	lo, hi := 0.0, 1/steepest
	for range 50 {
		s := (lo + hi) / 2
		var slope float64
		for _, t := range terms {
			slope += t.count * sign * t.at / (1 + s*sign*t.at)
		}
		if slope > 0 {
			lo = s
		} else {
			hi = s
		}
	}
	var logBound float64
	for _, t := range terms {
		logBound -= t.count * math.Log1p(lo*sign*t.at)
	}
	return math.Exp(min(logBound, 0))
}

// negligible is the square of a length of p in imhofIntegrand, exp(45), beyond which the integrand is 0.
const negligible = 1.2e39

// imhofIntegrand is the integrand of imhof after the substitution u = exp(pi/2*sinh(t)). 1/p has the angle theta and
// the length 1/rho, and every factor of p is at least 1 long. Products take a tenth of the time of arctangents and logarithms.
func imhofIntegrand(terms []valueCount, t float64) float64 {
	u := math.Exp(math.Pi / 2 * math.Sinh(t))
	p := complex(1, 0)
	for _, v := range terms {
		p *= power(complex(1, -v.at*u), int(v.count))
		if !(squareOf(p) < negligible) {
			return 0
		}
	}
	return imag(p) / squareOf(p) * -math.Pi / 2 * math.Cosh(t)
}

// power returns base to the n. It stops early once the length is beyond negligible.
func power(base complex128, n int) complex128 {
	product := complex(1, 0)
	for {
		if n%2 == 1 {
			product *= base
		}
		if n /= 2; n == 0 {
			return product
		}
		if base *= base; squareOf(base) > negligible {
			return base
		}
	}
}

func squareOf(z complex128) float64 { return real(z)*real(z) + imag(z)*imag(z) }

// imhof is the integral of sin(theta(u))/(u*rho(u)) over u > 0, which is
// pi*(P(Q > 0) - 1/2). Source: Imhof, Biometrika 48, 1961, for chi-squares with 2*count
// degrees of freedom. The double-exponential substitution of Takahasi & Mori 1974 and the
// trapezoidal rule, halved until two refinements agree, give ten digits and more.
func imhof(terms []valueCount) float64 {
	const limit = 3.6 // exp(pi/2*sinh(3.6)) is 1e12: beyond, rho leaves less than 1e-24
	f := func(t float64) float64 { return imhofIntegrand(terms, t) }
	step := limit / 32
	sum := f(0)
	for i := 1; i <= 32; i++ {
		sum += f(step*float64(i)) + f(-step*float64(i))
	}
	previous, agreed := sum*step, 0
	for level := 0; level < 9 && agreed < 2; level++ {
		for t := -limit + step/2; t < limit; t += step {
			sum += f(t)
		}
		step /= 2
		if now := sum * step; math.Abs(now-previous) < 1e-10 {
			previous, agreed = now, agreed+1
		} else {
			previous, agreed = now, 0
		}
	}
	return previous
}

// root finds the zero of a rising f on [lo,hi] to 1e-11 of its width. It uses regula falsi with the Illinois
// modification (Dowell & Jarratt 1971), and a bisection at every fourth step so that it cannot stall. It returns the
// lower end of the bracket, on the conservative side.
func root(f func(float64) float64, lo, hi float64) float64 {
	tolerance := 1e-11 * (hi - lo)
	fLo, fHi := f(lo), f(hi)
	if fLo >= 0 {
		return lo
	}
	if fHi <= 0 {
		return hi
	}
	for i, side := 0, 0; i < 200 && hi-lo > tolerance; i++ {
		x := hi - fHi*(hi-lo)/(fHi-fLo)
		if i%4 == 3 || !inside(x, lo, hi) {
			x = lo + (hi-lo)/2
		}
		if fx := f(x); fx <= 0 {
			lo, fLo = x, fx
			if side < 0 {
				fHi /= 2
			}
			side = -1
		} else {
			hi, fHi = x, fx
			if side > 0 {
				fLo /= 2
			}
			side = 1
		}
	}
	return lo
}
