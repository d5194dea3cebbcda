package gate

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// selectedBy says which cases of a baseline a run has to cover: --case, --tag and --sample take them by their names
// and tags in the baseline. A case that was deleted or edited counts as one that the run has to cover. The result nil
// is all of them.
func selectedBy(head *journal.Document, side *compare.Side) func(*compare.CaseTotals) bool {
	return selected(head.Run.Options(), side)
}

func selected(o *eval.Options, side *compare.Side) func(*compare.CaseTotals) bool {
	names, tags := eval.NewPatterns(o.Cases), eval.NewPatterns(o.Tags)
	last := lastSampled(o, side)
	if len(names) == 0 && len(tags) == 0 && last == nil {
		return nil
	}
	return func(c *compare.CaseTotals) bool {
		switch {
		case !names.Match(c.Name):
			return false
		case len(tags) > 0 && !slices.ContainsFunc(c.Tags, tags.Match):
			return false
		}
		return last == nil || Lot(o.Seed, side.Suite, c.ID) <= *last
	}
}

// lastSampled is the largest lot of the cases of an arm, nil where all ran.
func lastSampled(o *eval.Options, side *compare.Side) *uint64 {
	if o.Sample == 0 || side.Cases.Len() < o.Sample {
		return nil
	}
	var last uint64
	for _, c := range side.Cases.All() {
		last = max(last, Lot(o.Seed, side.Suite, c.ID))
	}
	return &last
}

// lostArms are the arms and suites that only the baseline has, where a verdict is wanted: leaving out what fails must
// not pass a gate. Arms that the run leaves out by --arm, --case, --tag or --sample are not lost, nor are arms that
// the rule allows.
func lostArms(before []*compare.Side, pairs []armPair, head *journal.Document, what Comparing) []compare.ArmComparison {
	if what.BaseOf != nil || what.HeadArm != "" || len(before) > 0 && before[0].Run == head.Run.ID {
		return nil
	}
	var out []compare.ArmComparison
	arms := eval.NewPatterns(head.Run.Options().Arms)
	for _, b := range before {
		paired := slices.ContainsFunc(pairs, func(p armPair) bool { return p.base == b })
		elsewhere := what.Suite != "" && b.Suite != what.Suite && hasSuite(head, b.Suite) // compared by its own rule
		if paired || elsewhere || !arms.Match(b.Arm) {
			continue
		}
		if rule := what.Rules(b.Suite); rule == nil || allowsRemoved(rule, b.Suite, b.Arm) {
			continue
		}
		if wanted := selectedBy(head, b); wanted != nil && !takes(b, wanted) {
			continue
		}
		out = append(out, lostArm(b.Suite, b.Arm, b.Arm))
	}
	return out
}

// takes reports whether some case of a side is wanted.
func takes(s *compare.Side, wanted func(*compare.CaseTotals) bool) bool {
	for _, c := range s.Cases.All() {
		if wanted(c) {
			return true
		}
	}
	return false
}

// lostInVersion are the arms of an earlier version, which ran next to the suite, without a case of the suite to
// compare them with.
func lostInVersion(before []*compare.Side, pairs []armPair, what Comparing) (out []compare.ArmComparison) {
	for _, b := range before {
		rule := what.Rules(b.Suite)
		if b.Suite != what.Suite || rule == nil {
			continue
		}
		earlier, interleaved := rule.Against.(eval.BaseVersion)
		if !interleaved || !earlier.Includes(b.Arm) {
			continue
		}
		arm := earlier.Current(b.Arm)
		if !allowsRemoved(rule, b.Suite, arm) && !slices.ContainsFunc(pairs, func(p armPair) bool { return p.base == b }) {
			out = append(out, lostArm(b.Suite, arm, b.Arm))
		}
	}
	return out
}

func hasSuite(d *journal.Document, name string) bool {
	return slices.ContainsFunc(d.Run.Suites, func(s eval.RunSuite) bool { return s.Name == name })
}

// allowsRemoved reports whether a rule allows the run to lack an arm, or its suite.
func allowsRemoved(rule *eval.BaselineRule, suite, arm string) bool {
	allowed := eval.NewPatterns(rule.AllowRemoved)
	return len(allowed) > 0 && (allowed.Match(suite) || allowed.Match(arm))
}

// lostArm is the comparison of an arm that only the baseline has, where it is called baseArm.
func lostArm(suite, arm, baseArm string) compare.ArmComparison {
	return compare.ArmComparison{
		Suite:   suite,
		BaseArm: baseArm,
		HeadArm: arm,
		Metrics: []compare.MetricComparison{},
		Verdict: eval.Invalid,
		Why:     lostWhy(suite, arm),
	}
}

func lostWhy(suite, arm string) string {
	return fmt.Sprintf(
		"the baseline has %s on %s, and the run has not: `allowRemoved: [%q]`, or --allow-removed, accepts it",
		suite, arm, arm,
	)
}

// place returns the index of the first arm of a suite.
func place(arms []compare.ArmComparison, suite string) int {
	return slices.IndexFunc(arms, func(a compare.ArmComparison) bool { return a.Suite == suite })
}
