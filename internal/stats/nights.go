package stats

import (
	"math"
	"slices"
)

// NightsBefore is the number of nights on which no change can begin: there is nothing to compare them with.
const NightsBefore = 3

// sameScore is how far the scores of two nights may differ and still count as equal.
const sameScore = 1e-9

// loweredOdds are the odds, against those of an unchanged night, that a night with a loss lies below another one.
var loweredOdds = [...]float64{4, 16, 256}

// nightScores are the two scores of a night: cases count alike, or the more, the less they vary.
const (
	meanScore = iota
	weighedScore
	nightScores
)

// Nights compares the results of the same cases on one night after another, and weighs the evidence that their level fell, or rose, on
// one of them. The evidence is three tests that share a budget. Two are on a night's place among all nights so far by a score of
// all cases, centred on each case's own mean: if nothing changed, places are uniform and independent, so that the product of likelihood
// ratios from a start on has mean 1, and with c = 90/0.05 the sums over all starts reach it in 90 nights with probability 5 % at most.
// The third is on streaks of the same result in a case. Cost of T nights with n cases: T*T*n multiplications and 12*T*T square roots.
// Sources: exchangeability martingales, Vovk, Nouretdinov & Gammerman, ICML 2003; sums over starts, Shiryaev-Roberts.
type Nights struct {
	weights []float64
	cases   []nightsCase
	rows    []nightRow
	priors  []float64 // weights of starts
	fall    turn
	rise    turn

	scores  [nightScores][]float64 // of every night by what is known tonight
	factors [nightScores][]float64 // w, by case
	means   [nightScores][]float64 // w*mu
	spreads [nightScores][]float64 // w*w*v
}

type nightRow struct {
	results []float64 // 0 where missing
	missing []int
}

type nightsCase struct {
	n            float64 // results
	sum, squares float64
	low, high    float64 // results below and above 1/2
}

// turn is the evidence of changes in one direction. Nights count from 0.
type turn struct {
	products [nightScores][][len(loweredOdds)]float64 // by start
	streaks  []streak                                 // by case
}

type streak struct {
	evidence float64 // 0 without one
	start    int
}

// NightEvidence is what the three tests say on a night, each with mean 1 for each possible start if nothing changed.
type NightEvidence struct{ Mean, Weighed, Streak float64 }

// Most is the largest of the three by their parts of the budget; it alarms at runs / rate.
func (e NightEvidence) Most() float64 { return max(0.4*e.Mean, 0.4*e.Weighed, 0.2*e.Streak) }

// NewNights starts without a night. The weights are those of the cases; a case with weight 0 counts as missing.
func NewNights(weights []float64) *Nights {
	n := &Nights{weights: weights, cases: make([]nightsCase, len(weights))}
	n.fall.streaks, n.rise.streaks = make([]streak, len(weights)), make([]streak, len(weights))
	for k := range nightScores {
		n.factors[k], n.means[k], n.spreads[k] = make([]float64, len(weights)), make([]float64, len(weights)), make([]float64, len(weights))
	}
	return n
}

// Learn adds a night to those that others are compared with. No change begins on it. The results are in [0,1] by case, NaN
// where one is missing.
func (n *Nights) Learn(results []float64) {
	row := nightRow{results: make([]float64, len(results))}
	for i, x := range results {
		if math.IsNaN(x) || n.weights[i] == 0 {
			row.missing = append(row.missing, i)
			continue
		}
		row.results[i] = x
		c := &n.cases[i]
		c.n++
		c.sum += x
		c.squares += x * x
		if x < 0.5 {
			c.low++
		} else if x > 0.5 {
			c.high++
		}
	}
	n.rows, n.priors = append(n.rows, row), append(n.priors, 0)
	for k := range nightScores {
		n.fall.products[k] = append(n.fall.products[k], [len(loweredOdds)]float64{})
		n.rise.products[k] = append(n.rise.products[k], [len(loweredOdds)]float64{})
	}
}

// Add adds a night on which a change may have begun, and weighs what it says. The prior is the weight of a start on this night: 1 is usual.
func (n *Nights) Add(results []float64, prior float64) {
	n.Learn(results)
	tonight := len(n.rows) - 1
	n.addStreaks(tonight)
	if tonight < NightsBefore {
		return
	}
	n.priors[tonight] = prior
	n.score()
	for k := range nightScores {
		n.fall.products[k][tonight] = [...]float64{1, 1, 1}
		n.rise.products[k][tonight] = [...]float64{1, 1, 1}
		below, upTo := place(n.scores[k])
		multiply(n.fall.products[k], below, upTo)
		multiply(n.rise.products[k], 1-upTo, 1-below)
	}
}

func (n *Nights) addStreaks(tonight int) {
	missing := n.rows[tonight].missing
	for i, x := range n.rows[tonight].results {
		if len(missing) > 0 && missing[0] == i {
			missing = missing[1:]
			continue
		}
		if c := n.cases[i]; c.n > NightsBefore {
			n.fall.streaks[i].add(x < 0.5, tonight, c.n/c.low)
			n.rise.streaks[i].add(x > 0.5, tonight, c.n/c.high)
		}
	}
}

