package gate

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// passRate applies the rule about an arm's pass rate: to the rate seen, or to its bounds.
func (r *rulings) passRate(arm *journal.ArmSummary, g *eval.GateConfig) {
	rule := journal.GateRule{RuleName: journal.RulePassRate, Arm: arm.Name, Limit: *g.PassRateMin}
	rate, scored := arm.PassRate()
	if !scored || g.PassRateBound == nil && r.doc.Len() > mostOutlook {
		r.value(rule, known(rate, scored))
		return
	}
	side, err := r.side(arm.Name)
	switch {
	case err != nil:
		rule.Why = err.Error()
		r.add(rule, eval.CodeIncomplete)
	case g.PassRateBound == nil:
		rule.Outlook = new(compare.NewRateOutlook(side, rule.Limit))
		r.value(rule, &rate)
	default:
		r.bounded(rule, rate, side, g.PassRateBound)
	}
}

// mostOutlook is the number of trials above which a run is not read once more to say how often a rule fails by chance.
const mostOutlook = 20_000

// bounded applies a rule to the bounds of a rate.
func (r *rulings) bounded(rule journal.GateRule, rate float64, side *compare.Side, by *eval.BoundRule) {
	stopped := len(r.doc.Run.ExtendedFrom) > 0 || slices.ContainsFunc(r.doc.Stops, func(s eval.ArmStop) bool {
		of := s.Stopped()
		return of.Suite == side.Suite && of.Arm == side.Arm
	})
	b := compare.PassRateBounds(side, by.Alpha, stopped)
	found := journal.RuleShare{Value: rate, Interval: [2]float64{b.Lower, b.Upper}, Level: 1 - 2*by.Alpha}
	verdict := eval.NotWorse
	switch {
	case b.Lower >= rule.Limit-slack:
	case b.Upper < rule.Limit-slack:
		verdict = eval.Regressed
	default:
		verdict, found.Undecided = eval.Inconclusive, true
		rule.Why = diag.Count(b.Units, "independent case")
		if b.Errors > 0 {
			rule.Why += fmt.Sprintf(", and %s, which may have passed or failed", diag.Count(b.Errors, "error"))
		}
	}
	var code int
	rule.Found = found
	rule.Standing, code = decided(verdict, by.OnInconclusive)
	r.add(rule, code)
}

func (r *rulings) side(arm string) (*compare.Side, error) {
	if r.sides == nil {
		sides, err := sidesOf(r.doc, eval.OfPopulation)
		if err != nil {
			return nil, err
		}
		r.sides = sides
	}
	for _, s := range r.sides {
		if s.Suite == r.suite.Name && s.Arm == arm {
			return s, nil
		}
	}
	return &compare.Side{Suite: r.suite.Name, Arm: arm}, nil
}
