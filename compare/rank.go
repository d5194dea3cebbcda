package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"

	"github.com/evalrun/evalrun/eval"
)

// RankOptions configure a ranking.
type RankOptions struct {
	Metric    string  // pass, blocked, or a named metric with values in [0,1]
	Alpha     float64 // error rate of the set of best arms, and of all intervals together
	MaxErrors float64 // share of errors above which an arm cannot be ranked
	Seed      uint64
	Within    float64 // name the arms that are worse than the best by less than this; 0: none
}

// Rank orders the arms of a suite by a metric. Each pair of arms is compared on the cases that both have, as in
// Compare: repeats are averaged, and cases of a cluster are one unit. Errors of an arm count as the worst value where
// the arm would otherwise look better, so that they never rule out another arm.
func Rank(arms []*Side, o RankOptions) Ranking {
	r := Ranking{Metric: o.Metric, Alpha: o.Alpha, Needs: Needs(len(arms), o.Alpha)}
	for _, s := range arms {
		r.Suite = s.Suite
		r.Arms = append(r.Arms, place(s, o.Metric))
	}
	if r.Why = Unrankable(arms, o.MaxErrors); r.Why != "" {
		byMean(&r)
		return r
	}
	k := newRanker(arms, o)
	r.Cases, r.Units = k.cases, k.units
	if r.Units < r.Needs {
		r.Why = fmt.Sprintf(
			"the cases are too few: %s (repeats do not count, a cluster counts once), and a ranking of %d arms takes %d "+
				"at least", diag.Count(r.Units, "independent one"), len(arms), r.Needs,
		)
		byMean(&r)
		return r
	}
	if o.Within > 0 {
		k.within(&r)
	}
	r.order(k.best(), k.bounds())
	if o.Metric == eval.MetricBlocked {
		slices.Reverse(r.Arms)
	}
	if r.Within != nil {
		r.nameWithin()
	}
	if len(r.Best()) == len(arms) {
		r.Enough = k.enough()
	}
	return r
}

// byMean orders arms without a ranking by their observed mean, since readers take the first one for the best.
func byMean(r *Ranking) {
	sign := -1.0
	if r.Metric == eval.MetricBlocked {
		sign = 1
	}
	mean := func(a *RankedArm) float64 {
		if a.Mean == nil {
			return math.Inf(1)
		}
		return sign * *a.Mean
	}
	slices.SortStableFunc(r.Arms, func(a, b RankedArm) int { return cmp.Compare(mean(&a), mean(&b)) })
}

func place(s *Side, metric string) RankedArm {
	a := RankedArm{Arm: s.Arm}
	var mean eval.Sum
	for _, c := range s.Cases {
		if c.Quarantined {
			continue
		}
		a.Errors += c.Errors
		if x, ok := c.Of(s, metric).Mean(); ok {
			mean.Add(x)
			a.Cases++
		}
	}
	if x, ok := mean.Mean(); ok {
		a.Mean = &x
	}
	return a
}

// Unrankable explains why arms cannot be ranked at all, "" when they can. There must be several arms, the run must
// be complete, and no arm may have a share of errors above maxErrors.
func Unrankable(arms []*Side, maxErrors float64) string {
	if len(arms) < 2 {
		return "a ranking takes two arms or more"
	}
	var broken []string
	for _, s := range arms {
		if s.Partial {
			return "the run is not complete"
		}
		if share, ok := errorsOf(s).Mean(); ok && share > maxErrors {
			broken = append(broken, fmt.Sprintf("%s (%s)", s.Arm, diag.Percent(share)))
		}
	}
	if len(broken) > 0 {
		return fmt.Sprintf("more than %g %% of the trials are errors on %s", 100*maxErrors, strings.Join(broken, ", "))
	}
	return ""
}

// RankRaced ranks the arms of a suite after a race. The arms in left dropped out, each after that number of units.
// The arms that stayed are the set of the best; the race itself bounds the error. There are no intervals, since
// arms were not sent the same cases. The options are those of the race.
func RankRaced(arms []*Side, left map[string]int, o RankOptions) Ranking {
	r := Ranking{
		Metric: o.Metric,
		Alpha:  o.Alpha,
		Race:   &Raced{},
		Why:    Unrankable(arms, o.MaxErrors),
	}
	for _, s := range arms {
		r.Suite = s.Suite
		a := place(s, o.Metric)
		a.Left = left[s.Arm]
		a.Best = a.Left == 0
		r.Arms = append(r.Arms, a)
		r.Cases = max(r.Cases, len(s.Cases))
		for _, c := range s.Cases {
			r.Race.Planned += c.Ran + c.Unused
			r.Race.Saved += c.Unused
		}
	}
	slices.SortStableFunc(r.Arms, func(a, b RankedArm) int {
		if a.Left != b.Left { // arms that stayed come first, then the last to leave
			return cmp.Compare(stayed(b.Left), stayed(a.Left))
		}
		return cmp.Compare(orZero(b.Mean), orZero(a.Mean))
	})
	if r.Why != "" {
		r.Refuse(r.Why)
	}
	return r
}

func stayed(left int) int {
	if left == 0 {
		return math.MaxInt
	}
	return left
}

func orZero(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}