// add goes on with a streak, or ends it. Of the C(n,k) orders of a case's results, C(n-l,k-l) end in a streak of l: the
// evidence is their ratio.
func (s *streak) add(goesOn bool, night int, factor float64) {
	switch {
	case !goesOn:
		*s = streak{}
	case s.evidence == 0:
		*s = streak{factor, night}
	default:
		s.evidence *= factor
	}
}

// score computes the scores of all nights: the weighted sum of the differences from each case's mean over the cases run on
// the night, in its standard deviations.
func (n *Nights) score() {
	var mean, spread [nightScores]float64
	for i, c := range n.cases {
		if c.n == 0 {
			continue
		}
		mu := c.sum / c.n
		v := (max(0, c.squares-c.sum*mu) + 0.25) / (c.n + 1)
		for k, w := range [...]float64{n.weights[i], n.weights[i] / v} {
			n.factors[k][i], n.means[k][i], n.spreads[k][i] = w, w*mu, w*w*v
			mean[k] += w * mu
			spread[k] += w * w * v
		}
	}
	for k := range nightScores {
		n.scores[k] = n.scores[k][:0]
	}
	alike, weighed := n.factors[meanScore], n.factors[weighedScore]
	for _, row := range n.rows {
		var sum [nightScores]float64
		for i, x := range row.results {
			sum[meanScore] += x * alike[i]
			sum[weighedScore] += x * weighed[i]
		}
		for k := range nightScores {
			centre, squares := mean[k], spread[k]
			for _, i := range row.missing {
				centre -= n.means[k][i]
				squares -= n.spreads[k][i]
			}
			score := 0.0
			if len(row.missing) < len(row.results) {
				score = (sum[k] - centre) / math.Sqrt(squares)
			}
			n.scores[k] = append(n.scores[k], score)
		}
	}
}

// place returns the shares of nights with a lower score than the last one, and with one that is not higher.
func place(scores []float64) (below, upTo float64) {
	tonight := scores[len(scores)-1]
	for _, s := range scores {
		if s < tonight-sameScore {
			below++
		}
		if s <= tonight+sameScore {
			upTo++
		}
	}
	return below / float64(len(scores)), upTo / float64(len(scores))
}

// multiply brings the products of all starts to tonight. A night's place among equals is spread evenly between below and upTo.
func multiply(products [][len(loweredOdds)]float64, below, upTo float64) {
	t := float64(len(products))
	for s := range products {
		p := &products[s]
		if p[0] == 0 {
			continue
		}
		changed := (t - float64(s)) / t
		for i, odds := range loweredOdds {
			p[i] *= (lowered(upTo, changed, odds) - lowered(below, changed, odds)) / (upTo - below)
		}
	}
}

// lowered is the distribution of the place of a night with a loss, for the odds that it lies lower than an unchanged one, in
// a pool with a share of such nights.
func lowered(place, changed, odds float64) float64 {
	if place <= 0 || place >= 1 {
		return clamp(place)
	}
	b := 1 - changed + changed*odds - place*(1+odds)
	y := odds * 2 * place / (b + math.Sqrt(b*b+4*odds*place*(1-place)))
	return y / (1 + y)
}

// Fall is the evidence that the level fell on some night and has been lower since.
func (n *Nights) Fall() NightEvidence { return n.evidence(&n.fall) }

// Rise is the evidence that the level rose on some night and has been higher since.
func (n *Nights) Rise() NightEvidence { return n.evidence(&n.rise) }

func (n *Nights) evidence(t *turn) NightEvidence {
	var sums NightEvidence
	for s, prior := range n.priors {
		sums.Mean += prior * mixed(t.products[meanScore][s])
		sums.Weighed += prior * mixed(t.products[weighedScore][s])
	}
	for _, e := range n.streaks(t) {
		sums.Streak += e
	}
	return sums
}

func (n *Nights) streaks(t *turn) []float64 {
	by, cases := make([]float64, len(n.rows)), 0.0
	for i, s := range t.streaks {
		if n.cases[i].n > 0 {
			cases++
		}
		if s.evidence > 0 {
			by[s.start] += n.priors[s.start] * s.evidence
		}
	}
	for s := range by {
		by[s] /= max(1, cases)
	}
	return by
}

// mixed is the mean of the products over the odds.
func mixed(p [len(loweredOdds)]float64) float64 { return (p[0] + p[1] + p[2]) / float64(len(p)) }

// FallStarts returns the night on which a fall most likely began, and all that are not much less likely: their evidence is a 20th of the
// largest or more. Nights count from 0.
func (n *Nights) FallStarts() (start int, starts []int) { return n.starts(&n.fall) }

// RiseStart is the night on which a rise most likely began, from 0.
func (n *Nights) RiseStart() int {
	start, _ := n.starts(&n.rise)
	return start
}

func (n *Nights) starts(t *turn) (start int, starts []int) {
	by := n.streaks(t)
	for s, prior := range n.priors {
		by[s] = 0.4*prior*(mixed(t.products[meanScore][s])+mixed(t.products[weighedScore][s])) + 0.2*by[s]
	}
	most := slices.Max(by)
	for s, e := range by {
		if e > 0 && e >= most/20 {
			starts = append(starts, s)
		}
	}
	return slices.Index(by, most), starts
}
