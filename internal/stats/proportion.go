package stats

import (
	"math"
	"sync"
)

// Wilson is the score interval for a proportion p observed on n independent units, z being
// the normal quantile of each bound (Wilson, JASA 22, 1927). For a mean of values
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
// Fisher 1935.
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

// PassAtK is the unbiased estimate of the probability that at least one of k tries passes,
// from c passes in n scored tries: 1 - C(n-c,k)/C(n,k). False when fewer than k were scored, or
// for counts that are none: unknown is not 1.
// Source: Chen et al., arXiv 2107.03374.
func PassAtK(n, c, k int) (float64, bool) {
	if !triesKnown(n, c, k) {
		return 0, false
	}
	return 1 - chooseRatio(n-c, n, k), true
}

// PassHatK is the unbiased estimate of the probability that all of k tries pass (pass^k):
// C(c,k)/C(n,k). False as for PassAtK.
// Source: tau-bench, arXiv 2406.12045.
func PassHatK(n, c, k int) (float64, bool) {
	if !triesKnown(n, c, k) {
		return 0, false
	}
	return chooseRatio(c, n, k), true
}

func triesKnown(n, c, k int) bool { return k >= 1 && n >= k && c >= 0 && c <= n }

// chooseRatio is C(m,k)/C(n,k) for m <= n, as a product of factors in [0,1].
func chooseRatio(m, n, k int) float64 {
	if m < k {
		return 0
	}
	ratio := 1.0
	for i := range k {
		ratio *= float64(m-i) / float64(n-i)
	}
	return ratio
}

// BinomialBelow is the probability of fewer than k passes in n independent trials that pass with probability p.
func BinomialBelow(n int, p float64, k int) float64 {
	switch {
	case k <= 0:
		return 0
	case k > n:
		return 1
	}
	return 1 - regIncBeta(clamp(p), float64(k), float64(n-k+1))
}
