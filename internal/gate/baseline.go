package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// withBaseline compares each suite of a run with the baseline that its gate names. It returns nil when none names one,
// and with notCompared when --no-baseline was given.
func withBaseline(d *journal.Document) (whole *compare.Comparison, notCompared bool) {
	options := d.Run.Options()
	for i := range d.Run.Suites {
		one := &d.Run.Suites[i]
		if one.Gate == nil || one.Gate.Baseline == nil || d.Run.Plan.Shard != nil || d.Running {
			continue
		}
		if options.NoBaseline() {
			return nil, true
		}
		if whole == nil {
			whole = &compare.Comparison{
				Head: compare.Compared{Run: d.Run.ID, StartedAt: d.Run.StartedAt},
				Arms: []compare.ArmComparison{},
			}
		}
		merge(whole, compareSuite(d, one.Name, one.Gate.Baseline, options.NoContent))
	}
	if whole != nil {
		decide(whole, func(suite string) *eval.BaselineRule {
			if g := gateConfig(d, suite); g != nil {
				return g.Baseline
			}
			return nil
		}, d)
	}
	return whole, false
}

func merge(whole, one *compare.Comparison) {
	switch {
	case whole.Base.Name == "":
		whole.Base = one.Base
	case !slices.Contains(strings.Split(whole.Base.Name, ", "), one.Base.Name):
		whole.Base = compare.Compared{Name: whole.Base.Name + ", " + one.Base.Name}
	}
	for i := range one.Arms {
		a := &one.Arms[i]
		if !slices.ContainsFunc(whole.Arms, func(o compare.ArmComparison) bool { return o.Suite == a.Suite && o.HeadArm == a.HeadArm }) {
			whole.Arms = append(whole.Arms, *a) // a suite that was lost is reported once
		}
	}
	whole.Warnings, whole.Notes = joined(whole.Warnings, one.Warnings), joined(whole.Notes, one.Notes)
	whole.Verdict = compare.Worse(whole.Verdict, one.Verdict)
}

// joined appends the texts that are not in a list yet.
func joined(to, texts []string) []string {
	for _, text := range texts {
		if !slices.Contains(to, text) {
			to = append(to, text)
		}
	}
	return to
}

// compareSuite compares a suite with its baseline. Whatever is wrong makes its arms invalid.
func compareSuite(d *journal.Document, suite string, rule *eval.BaselineRule, noContent bool) *compare.Comparison {
	c, err := compareWith(d, suite, rule, noContent)
	if err == nil {
		return c
	}
	c = &compare.Comparison{Base: compare.Compared{Name: rule.Against.Title()}, Verdict: eval.Invalid}
	for _, s := range d.Summary.Suites {
		for i := range s.Arms {
			if s.Name == suite && !rule.Against.Includes(s.Arms[i].Name) {
				c.Arms = append(
					c.Arms,
					compare.ArmComparison{
						Suite:   suite,
						HeadArm: s.Arms[i].Name,
						Why:     err.Error(),
						Metrics: []compare.MetricComparison{},
					},
				)
			}
		}
	}
	return c
}

func compareWith(d *journal.Document, suite string, rule *eval.BaselineRule, noContent bool) (*compare.Comparison, error) {
	what := Comparing{
		Suite:     suite,
		Gate:      true,
		NoContent: noContent,
		Rules:     func(string) *eval.BaselineRule { return rule },
		Base:      rule.Against.Title(),
		Head:      d.Run.ID,
	}
	other, isRun := rule.Against.(eval.BaseRun)
	if !isRun {
		what.BaseOf = func(arm string) string {
			if rule.Against.Includes(arm) {
				return ""
			}
			return rule.Against.ArmFor(arm)
		}
		return undecided(d, d, what)
	}
	base, err := journal.Open(cmp.Or(other.Path, other.Name))
	if err != nil {
		return nil, fmt.Errorf("the baseline %s cannot be read: %w", other.Name, err)
	}
	defer base.Close() //nolint:errcheck // it was only read
	switch {
	case base.Run.ID == d.Run.ID:
		return nil, errors.New("the baseline is the run itself")
	case other.ID != "" && base.Run.ID != other.ID:
		return nil, fmt.Errorf("%s is another run now: %s, and %s when this run began", other.Path, base.Run.ID, other.ID)
	}
	return undecided(base, d, what)
}

// lostArms are the arms and suites that only the baseline has, where a verdict is wanted: leaving out what fails must
// not pass a gate. The arms that the rule accepts are in notes.
func lostArms(
	before []*compare.Side, pairs []armPair, head *journal.Document, what Comparing,
) (out []compare.ArmComparison, accepted []string) {
	find := lostFromRun
	switch {
	case what.BaseOf != nil && what.Gate:
		find = lostFromVersion
	case what.BaseOf != nil || what.HeadArm != "":
		return nil, nil
	}
	for _, b := range before {
		rule := what.Rules(b.Suite)
		if rule == nil || slices.ContainsFunc(pairs, func(p armPair) bool { return p.base == b }) {
			continue
		}
		switch arm := find(b, rule, head, what.Suite); {
		case arm == "":
		case allowsRemoved(rule, b.Suite, arm):
			accepted = append(accepted, fmt.Sprintf("accepted by the suite: %s on %s removed", b.Suite, arm))
		default:
			out = append(out, lostArm(b.Suite, arm, b.Arm))
		}
	}
	return out, accepted
}

// lostFromRun is the arm of another run, "" if the run leaves it out by --arm, --case, --tag or --sample, or compares its
// suite by another rule.
func lostFromRun(b *compare.Side, _ *eval.BaselineRule, head *journal.Document, suite string) string {
	o := head.Run.Options()
	lists, _ := head.NotRun()
	switch wanted := selectedBy(o, b, onArm(lists, b.Suite, b.Arm)); {
	case b.Run == head.Run.ID, !eval.NewPatterns(o.Arms).Match(b.Arm):
	case suite != "" && b.Suite != suite && runSuite(head, b.Suite) != nil:
	case wanted == nil || slices.ContainsFunc(b.Cases, wanted):
		return b.Arm
	}
	return ""
}

// lostFromVersion is the current name of an arm of an earlier version, which ran next to the suite, without a case of the
// suite to compare it with.
func lostFromVersion(b *compare.Side, rule *eval.BaselineRule, _ *journal.Document, suite string) string {
	if earlier, ok := rule.Against.(eval.BaseVersion); ok && b.Suite == suite && earlier.Includes(b.Arm) {
		return earlier.Current(b.Arm)
	}
	return ""
}

func allowsRemoved(rule *eval.BaselineRule, suite, arm string) bool {
	allowed := eval.NewPatterns(slices.Concat(rule.AllowRemoved, rule.Accepted.Removed))
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

func place(arms []compare.ArmComparison, suite string) int {
	return slices.IndexFunc(arms, func(a compare.ArmComparison) bool { return a.Suite == suite })
}
