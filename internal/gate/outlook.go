package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/suite"
)

// ArmOutlook is what the comparison of an arm with a baseline can be expected to show.
type ArmOutlook struct {
	Suite, Arm      string
	Base            string // the arm of the same run with which it is compared; "" if the baseline is another run
	StopEarly       bool
	compare.Outlook                        // for the pass rate, if the gate compares it
	Ratios          []compare.RatioOutlook `json:"ratios,omitempty"`
}

// outlook covers the metrics about which something is known before the run.
func (arm *armPreview) outlook(suite string, rule *eval.BaselineRule, comparisons int) ArmOutlook {
	out := ArmOutlook{
		Suite: suite, Arm: arm.name, Base: rule.Against.ArmFor(arm.name), StopEarly: rule.StopEarly, Ratios: arm.ratios(rule),
	}
	at := slices.IndexFunc(rule.Metrics, func(m eval.MetricMargin) bool { return m.Name == eval.MetricPass })
	switch {
	case at >= 0 && rule.Estimand == eval.OfSuite:
		out.Outlook = compare.NewSuiteOutlook(arm.Cases, arm.Rounds, rule.Metrics[at], finalAlpha(rule), rule.StopEarly, comparisons)
		return out
	case at >= 0:
		out.Outlook = compare.NewOutlook(&arm.Preview, rule.Metrics[at], rule.LookAlpha(), rule.StopEarly, comparisons)
	}
	out.Units, out.Alpha = arm.Effective, rule.LookAlpha()
	return out
}

func (arm *armPreview) ratios(rule *eval.BaselineRule) (out []compare.RatioOutlook) {
	for _, m := range rule.Metrics {
		if !eval.IsRatio(m.Name) {
			continue
		}
		if ratio, ok := compare.NewRatioOutlook(m, arm.base, rule.LookAlpha()); ok {
			out = append(out, ratio)
		}
	}
	return out
}

// RunOutlook is the probability that all gates of a run on pass rates hold when nothing changed.
type RunOutlook struct {
	Flips float64 `json:"flips"`
	Holds float64 `json:"holds"`
}

// Outlooks returns the outlooks of the arms of a plan whose suites compare their pass rates, and of the whole run. problems
// has the baselines that the run could not use.
func Outlooks(c *Checks, suites []*suite.Suite) (out []ArmOutlook, whole []RunOutlook, problems []string, err error) {
	arms := make([][]*armPreview, len(suites))
	rules := make([]*eval.BaselineRule, len(suites))
	comparisons := 0
	for i, one := range suites {
		rule, err := c.planned(i, one)
		if err != nil {
			return nil, nil, nil, err
		}
		if rule == nil || c.Options.NoBaseline() {
			continue
		}
		base, found := c.plannedAgainst(one, rule)
		problems = append(problems, found...)
		rules[i], arms[i] = rule, c.previews(one.Name, rule, base)
		comparisons += len(arms[i]) * len(rule.Metrics)
	}
	for i, one := range suites {
		for k, arm := range arms[i] {
			var o ArmOutlook
			if k > 0 && arm.Alike(&arms[i][k-1].Preview) && len(out) > 0 && len(out[len(out)-1].Ratios) == 0 {
				o = out[len(out)-1]
				o.Arm, o.Base = arm.name, rules[i].Against.ArmFor(arm.name)
			} else {
				o = arm.outlook(one.Name, rules[i], comparisons)
			}
			if len(o.Rows)+len(o.Ratios) > 0 {
				out = append(out, o)
			}
		}
	}
	return out, together(out), problems, nil
}

// planned is the comparison of a suite's gate, or that of a margin for which there is no baseline yet.
func (c *Checks) planned(i int, s *suite.Suite) (*eval.BaselineRule, error) {
	gate, _, err := c.gate(i, s)
	if err != nil {
		return nil, err
	}
	if gate != nil && gate.Baseline != nil {
		return gate.Baseline, nil
	}
	rule, err := RuleOf(c.Options.Rule)
	if rule != nil {
		rule.Against = eval.BaseRun{}
	}
	return rule, err
}

// plannedAgainst reads the run with which a suite is compared, nil for none, and returns what a run would say of it and of a total.
func (c *Checks) plannedAgainst(one *suite.Suite, rule *eval.BaselineRule) (base map[string]*compare.Side, problems []string) {
	noting := *c
	noting.Notice = func(text string) { problems = append(problems, strings.TrimPrefix(text, "warning: ")) }
	noting.takesAll(one.Name, rule)
	var err error
	other, isRun := rule.Against.(eval.BaseRun)
	if isRun && other.Name != "" {
		if base, err = c.plannedBase(other.Name, one.Name, rule.Estimand); err != nil { // all cases count
			err = fmt.Errorf("%s is to be compared, and %w", one.Name, err)
		}
	}
	if rule.Total != nil && err == nil {
		if err = c.fits(one, rule); err == nil && isRun {
			rule.Past, err = c.past(other.Name, rule)
		}
		if err == nil && c.Plan.Shard() == nil { // merging compares
			noting.warnTotal(one.Name, rule)
		}
	}
	if err != nil {
		problems = append(problems, fmt.Sprintf("a run would stop before it sends a request: %s", err))
	}
	return base, problems
}

