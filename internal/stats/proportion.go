package stats

import "math"

// Wilson is the score interval for a proportion p observed on n independent units, z being
// the normal quantile of each bound (Wilson, JASA 22, 1927; section A2). For a mean of values
// in [0,1] in place of a proportion it is conservative, since their variance is at most
// p(1-p). With n = 0 nothing is known: [0,1].
func Wilson(p, n, z float64) (lo, hi float64) {
	if !(n > 0) || math.IsNaN(p+z) {
		return 0, 1
	}
	z2 := z * z
	centre := p + z2/(2*n)
	half := z * math.Sqrt(max(0, p*(1-p)/n+z2/(4*n*n)))
	scale := 1 + z2/n
	return clamp((centre-half)/scale, 0), clamp((centre+half)/scale, 0)
}

// ClopperPearson is the exact interval for the proportion behind x passes in n cases: at
// least conf for every true proportion, hence wide. x outside [0,n] or n = 0: [0,1].
// Source: Clopper & Pearson, Biometrika 26, 1934; section A2, option "strict".
func ClopperPearson(x, n int, conf float64) Interval {
	if n <= 0 || x < 0 || x > n {
		return Interval{0, 1}
	}
	a := tail(conf)
	return Interval{
		Lo: betaBound(a, float64(x), float64(n-x)+1),
		Hi: 1 - betaBound(a, float64(n-x), float64(x)+1),
	}
}

// betaBound is a lower bound that is 0 where nothing was counted (shape 0).
func betaBound(p, a, b float64) float64 {
	if a <= 0 {
		return 0
	}
	return BetaQuantile(p, a, b)
}

// ClopperPearsonUpper is the exact one-sided upper bound with confidence conf; for x = 0 it is
// 1-(1-conf)^(1/n), the "rule of three". Bad input: 1.
// Source: as ClopperPearson; section A2, "0 failures".
func ClopperPearsonUpper(x, n int, conf float64) float64 {
	if n <= 0 || x < 0 || x > n {
		return 1
	}
	return 1 - betaBound(1-clamp(conf, 0), float64(n-x), float64(x)+1)
}

// Jeffreys is the equal-tailed interval of the Beta(1/2,1/2) prior, its bound set to 0 for
// x = 0 and to 1 for x = n. Bad input: [0,1].
// Source: Brown, Cai & DasGupta, Statistical Science 16, 2001.
func Jeffreys(x, n int, conf float64) Interval {
	out := Interval{0, 1}
	if n <= 0 || x < 0 || x > n {
		return out
	}
	a, b := float64(x)+0.5, float64(n-x)+0.5
	if x > 0 {
		out.Lo = BetaQuantile(tail(conf), a, b)
	}
	if x < n {
		out.Hi = 1 - BetaQuantile(tail(conf), b, a)
	}
	return out
}

// NewcombeIndependent is the interval for pB - pA of two independent groups, xa of na and xb
// of nb passed, from their Wilson intervals. A group without cases leaves [-1,1].
// Source: Newcombe, Statistics in Medicine 17:873, 1998, method 10; section A2, unpaired.
func NewcombeIndependent(xa, na, xb, nb int, conf float64) Interval {
	if na <= 0 || nb <= 0 || xa < 0 || xb < 0 || xa > na || xb > nb {
		return Interval{-1, 1}
	}
	z := critical(conf)
	pa, pb := float64(xa)/float64(na), float64(xb)/float64(nb)
	la, ua := Wilson(pa, float64(na), z)
	lb, ub := Wilson(pb, float64(nb), z)
	d := pb - pa
	return Interval{
		Lo: clamp(d-math.Hypot(pb-lb, ua-pa), -1),
		Hi: clamp(d+math.Hypot(ub-pb, pa-la), -1),
	}
}

// FisherExact tests two independent groups, xa of na and xb of nb passed, given the margins.
// twoSided adds up every table at most as likely as the one seen, with the relative tolerance
// of 1e-7 that keeps equally likely tables together (the convention of R's fisher.test);
// bWorse is P(X_B <= xb). A group without cases, or bad input: 1 and 1.
// Source: Fisher 1935; section A2, unpaired.
func FisherExact(xa, na, xb, nb int) (twoSided, bWorse float64) {
	if na <= 0 || nb <= 0 || xa < 0 || xb < 0 || xa > na || xb > nb {
		return 1, 1
	}
	passed := xa + xb
	logP := func(b int) float64 {
		return logChoose(na, passed-b) + logChoose(nb, b) - logChoose(na+nb, passed)
	}
	seen := logP(xb) + 1e-7
	for b := max(0, passed-na); b <= min(nb, passed); b++ {
		l := logP(b)
		p := math.Exp(l)
		if b <= xb {
			bWorse += p
		}
		if l <= seen {
			twoSided += p
		}
	}
	return probability(twoSided), probability(bWorse)
}

func logChoose(n, k int) float64 {
	return lgamma(float64(n)+1) - lgamma(float64(k)+1) - lgamma(float64(n-k)+1)
}
