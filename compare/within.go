package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Within says which arms are shown to be hardly worse than the best. What an arm costs matters only among those: an arm
// that is not ruled out as the best may still be much worse.
type Within struct {
	Margin float64 `json:"margin"`
	// Arms are at most the margin worse than the best, in order: all of them, with probability 1 - Alpha.
	Arms []string `json:"arms"`
	// Cheapest is the cheapest of Arms; nil where there is none, all cost the same, or costs are not known.
	Cheapest *Cheap `json:"cheapest,omitempty"`
	// Why says why there is no such arm, "" when there is one.
	Why string `json:"why,omitempty"`
}

// ArmWithin are the tests of an arm: the largest p value of "it is worse than another arm by the margin", and the least one
// of "it is not worse than another arm by more than the margin".
type ArmWithin struct {
	PWithin float64 `json:"pWithin"`
	PBeyond float64 `json:"pBeyond"`
	Behind  string  `json:"behind"` // the arm with PBeyond
	// Verdict is not_worse for an arm that is within the margin of the best, regressed for one that is worse by more, and
	// inconclusive for others.
	Verdict eval.Verdict `json:"verdictWithin"`

	flips   float64 // largest share of units that differ, or variance, against an arm that more cases are needed for
	counted bool    // differences are -1, 0 or 1
}

// within fills in which arms are within the margin of the best.
func (k *ranker) within(r *Ranking) {
	r.Within = &Within{Margin: k.Within, Arms: []string{}}
	each := k.Alpha / float64(len(k.arms)-1) // for all arms that are worse than the best by more
	for i := range k.arms {
		w := &ArmWithin{PBeyond: 1, counted: true}
		for j := range k.arms {
			if i == j {
				continue
			}
			near := k.shown(j, i, k.Within)
			if d := &k.duels[i][j]; near > each { // others need no more cases
				w.flips, w.counted = max(w.flips, d.varies), w.counted && d.counted
			}
			w.PWithin = max(w.PWithin, near)
			if p := k.shown(i, j, -k.Within); p < w.PBeyond || w.Behind == "" {
				w.PBeyond, w.Behind = p, k.arms[j].Arm
			}
		}
		switch w.Verdict = eval.Inconclusive; {
		case w.PWithin <= each:
			w.Verdict = eval.NotWorse
		case w.PBeyond <= each:
			w.Verdict = eval.Regressed
		}
		r.Arms[i].ArmWithin = w
	}
}

// nameWithin lists the arms within the margin, once the arms are in order.
func (r *Ranking) nameWithin() {
	for i := range r.Arms {
		if r.Arms[i].Verdict == eval.NotWorse {
			r.Within.Arms = append(r.Within.Arms, r.Arms[i].Arm)
		}
	}
	if len(r.Within.Arms) > 0 {
		return
	}
	needed := math.MaxInt
	for i := range r.Arms {
		if r.Arms[i].Best {
			needed = min(needed, r.casesFor(i))
		}
	}
	r.Within.Why = r.unshown("any arm", needed)
}

// WhyWithin says whether an arm, by its place, is within the margin of the best.
func (r *Ranking) WhyWithin(arm int) string {
	switch r.Arms[arm].Verdict {
	case eval.NotWorse:
		return "it is within " + r.Points() + " of the best"
	case eval.Regressed:
		return fmt.Sprintf("it is worse than %s by more than %s", r.Arms[arm].Behind, r.Points())
	}
	return r.unshown("it", r.casesFor(arm))
}

// Points is the margin in words.
func (r *Ranking) Points() string {
	if r.Metric == eval.MetricPass || r.Metric == eval.MetricBlocked {
		return fmt.Sprintf("%.3g points", 100*r.Within.Margin)
	}
	return fmt.Sprintf("%g", r.Within.Margin)
}

