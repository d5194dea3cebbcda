package stats

import "math"

// Betting is a pair of e-processes on the differences of one metric, in [-1,1], in an order fixed before the run. One
// tests non-inferiority against mu <= -margin, the other failure against mu >= -phi*margin. Each is a uniform mixture
// over J constant bets l_j = (j-1/2)/J*l_max. Under its hypothesis each product of factors is a non-negative
// supermartingale that starts at 1. So P(sup E >= 1/a) <= a by Ville at any stopping time, whatever the variance or
// n. Source: Waudby-Smith & Ramdas, JRSS B 86, 2024; Robbins 1970 for mixtures; section A3.
type Betting struct {
	nonInferiority, failure process
	n                       int
}

// process holds the logarithms of the J products, for factors 1 + bet*(d - null).
type process struct {
	null float64
	bets []float64 // negative ones bet on values below null
	logs []float64
}

// NewBetting starts the pair for a margin in (0,1) and phi in [0,1] with j bets each; phi 0
// makes the second one the test of any loss. A margin out of range makes a process that
// never bets, and so never stops anything; j below 1 counts as 1.
func NewBetting(margin, phi float64, j int) *Betting {
	fail := phi * margin
	b := &Betting{nonInferiority: newProcess(-margin, j), failure: newProcess(-fail, j)}
	if inside(margin, 0, 1) {
		b.nonInferiority.bet(1 / (1 - margin))
	}
	if inside(margin, 0, 1) && phi >= 0 && phi <= 1 {
		b.failure.bet(-1 / (1 + fail))
	}
	return b
}

func newProcess(null float64, j int) process {
	j = max(1, j)
	return process{null: null, bets: make([]float64, j), logs: make([]float64, j)}
}

func (p *process) bet(most float64) {
	for i := range p.bets {
		p.bets[i] = (float64(i) + 0.5) / float64(len(p.bets)) * most
	}
}

// Add feeds the next difference, in [-1,1], with the weight of its unit, in (0,1]: w*d is bet on against w times the
// hypothesis. Other differences are moved to the nearer end. The process against "worse by margin" bets on worst, the
// difference with each error at its worst value: errors show neither that B is not worse nor that it is. A difference
// that is NaN is missing: no bet. Source: sections C7 and C8.
func (b *Betting) Add(d, worst, weight float64) {
	if math.IsNaN(d) && math.IsNaN(worst) || !(weight > 0) {
		return
	}
	weight = min(weight, 1)
	b.n++
	if !math.IsNaN(worst) {
		b.nonInferiority.add(min(max(worst, -1), 1), weight)
	}
	if !math.IsNaN(d) {
		b.failure.add(min(max(d, -1), 1), weight)
	}
}

func (p *process) add(d, weight float64) {
	gain := weight * (d - p.null)
	for i, bet := range p.bets {
		if bet != 0 {
			p.logs[i] += math.Log1p(bet * gain)
		}
	}
}

// N returns the number of differences so far.
func (b *Betting) N() int { return b.n }

// LogNI returns the log of the e-value against "worse by margin or more". At log(1/a) or above, the
// candidate is not worse, with error at most a.
func (b *Betting) LogNI() float64 { return logMeanExp(b.nonInferiority.logs) }

// LogFail returns the log of the e-value against "worse by at most phi*margin". At log(1/a) or above, the
// candidate is worse by more, with error at most a.
func (b *Betting) LogFail() float64 { return logMeanExp(b.failure.logs) }

// logMeanExp returns log(mean(exp(x))) without overflow.
func logMeanExp(x []float64) float64 {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum/float64(len(x)))
}

// BettingLower is the lower end of an anytime-valid confidence interval for the mean of the differences d with these
// weights. The non-inferiority process with j bets rejects every mean below it. The error is at most alpha whenever
// the data stopped coming. No differences: -1. Source: Waudby-Smith & Ramdas, JRSS B 86, 2024; section C14.
func BettingLower(d, weights []float64, alpha float64, j int) float64 {
	rejected := func(mean float64) bool {
		p := newProcess(mean, j)
		p.bet(1 / (1 + mean))
		for i := range d {
			p.add(d[i], weights[i])
		}
		return logMeanExp(p.logs) >= math.Log(1/alpha)
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
