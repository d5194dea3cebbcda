package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
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
	sides = ofSuite(sides, r.suite.Name)
	for _, head := range sides {
		found := journal.GateRule{RuleName: journal.RuleTotal, Arm: head.Arm, Limit: rule.Total.Margin}
		arm, of := r.since(rule, head, len(sides) == 1)
		switch {
		case of == 0: // the arm is newer
		case 2*arm.Cases.Paired < of:
			found.Why = remain(arm.Cases.Paired, of) + " since " + rule.Past.Since
			r.verdict(found, eval.Inconclusive, eval.OnFail)
		default:
			found.Why = fmt.Sprintf("since %s, margin %g", rule.Past.Since, rule.Total.Margin)
			for i := range arm.Metrics {
				if m := &arm.Metrics[i]; m.Name == eval.MetricPass {
					found.Why = fmt.Sprintf("pass %+.3f since %s over %d of %s, margin %g", m.Estimate, rule.Past.Since, arm.Cases.Paired,
						diag.Count(of, "case"), rule.Total.Margin)
				}
			}
			r.verdict(found, arm.Verdict, rule.OnInconclusive)
		}
	}
}

func remain(n, of int) string {
	return fmt.Sprintf("%d of %s %s", n, diag.Count(of, "case"), diag.Verb(cmp.Or(n, of), "remains", "remain"))
}

// since compares an arm with its outcomes in an earlier baseline, which had `of` cases.
func (r *rulings) since(rule *eval.BaselineRule, head *compare.Side, onlyArm bool) (arm compare.ArmComparison, of int) {
	base, now := sidesSince(rule, head, onlyArm)
	o := optionsFor(rule, r.doc, head.Suite)
	o.Margins = []eval.MetricMargin{{Name: eval.MetricPass, Margin: rule.Total.Margin}}
	o.MinPaired, o.Estimand = 0, eval.OfPopulation
	o.Accepted = anyCase()
	arms := []compare.ArmComparison{compare.Compare(base, now, o)}
	compare.Decide(arms, func(string) compare.Options { return o })
	return arms[0], len(base.Cases)
}

// anyCase accepts every case that is gone or another one now.
func anyCase() eval.Accepted {
	all := []string{"*"}
	return eval.Accepted{Removed: all, Changed: all, Quarantined: all}
}

// sidesSince are an arm in an earlier baseline, and as it is now with cases named alike. Where a suite had and has one arm, the
// arm is the same by any name, as it is when two runs are compared.
func sidesSince(rule *eval.BaselineRule, head *compare.Side, onlyArm bool) (base, now *compare.Side) {
	base = &compare.Side{Run: "since " + rule.Past.Since, Suite: head.Suite, Arm: head.Arm}
	first := slices.DeleteFunc(slices.Clone(rule.Past.First), func(o eval.Outcomes) bool { return o.Suite != head.Suite })
	for _, o := range first {
		if o.Arm != head.Arm && (!onlyArm || len(first) > 1) {
			continue
		}
		for _, c := range o.Unpack() {
			base.Cases = append(base.Cases, &compare.CaseTotals{
				Name: c.Key, ID: c.Key, Passed: c.Passed, Failed: c.Scored - c.Passed, Ran: c.Scored,
			})
		}
	}
	now = &compare.Side{Run: head.Run, Suite: head.Suite, Arm: head.Arm}
	for _, c := range head.Cases {
		key := eval.CaseKey(c.ID, c.Vars, c.Scorers)
		now.Cases = append(now.Cases, &compare.CaseTotals{
			Name: key, ID: key, Cluster: c.Cluster, Request: c.Request, Quarantined: c.Quarantined, Passed: c.Passed, Failed: c.Failed,
			Errors: c.Errors, Ran: c.Ran, Unused: c.Unused,
		})
	}
	return base, now
}

// takesAll switches an early stop off where a rule has a total.
func (c *Checks) takesAll(suite string, rule *eval.BaselineRule) {
	if rule.StopEarly && rule.Total != nil {
		rule.StopEarly = false
		c.Notice(fmt.Sprintf("warning: %s does not stop early: `total` takes all cases", suite))
	}
}

// warnTotal warns of a total that the planned cases of a suite cannot decide, or decide only if some get better.
func (c *Checks) warnTotal(suite string, rule *eval.BaselineRule) {
	switch {
	case rule.Total == nil:
		return
	case rule.Past == nil:
		c.Notice(fmt.Sprintf("warning: %s: `total` is not judged: it compares with earlier baselines, and this run with %s", suite,
			rule.Against.Title()))
		return
	}
	planned, order := plannedSides(c.Plan, suite, time.Now().UTC().Format(time.RFC3339))
	for _, name := range order {
		base, now := sidesSince(rule, planned[name], len(order) == 1)
		arm := &armPreview{name: name, base: base, Preview: compare.NewPreview(base, now, &compare.Options{Accepted: anyCase()})}
		text, of := "", len(base.Cases)
		switch {
		case of == 0: // the arm is newer
		case 2*arm.Cases < of:
			text = fmt.Sprintf("%s on %s: %s since %s, and `total` needs half of them", suite, name, remain(arm.Cases, of),
				rule.Past.Since)
		default:
			text = arm.tooFew(suite, eval.MetricMargin{Name: eval.MetricPass, Margin: rule.Total.Margin}, finalAlpha(rule))
		}
		if text != "" {
			c.Notice("warning: total: " + text)
		}
	}
}