// unshown says that the cases cannot show what is of the margin, and how many could.
func (r *Ranking) unshown(what string, needed int) string {
	text := fmt.Sprintf("%s cannot show that %s is within %s", diag.Count(r.Units, "case"), what, r.Points())
	return text + r.could(needed)
}

// Undecided says that the cases rule no arm out, and how many could.
func (r *Ranking) Undecided(sure string) string {
	text := "no arm is ruled out as the best, " + sure
	if could := r.could(r.Enough); could != "" {
		text += strings.Replace(could, "could", "cases could rule one out", 1)
	}
	if r.Enough == 0 && r.Race == nil {
		text += "; no two arms differ"
	}
	return text
}

// could says about how many units are needed, "" if there are as many, or no number is.
func (r *Ranking) could(needed int) string {
	if needed <= r.Units || needed >= math.MaxInt32 {
		return ""
	}
	digits := math.Pow10(max(0, int(math.Log10(float64(needed)))-1))
	return fmt.Sprintf("; about %.0f could", digits*math.Ceil(float64(needed)/digits))
}

// casesFor is the number of units that show with power that an arm is within the margin of all others, if all are alike
// and differ as often as they did.
func (r *Ranking) casesFor(arm int) int {
	a := r.Arms[arm].ArmWithin
	return CasesWithin(len(r.Arms), r.Within.Margin, r.Alpha, a.flips, a.counted)
}

// CasesWithin is the number of units that show that an arm is within a margin of all others, if all arms are alike and two of
// them differ in a share of the units. counted: differences are -1, 0 or 1.
func CasesWithin(arms int, margin, alpha, flips float64, counted bool) int {
	others := float64(max(1, arms-1))
	each, likely := alpha/others, 1-(1-power)/others // all pairs together have the power
	if counted {
		return casesForPower(flips, margin, each, likely)
	}
	return max(stats.CasesNeeded(flips, margin, each, likely), stats.MinCasesConstant(each, margin))
}

// Cheap is an arm that costs least. That is an estimate: prices have no test.
type Cheap struct {
	Arm string `json:"arm"`
	// Cost is money for 1,000 trials in the currency of the ranking, nil where the cost of some arm is unknown. The arm then
	// is the one that takes the fewest tokens.
	Cost   *float64 `json:"costOf1000,omitempty"`
	Tokens *float64 `json:"tokens,omitempty"` // of a trial
}

// Price adds what the arms take, with the currency of costs, and finds the cheapest arm within the margin: by money where all of
// those have a price, and by tokens otherwise.
func (r *Ranking) Price(currency string, taken func(arm string) Taken) {
	var arms []*RankedArm
	for i := range r.Arms {
		a := &r.Arms[i]
		a.Taken = taken(a.Arm)
		if a.Cost != nil {
			r.Currency = currency
		}
		if r.Within != nil && slices.Contains(r.Within.Arms, a.Arm) {
			arms = append(arms, a)
		}
	}
	cost := func(a *RankedArm) *float64 { return a.Cost }
	tokens := func(a *RankedArm) *float64 { return a.Tokens }
	if a, known := least(arms, cost); a != nil {
		r.Within.Cheapest = &Cheap{Arm: a.Arm, Cost: new(1000 * *a.Cost), Tokens: a.Tokens}
	} else if a, _ := least(arms, tokens); a != nil && !known {
		r.Within.Cheapest = &Cheap{Arm: a.Arm, Tokens: a.Tokens}
	}
}

// least is the arm with the smallest amount; nil when all are equal, or when some arm has none.
func least(arms []*RankedArm, of func(*RankedArm) *float64) (found *RankedArm, known bool) {
	most := 0.0
	for _, a := range arms {
		x := of(a)
		if x == nil || *x <= 0 {
			return nil, false
		}
		if most = max(most, *x); found == nil || *x < *of(found) {
			found = a
		}
	}
	if len(arms) > 1 && *of(found) == most {
		found = nil
	}
	return found, true
}
