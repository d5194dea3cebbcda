package gate

import (
	"fmt"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// movesOf says how much the baseline of an arm moved since its first predecessor.
func movesOf(rule *eval.BaselineRule, arm *compare.ArmComparison, what Comparing) (notes []string) {
	if !what.Gate || rule == nil || rule.Past == nil {
		return nil
	}
	for _, m := range rule.Past.Moves {
		if m.Suite == arm.Suite && m.Arm == arm.BaseArm {
			notes = append(notes, m.String())
		}
	}
	return notes
}

// total compares the arms of a suite with an earlier baseline of the same name: many small losses, each within the margin, must not
// add up.
func (r *rulings) total(rule *eval.BaselineRule) {
	if rule.Total == nil || rule.Past == nil || r.doc.Partial() {
		return
	}
	sides, err := sidesOf(r.doc, eval.OfPopulation)
	if err != nil {
		r.add(journal.GateRule{RuleName: journal.RuleTotal, Why: err.Error()}, eval.CodeIncomplete)
		return
	}
	for _, head := range sides {
		if head.Suite != r.suite.Name {
			continue
		}
		found := journal.GateRule{RuleName: journal.RuleTotal, Arm: head.Arm, Limit: rule.Total.Margin}
		arm, of := r.since(rule, head)
		switch {
		case of == 0: // the arm is newer
		case 2*arm.Cases.Paired < of:
			found.Why = fmt.Sprintf("%d of %d cases remain since %s", arm.Cases.Paired, of, rule.Past.Since)
			r.verdict(found, eval.Inconclusive, eval.OnFail)
		default:
			found.Why = fmt.Sprintf("since %s, margin %g", rule.Past.Since, rule.Total.Margin)
			for i := range arm.Metrics {
				if m := &arm.Metrics[i]; m.Name == eval.MetricPass {
					found.Why = fmt.Sprintf("pass %+.3f since %s over %d of %d cases, margin %g", m.Estimate, rule.Past.Since, arm.Cases.Paired, of,
						rule.Total.Margin)
				}
			}
			r.verdict(found, arm.Verdict, rule.OnInconclusive)
		}
	}
}

// since compares an arm with its outcomes in an earlier baseline, which had `of` cases.
func (r *rulings) since(rule *eval.BaselineRule, head *compare.Side) (arm compare.ArmComparison, of int) {
	base := &compare.Side{Run: "since " + rule.Past.Since, Suite: head.Suite, Arm: head.Arm}
	for _, o := range rule.Past.First {
		if o.Suite != head.Suite || o.Arm != head.Arm {
			continue
		}
		for _, c := range o.Unpack() {
			base.Cases = append(base.Cases, &compare.CaseTotals{
				Name: c.Key, ID: c.Key, Passed: c.Passed, Failed: c.Scored - c.Passed, Ran: c.Scored,
			})
		}
	}
	now := &compare.Side{Run: head.Run, Suite: head.Suite, Arm: head.Arm}
	for _, c := range head.Cases {
		key := eval.CaseKey(c.ID, c.Vars, c.Scorers)
		now.Cases = append(now.Cases, &compare.CaseTotals{
			Name: key, ID: key, Cluster: c.Cluster, Request: c.Request, Quarantined: c.Quarantined, Passed: c.Passed, Failed: c.Failed,
			Errors: c.Errors, Ran: c.Ran, Unused: c.Unused,
		})
	}
	o := optionsFor(rule, r.doc, head.Suite)
	o.Margins = []eval.MetricMargin{{Name: eval.MetricPass, Margin: rule.Total.Margin}}
	o.MinPaired, o.Estimand = 0, eval.OfPopulation
	all := []string{"*"}
	o.Accepted = eval.Accepted{Removed: all, Changed: all, Quarantined: all}
	arms := []compare.ArmComparison{compare.Compare(base, now, o)}
	compare.Decide(arms, func(string) compare.Options { return o })
	return arms[0], len(base.Cases)
}