// together multiplies the probabilities of arms. Arms that are compared with one arm of the run depend on its answers.
func together(all []ArmOutlook) (out []RunOutlook) {
	for i := range all {
		one := &all[i]
		beside := 0
		for j := range all {
			o := &all[j]
			if one.Base != "" && one.Estimand != eval.OfSuite && o.Suite == one.Suite && o.Base == one.Base && len(o.Rows) > 0 {
				if beside++; j < i {
					beside = -len(all) // counted with the first
				}
			}
		}
		for k, row := range one.Rows {
			if k == len(out) {
				out = append(out, RunOutlook{row.Flips, 1})
			}
			switch {
			case beside > 1:
				out[k].Holds *= one.Together(row.Flips, beside)
			case beside >= 0:
				out[k].Holds *= row.Holds
			}
		}
	}
	return out
}

func (c *Checks) plannedBase(name, suite string, of eval.Estimand) (map[string]*compare.Side, error) {
	path, err := c.Dir.FindCompared(name)
	if err != nil {
		return nil, err
	}
	base, err := baseSides(path, suite, of, c.Plan, c.Answers)
	if err == nil && len(base) == 0 {
		err = fmt.Errorf("the baseline %s has no suite %s", name, suite)
	}
	return base, err
}

// ArmSelfTest is the self-test of an arm.
type ArmSelfTest struct {
	Suite  string  `json:"suite"`
	Arm    string  `json:"arm"`
	Margin float64 `json:"margin"`
	Alpha  float64 `json:"alpha"`
	compare.SelfTest
}

// selfTestDraws is the number of simulated comparisons in a self-test.
const selfTestDraws = 2000

// SelfTest compares each arm of a run with itself. Cases need two scored repeats.
func SelfTest(s *suite.Suite, d *journal.Document, o *eval.WithDefaults) ([]ArmSelfTest, error) {
	rule, err := effective(s.Gate, "", o)
	if err == nil && rule == nil {
		rule, err = RuleOf(o.Rule)
	}
	if err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, eval.BadInput("%s has no gate with a baseline, so there is no margin to test: --margin 0.05", s.Name)
	}
	at := slices.IndexFunc(rule.Metrics, func(m eval.MetricMargin) bool { return m.Name == eval.MetricPass })
	if at < 0 {
		return nil, eval.BadInput("the gate of %s does not compare the pass rate, which is what a self-test looks at", s.Name)
	}
	outcomes, order, err := repeatsOf(s.Name, d)
	if err != nil {
		return nil, err
	}
	out, test := []ArmSelfTest{}, compare.NewSelfTest
	if rule.Estimand == eval.OfSuite {
		test = compare.NewSuiteSelfTest
	}
	for _, arm := range order {
		steady := outcomes[arm][:0]
		for _, repeats := range outcomes[arm] {
			if len(repeats.Passed) >= 2 {
				steady = append(steady, repeats)
			}
		}
		if len(steady) == 0 {
			return nil, eval.BadInput(
				"no case of %s on %s was scored twice in %s; record repeats first: evalrun run SUITE --repeats 5", s.Name, arm,
				d.Run.ID,
			)
		}
		alpha := rule.LookAlpha()
		out = append(out, ArmSelfTest{
			Suite:    s.Name,
			Arm:      arm,
			Margin:   rule.Metrics[at].Margin,
			Alpha:    alpha,
			SelfTest: test(steady, rule.Metrics[at], alpha, selfTestDraws, comparisonSeed),
		})
	}
	if len(out) == 0 {
		return nil, eval.BadInput("the run %s has no suite %s", d.Run.ID, s.Name)
	}
	return out, nil
}

// repeatsOf reads which repeats of each case passed, by arm.
func repeatsOf(suite string, d *journal.Document) (outcomes map[string][]compare.Recorded, order []string, err error) {
	outcomes = map[string][]compare.Recorded{}
	places := map[string]int{}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, nil, eval.BadInput("the run cannot be read: %w", err)
		}
		if f.Suite != suite || f.Quarantined || f.Outcome != eval.Pass && f.Outcome != eval.Fail {
			continue
		}
		if _, known := outcomes[f.Arm]; !known {
			order = append(order, f.Arm)
		}
		key := strings.Join([]string{f.Arm, f.CaseID, f.Case}, "\x00")
		place, known := places[key]
		if !known {
			place = len(outcomes[f.Arm])
			places[key] = place
			outcomes[f.Arm] = append(outcomes[f.Arm], compare.Recorded{Cluster: f.Cluster})
		}
		one := &outcomes[f.Arm][place]
		one.Passed = append(one.Passed, f.Outcome == eval.Pass)
	}
	return outcomes, order, nil
}
