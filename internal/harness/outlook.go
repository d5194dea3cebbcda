package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// GateOutlook is what the gate of an arm can be expected to do.
type GateOutlook struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	compare.Outlook
	StopEarly bool `json:"stopEarly"`
	Trials    int  `json:"trials"`
	Calls     int  `json:"calls"`  // to generate
	Tokens    int  `json:"tokens"` // of prompts and answers at their longest
}

// Outlooks tells, for each suite whose gate has a baseline, what it takes and what it can see.
func Outlooks(l *Loaded, flags Flags, plan *runner.Plan, f *Forecast) ([]GateOutlook, error) {
	out := []GateOutlook{}
	for _, one := range l.Suites {
		rule, err := effective(one, flags)
		if err != nil {
			return nil, err
		}
		if rule == nil || flags.NoBaseline {
			continue
		}
		var base map[string]*compare.Side
		if !rule.Within() {
			base = plannedBase(flags.Dir, rule.Run, one.Name, f)
		}
		at := slices.IndexFunc(rule.Metrics, func(m eval.MetricMargin) bool { return m.Name == eval.MetricPass })
		if at < 0 {
			continue
		}
		for _, arm := range unitsOf(one.Name, rule, plan, base) {
			g := GateOutlook{Suite: one.Name, Arm: arm.name, StopEarly: rule.StopEarly, Outlook: compare.NewOutlook(arm.units, rule.Metrics[at], rule.Alpha, arm.single, rule.StopEarly)}
			for _, a := range f.Arms {
				if a.Suite == one.Name && (a.Arm == arm.name || a.Arm == rule.BaseOf(arm.name)) {
					g.Trials += a.Trials
					g.Calls += a.Calls
					g.Tokens += a.PromptTokens + a.ReplyTokens + a.MaxOutputTokens
				}
			}
			out = append(out, g)
		}
	}
	return out, nil
}

// plannedBase reads the arms of a baseline; what is wrong with it is a problem of the forecast, and all cases count.
func plannedBase(dir rundir.Dir, name, suite string, f *Forecast) map[string]*compare.Side {
	path, err := dir.FindBaseline(name)
	if err == nil {
		var base map[string]*compare.Side
		if base, err = baseSides(path, suite); err == nil && len(base) == 0 {
			err = fmt.Errorf("the baseline %s has no suite %s", name, suite)
		} else if err == nil {
			return base
		}
	}
	f.Problems = append(f.Problems, fmt.Sprintf("a run would stop before it asks: %s is to be compared, and %s", suite, err))
	return nil
}

// ArmSelfTest is the self-test of an arm.
type ArmSelfTest struct {
	Suite  string  `json:"suite"`
	Arm    string  `json:"arm"`
	Margin float64 `json:"margin"`
	Alpha  float64 `json:"alpha"`
	compare.SelfTest
}

// selfTestDraws is how many comparisons a self-test draws.
const selfTestDraws = 2000

// SelfTest compares each arm of a run with itself, by the rule of the suite or that of the flags. Cases need two judged repeats.
func SelfTest(s *suite.Suite, d *journal.Document, flags Flags) ([]ArmSelfTest, error) {
	rule, err := effective(s, flags)
	if err == nil && rule == nil {
		rule, err = RuleOf(flags.Rule)
	}
	if err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, exit.BadInput("%s has no gate with a baseline, so there is no margin to test: --margin 0.05", s.Name)
	}
	at := slices.IndexFunc(rule.Metrics, func(m eval.MetricMargin) bool { return m.Name == eval.MetricPass })
	if at < 0 {
		return nil, exit.BadInput("the gate of %s does not compare the pass rate, which is what a self-test looks at", s.Name)
	}
	outcomes, order, err := repeatsOf(s.Name, d)
	if err != nil {
		return nil, err
	}
	out := []ArmSelfTest{}
	for _, arm := range order {
		steady := outcomes[arm][:0]
		for _, repeats := range outcomes[arm] {
			if len(repeats) >= 2 {
				steady = append(steady, repeats)
			}
		}
		if len(steady) == 0 {
			return nil, exit.BadInput("no case of %s on %s was judged twice in %s; record repeats first: evalrun run SUITE --repeats 5", s.Name, arm, d.Run.ID)
		}
		alpha := cmp.Or(rule.Alpha, eval.DefaultAlpha)
		out = append(out, ArmSelfTest{Suite: s.Name, Arm: arm, Margin: rule.Metrics[at].Margin, Alpha: alpha, SelfTest: compare.NewSelfTest(steady, rule.Metrics[at], alpha, selfTestDraws, comparisonSeed)})
	}
	if len(out) == 0 {
		return nil, exit.BadInput("the run %s has no suite %s", d.Run.ID, s.Name)
	}
	return out, nil
}

// repeatsOf reads which repeats of each case passed, by arm.
func repeatsOf(suite string, d *journal.Document) (outcomes map[string][][]bool, order []string, err error) {
	outcomes = map[string][][]bool{}
	places := map[string]int{}
	for f, err := range d.Facts() {
		if err != nil {
			return nil, nil, exit.BadInput("the run cannot be read: %w", err)
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
			outcomes[f.Arm] = append(outcomes[f.Arm], nil)
		}
		outcomes[f.Arm][place] = append(outcomes[f.Arm][place], f.Outcome == eval.Pass)
	}
	return outcomes, order, nil
}
