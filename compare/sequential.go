package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// earlyShare is the share of alpha for looking early. The rest is for the final tests, so that together
// they err at most as often as alpha.
const earlyShare = 0.2

// FinalAlpha is the part of a gate's alpha for the final tests: all of it, unless the gate stops early.
func FinalAlpha(alpha float64, stopEarly bool) float64 {
	if stopEarly {
		return alpha - alpha*earlyShare
	}
	return alpha
}

// bets is the number of mixed bets of the e-processes. failPart is the share of the margin that a loss must
// exceed to be reported early (docs/explanation/verdicts.md).
const (
	bets     = 24
	failPart = 0.5
)

// EarlyStop compares an arm with its baseline while units come in an order fixed before, and reports when the verdict is
// known: by two e-processes for each metric (stats.Betting). It depends only on the units that it was fed.
// docs/explanation/verdicts.md has its error rates.
type EarlyStop struct {
	metrics         []eval.MetricMargin
	bets            []*stats.Betting
	alpha           float64 // error spent on looking early
	worse, notWorse float64 // logarithms of the e-values that decide
	fed             int
}

// NewEarlyStop watches the metrics of an arm. alpha is the gate's, verdicts the number of metrics over all arms.
func NewEarlyStop(metrics []eval.MetricMargin, alpha float64, verdicts int) *EarlyStop {
	s := &EarlyStop{metrics: metrics, alpha: alpha * earlyShare}
	s.worse, s.notWorse = math.Log(float64(verdicts)/s.alpha), math.Log(1/s.alpha)
	for _, m := range metrics {
		s.bets = append(s.bets, stats.NewBetting(m.Margin, failPart, bets))
	}
	return s
}

// Unit holds, by metric, the difference head minus base of an independent unit, NaN when there is none, and the
// same with each error of head at its worst value. The weight of a cluster is its size over the largest size.
type Unit struct {
	Differences, Worst []float64
	Weight             float64
}

// Feed adds the next unit. It returns a stop when the verdict is known, else nil.
func (s *EarlyStop) Feed(u Unit) *eval.KnownVerdict {
	s.fed++
	s.add(u)
	all := true
	for i, m := range s.metrics {
		if e := s.bets[i].LogFail(); e >= s.worse {
			stop := s.known(eval.Regressed)
			stop.Metric, stop.LogE[m.Name] = m.Name, e
			return stop
		}
		all = all && s.bets[i].LogNI() >= s.notWorse
	}
	if !all {
		return nil
	}
	stop := s.known(eval.NotWorse)
	for i, m := range s.metrics {
		stop.LogE[m.Name] = s.bets[i].LogNI()
	}
	return stop
}

func (s *EarlyStop) known(v eval.Verdict) *eval.KnownVerdict {
	return &eval.KnownVerdict{StoppedArm: eval.StoppedArm{Units: s.fed}, Verdict: v, Alpha: s.alpha, LogE: map[string]float64{}}
}

// Lose counts a case that head lost, without a difference that could show a loss. It is no look: Feed decides.
func (s *EarlyStop) Lose(worst []float64, weight float64) {
	none := make([]float64, len(s.metrics))
	for i := range none {
		none[i] = math.NaN()
	}
	s.add(Unit{none, worst, weight})
}

func (s *EarlyStop) add(u Unit) {
	for i := range s.metrics {
		d, worst := u.Differences[i], u.Worst[i]
		if s.metrics[i].Name == eval.MetricBlocked { // more blocked answers is worse
			d, worst = -d, -worst
		}
		s.bets[i].Add(d, worst, u.Weight)
	}
}

// raceBets is how many bets each pair of arms of a race mixes, evenly over (0,1).
const raceBets = 12

// mostReach is the number of units after which RaceReach gives up.
const mostReach = 1 << 20

// Race finds the arms that cannot be the best while units come in an order fixed before. It depends only on the units that it
// was fed.
//
// Each ordered pair of arms (i, j) has an e-process against "the mean of i is at least that of j": it bets on the differences
// x_i - x_j, for scores x in [0,1] of a unit (stats.Bets). The e-value of an arm is the mean of those of its pairs: it tests
// that the arm is one of the best. So with K arms, pairs whose e-values add up to (K-1)/alpha make it 1/alpha.
//
// An arm leaves when its e-value exceeds 1/alpha by as much as the other arms of the race lack of 1/alpha together. That
// is the closed test with arithmetic means: whichever arms are the best, by Ville's inequality all of them stay, at
// every time, with probability at least 1 - alpha. Of arms that are equal, none leaves with that probability.
//
// Source: Vovk and Wang, E-values: calibration, combination and applications, Annals of Statistics 49, 2021 (means of
// e-values and their closure).
type Race struct {
	alpha float64
	arms  int
	pairs []*stats.Bets // of arm i against arm j at i*arms+j
	left  []bool
	idle  []bool // gets no more units, and has not left
	in    int
	fed   int
	known map[int]int // units after which arms leave, whatever their e-values
}

