package compare

import (
	"cmp"
	"math"
	"slices"
)

// raceBets is how many bets each pair of arms of a race mixes, evenly over (0,1).
const raceBets = 12

// mostReach is the number of units after which RaceReach gives up.
const mostReach = 1 << 20

// nearZero is the wealth below which a bet is lost for good; smaller numbers are slow to compute with.
const nearZero = 1e-250

// Race finds the arms that cannot be the best while units come in an order fixed before. It is a function of what it was
// fed, and of nothing else.
//
// Each ordered pair of arms (i, j) has an e-process against "the mean of i is at least that of j": the mean over bets l
// in (0,1) of the products of 1 - l*w*(x_i - x_j). x are the scores of a unit, in [0,1], and w its weight. Under the
// hypothesis each product is a non-negative supermartingale that starts at 1, whatever the distribution of the scores.
// The e-value of an arm is the mean of those of its pairs: it tests that the arm is one of the best. So with K arms,
// pairs whose e-values add up to (K-1)/alpha make it 1/alpha.
//
// An arm leaves when its e-value exceeds 1/alpha by as much as the other arms of the race lack of 1/alpha together. That
// is the closed test with arithmetic means: whichever arms are the best, by Ville's inequality all of them stay, at
// every time, with probability at least 1 - alpha. Of arms that are equal, none leaves with that probability.
//
// Sources: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86, 2024 (the bets);
// Ville 1939; Vovk and Wang, E-values: calibration, combination and applications, Annals of Statistics 49, 2021 (means
// of e-values and their closure).
type Race struct {
	alpha  float64
	arms   int
	bets   [raceBets]float64
	wealth [][raceBets]float64 // by pair: of arm i against arm j at i*arms+j
	pairs  []float64           // their e-values
	left   []bool
	idle   []bool // gets no more units, and has not left
	in     int
	fed    int
	fixed  map[int]int // units after which arms leave, whatever their e-values
}

// NewRace starts a race of this many arms. alpha is the probability, in (0,1), that an arm that is one of the best
// leaves. With alpha out of range no arm ever leaves.
func NewRace(arms int, alpha float64) *Race {
	r := &Race{alpha: alpha, arms: arms, left: make([]bool, arms), idle: make([]bool, arms), in: arms, fixed: map[int]int{}}
	r.wealth = make([][raceBets]float64, arms*arms)
	r.pairs = make([]float64, arms*arms)
	for i := range r.bets {
		r.bets[i] = (float64(i) + 0.5) / raceBets
	}
	for pair := range r.pairs {
		r.pairs[pair] = 1
		for i := range r.bets {
			r.wealth[pair][i] = 1.0 / raceBets
		}
	}
	return r
}

// RaceReach is the least number of units after which an arm of a race can leave: one that scores 0 on each while all others
// score 1. It is 0 where none ever can.
func RaceReach(arms int, alpha float64) int {
	if arms < 2 || !(alpha > 0 && alpha < 1) {
		return 0
	}
	r, scores := NewRace(arms, alpha), make([][]float64, arms)
	for i := range scores {
		scores[i] = []float64{float64(min(i, 1))}
	}
	// the e-value grows by a constant factor in the end, unless numbers overflow
	for r.fed < mostReach && len(r.Feed(scores, 1)) == 0 {
	}
	return r.fed
}

// Leaving is an arm that left a race.
type Leaving struct {
	Arm    int     // its number, from 0
	Behind int     // the arm with the strongest evidence of being better
	LogE   float64 // the natural logarithm of its e-value
}

