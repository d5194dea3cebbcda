package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Ranking orders the arms of a suite by a metric, and says which of them may be the best.
type Ranking struct {
	Suite  string `json:"suite"`
	Metric string `json:"metric"`
	// Alpha bounds the error of the set of the best, and of all intervals together.
	Alpha float64 `json:"alpha"`
	Cases int     `json:"cases"` // most cases on which any two arms were compared
	Units int     `json:"units"` // fewest independent units among them
	// Needs is the number of units below which no arm could ever be ruled out. With fewer there is no ranking.
	Needs int `json:"needs"`
	// Enough is the number of units that rules an arm out with power, if arms keep differing as much as the two that differ most;
	// 0 if some arm is ruled out, or no arms differ.
	Enough int `json:"enough,omitempty"`
	// Why says why there is no ranking; "" when there is one.
	Why string `json:"why,omitempty"`
	// Arms are in order, the best mean first; without a ranking they are in the order of the plan.
	Arms []RankedArm `json:"arms"`
	// Race says how a race ended; nil when there was none, or when this ranking is not about it.
	Race *Raced `json:"race,omitempty"`
	// Within says which arms are hardly worse than the best; nil when nothing asked for a margin, or without a ranking.
	Within *Within `json:"within,omitempty"`
	// Judges are those that the metric depends on, by arm.
	Judges []eval.MeasuredJudge `json:"judges,omitempty"`
	// Currency is that of the costs of the arms, "" without a price list.
	Currency string `json:"currency,omitempty"`
}

// Best is the set of the best: the arms that cannot be ruled out, in order. All truly best arms are in it, together, with
// probability 1 - Alpha or more. It is empty without a ranking.
func (r *Ranking) Best() []string {
	best := []string{}
	for i := range r.Arms {
		if r.Arms[i].Best {
			best = append(best, r.Arms[i].Arm)
		}
	}
	return best
}

type plainRanking Ranking

// MarshalJSON writes the set of the best as a list, too.
func (r Ranking) MarshalJSON() ([]byte, error) {
	return wirejson.Marshal(struct {
		plainRanking
		Best   []string `json:"best"`
		Race   *Raced   `json:"race,omitempty"` // after Best
		Within *Within  `json:"within,omitempty"`
	}{plainRanking(r), r.Best(), r.Race, r.Within})
}

// Raced is the result of a race: arms leave it once they cannot be the best.
type Raced struct {
	Planned int `json:"planned"` // trials of all arms
	Saved   int `json:"saved"`   // trials that were not needed
}

// RankedArm is an arm of a ranking.
type RankedArm struct {
	Arm  string   `json:"arm"`
	Mean *float64 `json:"mean"` // of the metric over the arm's scored cases; nil when none was scored
	// Interval is a confidence interval for the arm's mean minus the best of the other means. The intervals
	// hold for all arms together with probability 1 - Alpha or more. It begins at 0 for an arm that is
	// alone in the set of the best, and ends at 0 for one that is ruled out. nil without a ranking.
	Interval *[2]float64 `json:"interval"`
	Best     bool        `json:"best"` // it is in the set of the best
	Cases    int         `json:"cases"`
	Errors   int         `json:"errors"`
	// Left is how many cases an arm had run when it left a race; 0: it stayed.
	Left int `json:"left,omitempty"`
	// ArmWithin is nil where no margin was asked for.
	*ArmWithin

	Taken
}

// Taken is the average cost of a trial of an arm, nil where unknown.
type Taken struct {
	Cost         *float64 `json:"cost"` // money by a price list, in the ranking's currency
	Tokens       *float64 `json:"tokens"`
	LatencyP50Ms *float64 `json:"latencyP50Ms"` // of scored trials
	LatencyP95Ms *float64 `json:"latencyP95Ms"`
}

// Needs is the number of independent units below which no arm can be ruled out at all. Suppose that one arm did better
// than another on every unit: for two equal arms that has a chance of 2^-n or more, and it may happen to any two of the
// arms, either way.
func Needs(arms int, alpha float64) int {
	if arms < 2 {
		return 1
	}
	return int(math.Ceil(math.Log2(1 / level(arms, alpha))))
}

// level is the one-sided error rate of each comparison of an arm with another. By Bonferroni, the comparisons of all
// arms with all others hold together with an error of alpha.
func level(arms int, alpha float64) float64 { return alpha / float64(max(1, arms*(arms-1))) }

// Refuse removes the set of the best and the intervals, and says why.
func (r *Ranking) Refuse(why string) {
	r.Why, r.Within = why, nil
	for i := range r.Arms {
		r.Arms[i].Best, r.Arms[i].Interval, r.Arms[i].ArmWithin = false, nil, nil
	}
}

// order fills in the set of the best and the intervals, and puts the arms into order. lower(i, j) bounds the mean of
// arm i less that of arm j from below, for all arms together; arms are numbered as in r.Arms.
//
// Source: Hsu 1984, "Constrained simultaneous confidence intervals for multiple comparisons with the best", Annals of Statistics
// 12(3), with bounds of pairs instead of a common standard error.
func (r *Ranking) order(best []bool, lower func(i, j int) float64) {
	k := len(r.Arms)
	if !slices.Contains(best, true) {
		r.Refuse("each arm is worse than another one on the cases that both have: no arm can be the best of all")
		return
	}
	for i := range r.Arms {
		r.Arms[i].Best = best[i]
	}
	for i := range r.Arms {
		below := 0.0 // of an arm that is alone in the set; of others it is the least distance to one in the set
		for j := range k {
			if j != i && r.Arms[j].Best {
				below = min(below, lower(i, j))
			}
		}
		above := 0.0 // of an arm less the best of the others; arms that were ruled out are below it
		if best[i] {
			above = 1
			for j := range k {
				if j != i {
					above = min(above, max(0, -lower(j, i)))
				}
			}
		}
		r.Arms[i].Interval = &[2]float64{below, above}
	}
	slices.SortStableFunc(r.Arms, func(a, b RankedArm) int { return cmp.Compare(zeroIfNil(b.Mean), zeroIfNil(a.Mean)) })
}

// zeroIfNil sorts unknown values last.
func zeroIfNil(x *float64) float64 {
	if x == nil {
		return math.Inf(-1)
	}
	return *x
}