// NewRace starts a race of this many arms. alpha is the probability, in (0,1), that an arm that is one of the best
// leaves. With alpha out of range no arm ever leaves.
func NewRace(arms int, alpha float64) *Race {
	r := &Race{alpha: alpha, arms: arms, left: make([]bool, arms), idle: make([]bool, arms), in: arms, known: map[int]int{}}
	for range arms * arms {
		r.pairs = append(r.pairs, stats.NewBets(0, -1, raceBets))
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

// RaceExit is an arm that left a race.
type RaceExit struct {
	Arm    int     // its number, from 0
	Behind int     // the arm with the strongest evidence of being better
	LogE   float64 // the natural logarithm of its e-value
}

// Feed takes the next independent unit: what each arm scored on each of its cases, in [0,1], and its weight in (0,1], the
// number of its cases over that of the largest unit. All arms have the cases in the same order; NaN is a case that an arm
// does not have. Scores beyond [0,1] count as the nearer end. Arms that have left are not looked at and may be nil. It
// returns the arms that leave now, in their order; one arm always stays.
func (r *Race) Feed(scores [][]float64, weight float64) []RaceExit {
	r.fed++
	weight = min(max(weight, 0), 1)
	for i := range r.arms {
		for j := i + 1; j < r.arms; j++ {
			if !r.Feeds(i) || !r.Feeds(j) {
				continue
			}
			d := weight * meanDifference(scores[i], scores[j]) //nolint:gosec // an arm has its scores
			if d != 0 && !math.IsNaN(d) {                      // 0 changes nothing
				r.pairs[i*r.arms+j].Add(d, 1)
				r.pairs[j*r.arms+i].Add(-d, 1)
			}
		}
	}
	return r.leave()
}

// Resume says after how many units an arm left in an earlier session. It leaves then, and at no other time.
func (r *Race) Resume(arm, units int) { r.known[arm] = units }

// Withdraw says that an arm gets no more units, although it has not left. It keeps its e-value, and can still leave
// by that: a process that is stopped at some time keeps its error rate.
func (r *Race) Withdraw(arm int) { r.idle[arm] = true }

// Feeds reports whether Feed looks at the scores of an arm.
func (r *Race) Feeds(arm int) bool { return !r.left[arm] && !r.idle[arm] }

func (r *Race) leave() []RaceExit {
	if r.in < 2 || !(r.alpha > 0 && r.alpha < 1) {
		return nil
	}
	enough, lack := 1/r.alpha, 0.0
	for i := range r.arms {
		if !r.left[i] {
			lack += max(0, enough-r.eValue(i))
		}
	}
	var out []RaceExit
	for i := range r.arms {
		if e := r.eValue(i); !r.left[i] && r.leaves(i, e-enough >= lack) {
			out = append(out, RaceExit{Arm: i, Behind: r.behind(i), LogE: math.Log(e)})
		}
	}
	if len(out) == r.in { // only arms that beat each other in turn could do that, or a false record
		least := slices.MinFunc(out, func(a, b RaceExit) int { return cmp.Compare(a.LogE, b.LogE) })
		out = slices.DeleteFunc(out, func(l RaceExit) bool { return l.Arm == least.Arm })
	}
	for _, l := range out {
		r.left[l.Arm] = true
		r.in--
	}
	return out
}

// leaves reports whether an arm leaves now. beaten says that its e-value is large enough.
func (r *Race) leaves(arm int, beaten bool) bool {
	if units, known := r.known[arm]; known {
		return r.fed == units
	}
	return beaten
}

// eValue returns the evidence against an arm being one of the best.
func (r *Race) eValue(arm int) float64 {
	sum := 0.0
	for j := range r.arms {
		if j != arm {
			sum += r.pairs[arm*r.arms+j].E()
		}
	}
	return sum / float64(r.arms-1)
}

// behind returns the arm of the race that is most likely better than the given one.
func (r *Race) behind(arm int) int {
	best, most := -1, 0.0
	for j := range r.arms {
		if j == arm || r.left[j] {
			continue
		}
		if e := r.pairs[arm*r.arms+j].E(); best < 0 || e > most {
			best, most = j, e
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
