package stats

import (
	"math"
	"slices"
)

// Bets is an e-process for the mean of values that come one by one, in an order fixed before the first one. It is a uniform
// mixture over constant bets l: products of 1 + l*w*(x - null), for values x with weights w. Positive bets test that the mean
// is null or less, negative ones that it is null or more. Under its hypothesis each product is a non-negative
// supermartingale that starts at 1. So P(sup E >= 1/a) <= a by Ville at any stopping time, whatever the variance or n:
// looking after every value costs nothing.
// Source: Waudby-Smith & Ramdas, JRSS B 86, 2024; Robbins 1970 for mixtures.
type Bets struct {
	null   float64
	bets   []float64
	wealth []float64 // the products, divided by the exponential of scale
	sum    float64   // of wealth
	scale  float64
}

// NewBets spreads n bets evenly between 0 and most; n below 1 counts as 1. With most 0 the e-value stays 1.
func NewBets(null, most float64, n int) *Bets {
	n = max(1, n)
	b := &Bets{null: null, bets: make([]float64, n), wealth: make([]float64, n), sum: float64(n)}
	for i := range b.bets {
		b.bets[i] = (float64(i) + 0.5) / float64(n) * most
		b.wealth[i] = 1
	}
	return b
}

// lostWealth is the share of the whole below which a bet is lost for good, and largeWealth when the whole is scaled down, or
// up: numbers near the ends of float64 are slow or infinite.
const (
	lostWealth  = 1e-250
	largeWealth = 1e100
)

// Add bets on the next value.
func (b *Bets) Add(x, weight float64) {
	if b.bets[0] == 0 {
		return
	}
	gain, sum := weight*(x-b.null), 0.0
	for i, bet := range b.bets {
		w := b.wealth[i] * (1 + bet*gain)
		if w < lostWealth {
			w = 0
		}
		b.wealth[i] = w
		sum += w
	}
	if b.sum = sum; sum > largeWealth || sum < 1/largeWealth {
		for i := range b.wealth {
			b.wealth[i] /= sum
		}
		b.sum, b.scale = 1, b.scale+math.Log(sum)
	}
}

// E is the e-value: the evidence against the hypothesis, with error at most a at 1/a or above.
func (b *Bets) E() float64 {
	mean := b.sum / float64(len(b.bets))
	if b.scale != 0 {
		mean *= math.Exp(b.scale)
	}
	return mean
}

// LogE is the logarithm of E, which does not overflow.
func (b *Bets) LogE() float64 { return b.scale + math.Log(b.sum/float64(len(b.bets))) }

// Betting is a pair of e-processes on the differences of one metric, in [-1,1]. One tests non-inferiority against
// mu <= -margin, the other failure against mu >= -phi*margin.
type Betting struct {
	nonInferiority, failure *Bets
}

// NewBetting starts the pair for a margin in (0,1) and phi in [0,1] with j bets each; phi 0
// makes the second one the test of any loss. A margin out of range makes a process that
// never bets, and so never stops anything; j below 1 counts as 1.
func NewBetting(margin, phi float64, j int) *Betting {
	fail := phi * margin
	most, least := 0.0, 0.0
	if inside(margin, 0, 1) {
		most = 1 / (1 - margin)
		if phi >= 0 && phi <= 1 {
			least = -1 / (1 + fail)
		}
	}
	return &Betting{NewBets(-margin, most, j), NewBets(-fail, least, j)}
}

// Add feeds the next difference, in [-1,1], with the weight of its unit, in (0,1]: w*d is bet on against w times the
// hypothesis. Other differences are moved to the nearer end. The process against "worse by margin" bets on worst, the
// difference with each error at its worst value: errors show neither that B is not worse nor that it is. A difference
// that is NaN is missing: no bet.
func (b *Betting) Add(d, worst, weight float64) {
	if !(weight > 0) {
		return
	}
	weight = min(weight, 1)
	if !math.IsNaN(worst) {
		b.nonInferiority.Add(min(max(worst, -1), 1), weight)
	}
	if !math.IsNaN(d) {
		b.failure.Add(min(max(d, -1), 1), weight)
	}
}

// LogNI returns the log of the e-value against "worse by margin or more". At log(1/a) or above, the
// candidate is not worse, with error at most a.
func (b *Betting) LogNI() float64 { return b.nonInferiority.LogE() }

// LogFail returns the log of the e-value against "worse by at most phi*margin". At log(1/a) or above, the
// candidate is worse by more, with error at most a.
func (b *Betting) LogFail() float64 { return b.failure.LogE() }

// BettingLower is the lower end of an anytime-valid confidence interval for the mean of the differences d with these
// weights. The non-inferiority process with j bets rejects every mean below it. The error is at most alpha whenever
// the data stopped coming. No differences: -1. Source: Waudby-Smith & Ramdas, JRSS B 86, 2024.
func BettingLower(d, weights []float64, alpha float64, j int) float64 {
	rejected := func(mean float64) bool {
		b := NewBets(mean, 1/(1+mean), j)
		for i := range d {
			b.Add(d[i], weights[i])
		}
		return b.LogE() >= math.Log(1/alpha)
	}
	lo, hi := -1.0, 1.0
	for range 40 {
		if mid := (lo + hi) / 2; rejected(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// LogMixture is the logarithm of the e-value of independent values x, each with a power of at most 1: the mean over n bets l,
// spread evenly between 0 and most, of the product of (1 + l*(x - null))^power. If the powers of the values of each case add
// up to the same number, its expectation is at most 1 where the mean over cases is null or less, for positive bets, whatever
// the means of single cases are: by Jensen's inequality, and since a geometric mean is at most the arithmetic one.
func LogMixture(x, powers []float64, null, most float64, n int) float64 {
	return LogMean(LogBets(x, powers, null, most, n))
}

// LogBets are the logarithms of the products of LogMixture, by bet.
func LogBets(x, powers []float64, null, most float64, n int) []float64 {
	logs := make([]float64, n)
	for i := range logs {
		bet := (float64(i) + 0.5) / float64(n) * most
		for k := range x {
			logs[i] += powers[k] * math.Log1p(bet*(x[k]-null))
		}
	}
	return logs
}

// LogMean is the logarithm of the mean of numbers given by their logarithms.
func LogMean(logs []float64) float64 {
	largest := slices.Max(logs)
	sum := 0.0
	for _, one := range logs {
		sum += math.Exp(one - largest)
	}
	return largest + math.Log(sum/float64(len(logs)))
}
