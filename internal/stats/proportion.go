package stats

import (
	"math"
	"sync"
)

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
	return clamp((centre - half) / scale), clamp((centre + half) / scale)
}

// FisherExact tests two independent groups, xa of na and xb of nb passed, given the margins. The result twoSided adds
// up every table at most as likely as the one seen, and bWorse is P(X_B <= xb). As in R's fisher.test, a relative
// tolerance of 1e-7 keeps equally likely tables together. A group without cases, or bad input: 1 and 1. Source:
// Fisher 1935; section A2, unpaired.
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

func logChoose(n, k int) float64 { return logFactorials().choose(n, k) }

// factorials caches the logarithms of small factorials, because sums over tables need them millions of
// times.
type factorials []float64

// logFactorials is made on first use. Loops should call it once, because the race detector makes each call
// slow.
var logFactorials = sync.OnceValue(func() factorials {
	out := make(factorials, 4096)
	for i := range out {
		out[i] = lgamma(float64(i) + 1)
	}
	return out
})

func (f factorials) of(n int) float64 {
	if n >= 0 && n < len(f) {
		return f[n]
	}
	return lgamma(float64(n) + 1)
}

func (f factorials) choose(n, k int) float64 { return f.of(n) - f.of(k) - f.of(n-k) }
