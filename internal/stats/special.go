package stats

import "math"

// normalCDF is the standard normal distribution function; NaN gives 1.
// Source: Abramowitz & Stegun 26.2.29, through erfc, which keeps the lower tail's digits.
func normalCDF(x float64) float64 { return probability(math.Erfc(-x/math.Sqrt2) / 2) }

// NormalQuantile is the inverse of normalCDF. A p outside (0,1) is moved to the nearest probability inside that a
// float64 distinguishes from 0 and 1, so the result is always finite. Source: Halley's iteration on erfc from
// math.Erfcinv (in the far tail, where that loses its digits, from the leading term of the asymptotic expansion, A&S
// 26.2.23).
func NormalQuantile(p float64) float64 {
	if math.IsNaN(p) || p == 0.5 {
		return 0
	}
	if p > 0.5 {
		return -NormalQuantile(max(1-p, 0x1p-54))
	}
	p = max(p, 1e-300)
	z := -math.Sqrt(-2 * math.Log(p))
	if p > 1e-10 {
		z = -math.Sqrt2 * math.Erfcinv(2*p)
	}
	for range 6 {
		e := (normalCDF(z) - p) / (math.Exp(-z*z/2) / math.Sqrt(2*math.Pi))
		step := e / (1 + z*e/2)
		z -= step
		if math.Abs(step) <= 1e-16*math.Abs(z) {
			break
		}
	}
	return z
}

// critical returns the normal quantile of each bound of a two-sided interval.
func critical(conf float64) float64 { return -NormalQuantile(tail(conf)) }

// tail returns the probability beyond each bound of a two-sided interval.
func tail(conf float64) float64 { return (1 - clamp(conf)) / 2 }

// regIncBeta is the regularised incomplete beta function I_x(a,b): the probability that a
// Beta(a,b) variable is at most x. A shape that is not positive gives the point mass of the
// limit: at 0 for a <= 0, at 1 for b <= 0.
// Source: continued fraction DLMF 8.17.22, evaluated by Lentz's method.
func regIncBeta(x, a, b float64) float64 {
	switch {
	case math.IsNaN(x + a + b):
		return 1
	case x <= 0:
		return 0
	case x >= 1 || a <= 0:
		return 1
	case b <= 0:
		return 0
	case x > (a+1)/(a+b+2):
		return probability(1 - betaFraction(1-x, b, a))
	}
	return probability(betaFraction(x, a, b))
}

func betaFraction(x, a, b float64) float64 {
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	front := math.Exp(a*math.Log(x) + b*math.Log1p(-x) - logBeta(a, b))
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m <= 100_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/away(1+even*d), away(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/away(1+odd*d), away(1+odd/c)
		f *= d * c
		if math.Abs(d*c-1) < 1e-16 {
			break
		}
	}
	return front * f / a
}

func logBeta(a, b float64) float64 { return lgamma(a) + lgamma(b) - lgamma(a+b) }

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// betaQuantile is the x with regIncBeta(x,a,b) = p; p is taken into [0,1].
// Source: bisection, which cannot leave the unit interval and ends at neighbouring floats.
func betaQuantile(p, a, b float64) float64 {
	switch p = clamp(p); {
	case p == 0 || math.IsNaN(a+b):
		return 0
	case p == 1:
		return 1
	}
	lo, hi := 0.0, 1.0
	for range 200 {
		mid := (lo + hi) / 2
		if mid == lo || mid == hi {
			break
		}
		if regIncBeta(mid, a, b) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// hugeDF is the number of degrees of freedom from which Student's t agrees with the normal distribution to
// 1e-8.
const hugeDF = 1e8

// studentTCDF is the distribution function of Student's t with df > 0 degrees of freedom,
// not necessarily whole (Welch). df <= 0 or NaN gives 1.
// Source: A&S 26.7.1, P(|T| > t) = I_{df/(df+t^2)}(df/2, 1/2).
func studentTCDF(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !(df > 0):
		return 1
	case df > hugeDF:
		return normalCDF(t)
	}
	// The smaller of the two complementary arguments is the more exact one.
	var beyond float64
	if t2 := t * t; t2 < df {
		beyond = (1 - regIncBeta(t2/(df+t2), 0.5, df/2)) / 2
	} else {
		beyond = regIncBeta(1/(1+t2/df), df/2, 0.5) / 2
	}
	if t > 0 {
		return probability(1 - beyond)
	}
	return probability(beyond)
}

// StudentTQuantile is the inverse of studentTCDF, always finite: p outside (0,1) is taken as
// in NormalQuantile, and df <= 0 gives 0.
// Source: the beta quantiles behind A&S 26.7.1.
func StudentTQuantile(p, df float64) float64 {
	switch {
	case math.IsNaN(p) || p == 0.5 || !(df > 0):
		return 0
	case df > hugeDF:
		return NormalQuantile(p)
	case p < 0.5:
		return -StudentTQuantile(1-max(p, 0x1p-53), df)
	}
	beyond := max(2*(1-p), 0x1p-53)
	if beyond > 0.5 {
		y := betaQuantile(1-beyond, 0.5, df/2)
		return math.Sqrt(df * y / (1 - y))
	}
	x := max(betaQuantile(beyond, df/2, 0.5), 0x1p-1000)
	return math.Sqrt(df * (1 - x) / x)
}