// Feed takes the next independent unit: what each arm scored on each of its cases, in [0,1], and its weight in (0,1], the
// number of its cases over that of the largest unit. All arms have the cases in the same order; NaN is a case that an arm
// does not have. Scores beyond [0,1] count as the nearer end. Arms that have left are not looked at and may be nil. It
// returns the arms that leave now, in their order; one arm always stays.
func (r *Race) Feed(scores [][]float64, weight float64) []Leaving {
	r.fed++
	weight = min(max(weight, 0), 1)
	for i := range r.arms {
		for j := i + 1; j < r.arms; j++ {
			if !r.Feeds(i) || !r.Feeds(j) {
				continue
			}
			d := weight * meanDifference(scores[i], scores[j]) //nolint:gosec // an arm has its scores
			if d != 0 && !math.IsNaN(d) {                      // 0 changes nothing
				r.bet(i*r.arms+j, d)
				r.bet(j*r.arms+i, -d)
			}
		}
	}
	return r.leave()
}

// Fix says when an arm left in an earlier session, after how many units. That stays, and it leaves at no other time.
func (r *Race) Fix(arm, units int) { r.fixed[arm] = units }

// Withdraw says that an arm gets no more units, although it has not left. It keeps its e-value, and can still leave
// by that: a process that is stopped at some time keeps its error rate.
func (r *Race) Withdraw(arm int) { r.idle[arm] = true }

// Feeds reports whether Feed looks at the scores of an arm.
func (r *Race) Feeds(arm int) bool { return !r.left[arm] && !r.idle[arm] }

// In reports whether an arm is still in the race.
func (r *Race) In(arm int) bool { return !r.left[arm] }

// bet takes the difference d of a pair.
func (r *Race) bet(pair int, d float64) {
	e := 0.0
	for i, bet := range r.bets {
		w := r.wealth[pair][i] * (1 - bet*d)
		if w < nearZero {
			w = 0
		}
		r.wealth[pair][i] = w
		e += w
	}
	r.pairs[pair] = e
}

// leave removes the arms that are not among the best.
func (r *Race) leave() []Leaving {
	if r.in < 2 || !(r.alpha > 0 && r.alpha < 1) {
		return nil
	}
	enough, lack := 1/r.alpha, 0.0
	for i := range r.arms {
		if !r.left[i] {
			lack += max(0, enough-r.eValue(i))
		}
	}
	var out []Leaving
	for i := range r.arms {
		if e := r.eValue(i); !r.left[i] && r.leaves(i, e-enough >= lack) {
			out = append(out, Leaving{Arm: i, Behind: r.behind(i), LogE: math.Log(e)})
		}
	}
	if len(out) == r.in { // only arms that beat each other in turn could do that, or a false record
		least := slices.MinFunc(out, func(a, b Leaving) int { return cmp.Compare(a.LogE, b.LogE) })
		out = slices.DeleteFunc(out, func(l Leaving) bool { return l.Arm == least.Arm })
	}
	for _, l := range out {
		r.left[l.Arm] = true
		r.in--
	}
	return out
}

// leaves reports whether an arm leaves now. beaten says that its e-value is large enough.
func (r *Race) leaves(arm int, beaten bool) bool {
	if units, known := r.fixed[arm]; known {
		return r.fed == units
	}
	return beaten
}

// eValue returns the evidence against an arm being one of the best.
func (r *Race) eValue(arm int) float64 {
	sum := 0.0
	for j := range r.arms {
		if j != arm {
			sum += r.pairs[arm*r.arms+j]
		}
	}
	return sum / float64(r.arms-1)
}

// behind returns the arm of the race that is most likely better than the given one.
func (r *Race) behind(arm int) int {
	best := -1
	for j := range r.arms {
		if j != arm && !r.left[j] && (best < 0 || r.pairs[arm*r.arms+j] > r.pairs[arm*r.arms+best]) {
			best = j
		}
	}
	return best
}

// meanDifference is the mean over the cases that both arms have; NaN when there are none.
func meanDifference(a, b []float64) float64 {
	sum, n := 0.0, 0
	for i := range min(len(a), len(b)) {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			sum += min(max(a[i], 0), 1) - min(max(b[i], 0), 1)
			n++
		}
	}
	return sum / float64(n) // of none: 0/0
}
