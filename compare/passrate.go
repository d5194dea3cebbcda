package compare

import (
	"math"
	"slices"

	"github.com/evalrun/evalrun/internal/stats"
)

// RateBounds are one-sided bounds of an arm's pass rate, where its cases are a sample of all cases like these.
type RateBounds struct {
	Lower, Upper float64 // with each error as a failure, and as a pass
	Units        int     // independent units
	Errors       int
}

// PassRateBounds bounds the pass rate of an arm, each side with an error rate of alpha: by Clopper and Pearson where each case
// is a unit that passed or failed, and by Gaffke elsewhere, which is the same there. stopped says that its results decided how
// many cases the arm was sent: then the bounds hold whenever it stopped. Nothing scored: 0 and 1.
func PassRateBounds(s *Side, alpha float64, stopped bool) RateBounds {
	m := newMeasure(Options{}, withItself(s))
	low := func(c *CaseTotals) (float64, bool) {
		n := c.Passed + c.Failed + c.Errors
		return float64(c.Passed) / float64(max(1, n)), n > 0
	}
	high := func(c *CaseTotals) (float64, bool) {
		n := c.Passed + c.Failed + c.Errors
		return float64(c.Passed+c.Errors) / float64(max(1, n)), n > 0
	}
	u := m.unitsOf(low, high, bothSides)
	b := RateBounds{Upper: 1, Units: u.n, Errors: int(errorsOf(s).Total)}
	if u.n == 0 {
		return b
	}
	lower := shareAtLeast
	if stopped {
		lower = shareAlways
	}
	failed := make([]float64, u.n)
	for i, x := range u.head {
		failed[i] = 1 - x
	}
	b.Lower, b.Upper = lower(u.base, u.weights, alpha), 1-lower(failed, u.weights, alpha)
	return b
}

// withItself pairs the cases of an arm, without those in quarantine, with themselves.
func withItself(s *Side) (out []pair) {
	for i, c := range s.Cases {
		if !c.Quarantined {
			out = append(out, pair{c, c, i})
		}
	}
	return out
}

// shareAtLeast is Gaffke's lower bound of the mean of shares.
func shareAtLeast(x, weights []float64, alpha float64) float64 {
	if slices.Max(weights) == slices.Min(weights) {
		return stats.Gaffke(roundedIn(slices.Clone(x), x, 0), 0, alpha)
	}
	room, shifted := make([]float64, len(x)), make([]float64, len(x))
	return max(0, bisect(-1e-9, weightedMean(x, weights), func(bound float64) bool {
		for i := range x {
			shifted[i] = x[i] - bound
		}
		return bounded(shifted, weights, -bound, room) <= alpha
	}))
}

// shareAlways is a lower bound of the mean of shares that holds whenever the data stopped coming.
func shareAlways(x, weights []float64, alpha float64) float64 {
	doubled := make([]float64, len(x)) // to values between -1 and 1
	for i := range x {
		doubled[i] = 2*x[i] - 1
	}
	return (1 + stats.BettingLower(doubled, scaledBy(1/slices.Max(weights), weights), alpha, bets)) / 2
}

// RateOutlook is what to expect of a rule about the pass rate of an arm, if each trial passes independently, and cases of a
// cluster pass together.
type RateOutlook struct {
	Min   float64 `json:"min"`
	Cases int     `json:"cases"`
	// Fails is the probability that an arm whose true pass rate is Min fails a rule without an error rate.
	Fails float64 `json:"fails"`
	// Lower is a pass rate that is too low, and Holds the probability that it passes such a rule.
	Lower float64 `json:"lower"`
	Holds float64 `json:"holds"`
}

// tooLow is how much less than the least pass rate is clearly too little.
const tooLow = 0.1

// NewRateOutlook computes the outlook of an arm of a plan or a run.
func NewRateOutlook(s *Side, least float64) RateOutlook {
	d := newRateDesign(s)
	lower := max(0, least-tooLow)
	return RateOutlook{Min: least, Cases: d.cases, Fails: d.below(least, least), Lower: lower, Holds: 1 - d.below(lower, least)}
}

// rateDesign is the trials of an arm: how much of the sum over all cases each independent draw makes.
type rateDesign struct {
	cases  int
	even   bool // all draws make the same
	draws  []float64
	common int // draws are multiples of one part in this many; 0: too many
}

// mostSums bounds the time that exact probabilities take.
const mostSums = 5000

func newRateDesign(s *Side) rateDesign {
	pairs := withItself(s)
	g := groupsOf(pairs)
	sizes, repeats := map[int]int{}, map[int]int{}
	for i, p := range pairs {
		unit := g.unit[g.request[i]]
		sizes[unit]++
		repeats[unit] = max(1, repeats[unit], p.head.Passed+p.head.Failed, p.head.Ran)
	}
	d := rateDesign{cases: len(pairs), even: true, common: 1}
	for unit := range len(sizes) {
		k := repeats[unit]
		if d.common > 0 {
			d.common = d.common / gcd(d.common, k) * k
			if d.common*d.cases > mostSums {
				d.common = 0
			}
		}
		for range k {
			d.draws = append(d.draws, float64(sizes[unit])/float64(k))
			d.even = d.even && d.draws[0] == d.draws[len(d.draws)-1]
		}
	}
	return d
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// below is the probability that the mean over cases is less than a limit, when each draw passes with probability p.
func (d *rateDesign) below(p, limit float64) float64 {
	wanted := limit*float64(d.cases) - 1e-9
	switch {
	case len(d.draws) == 0:
		return 0
	case d.even:
		return stats.BinomialBelow(len(d.draws), p, int(math.Ceil(wanted/d.draws[0]-1e-9)))
	case d.common == 0:
		variance := 0.0
		for _, w := range d.draws {
			variance += w * w * p * (1 - p)
		}
		if variance == 0 {
			return 0
		}
		return math.Erfc((p*float64(d.cases)-wanted)/math.Sqrt(2*variance)) / 2
	}
	chances := []float64{1} // of each sum, in parts
	for _, w := range d.draws {
		step := int(math.Round(w * float64(d.common)))
		next := make([]float64, len(chances)+step)
		for sum, chance := range chances {
			next[sum] += (1 - p) * chance
			next[sum+step] += p * chance
		}
		chances = next
	}
	total := 0.0
	for sum, chance := range chances {
		if float64(sum) < wanted*float64(d.common) {
			total += chance
		}
	}
	return min(1, total)
}

// MostFailures is the largest number of failed cases, of n that run once and are independent, with which a pass rate is shown
// to be at least as high as the least one; -1 when even none is too many.
func MostFailures(n int, least, alpha float64) int {
	failures := -1
	for failures+1 <= n && stats.BinomialBelow(n, least, n-failures-1) >= 1-alpha {
		failures++
	}
	return failures
}
