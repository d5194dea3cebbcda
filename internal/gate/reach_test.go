package gate

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// withGate adds a gate that compares with an arm or a run, and further keys of it.
func withGate(text, baseline string) string { return text + "gate: {baseline: {" + baseline + "}}\n" }

func reached(
	t *testing.T,
	text string,
	filter runner.Filter,
	change func(*Checks),
) (gate *eval.GateConfig, notices []string, err error) {
	t.Helper()
	s, plan := load(t, text, filter)
	c := &Checks{
		Options: &eval.WithDefaults{}, Dir: rundir.At(t.TempDir()), Plan: plan, Notice: func(text string) { notices = append(notices, text) },
	}
	if change != nil {
		change(c)
	}
	gates, _, err := c.Gates([]*suite.Suite{s})
	if err != nil {
		return nil, notices, err
	}
	return gates[0], notices, nil
}

// A gate that its cases can never satisfy is refused before anything is sent: by the number of independent units.
func TestTooFewCasesAreRefused(t *testing.T) {
	t.Parallel()
	cluster := func(of int) func(int) string {
		return func(n int) string { return fmt.Sprintf("cluster: k%d, ", n/of) }
	}
	const early = ", stopEarly: true"
	for name, test := range map[string]struct {
		cases int
		of    func(int) string
		gate  string
		want  string // what the error says; "" for none
	}{
		"all may get better": {5, nil, "margin: 0.05", ""},
		"even that is too little": {
			4,
			nil,
			"margin: 0.05",
			"4 cases can never show that the pass rate is not worse by a margin of 0.05; you need 59",
		},
		"a larger margin":           {4, nil, "margin: 0.1", ""},
		"one missing for it":        {3, nil, "margin: 0.1", "you need 29 without a single flip"},
		"what is enough is named":   {3, nil, "margin: 0.1", "3 are enough for 0.64"},
		"enough for an early stop":  {5, nil, "margin: 0.05" + early, ""},
		"too few for an early stop": {4, nil, "margin: 0.05" + early, "you need 63 without a single flip"},
		"clusters of two, enough":   {10, cluster(2), "margin: 0.05", ""},
		"clusters of two, too few":  {8, cluster(2), "margin: 0.05", "4 independent units (by the share of the largest cluster)"},
		"the same request, enough":  {10, twice, "margin: 0.05", ""},
		"the same request, too few": {8, twice, "margin: 0.05", "4 cases can never show"},
		"one cluster is large": {
			100,
			func(n int) string { return fmt.Sprintf("cluster: k%d, ", max(n, 10)) }, // eleven of a hundred are one
			"margin: 0.05",
			"9 independent units",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := withGate(earlySuite(test.cases, "ab", test.of), "arm: t/a, "+test.gate)
			_, _, err := reached(t, text, runner.Filter{}, nil)
			if test.want == "" {
				expect.OK(t, err)
				return
			}
			if eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want bad input: %s", err, test.want)
			}
		})
	}
}

func twice(n int) string { return fmt.Sprintf("vars: {q: question %d, note: %d}, ", n/2, n) }

// Cases that are too few unless some get better are a warning; without the baseline they are nothing.
func TestTooFewCasesWithoutGainsAreAWarning(t *testing.T) {
	t.Parallel()
	text := withGate(earlySuite(10, "ab", nil), "arm: t/a, margin: 0.05")
	_, notices, err := reached(t, text, runner.Filter{}, nil)
	expect.OK(t, err)
	want := "warning: s on t/b: 10 cases can show that the pass rate is not worse by a margin of 0.05 only if some get better; you need 59"
	if len(notices) != 1 || !strings.HasPrefix(notices[0], want) {
		t.Errorf("got the notices %q, want one warning", notices)
	}
	_, notices, err = reached(t, text, runner.Filter{}, func(c *Checks) { c.Options.Baseline = eval.NoBaseline{} })
	expect.OK(t, err)
	expect.Same(t, "notices without the baseline", len(notices), 0)
}

// A baseline that is not there, or is no run file, comes with the way to run without it.
func TestABaselineThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gone": "s is to be compared (--no-baseline runs without), and there is no baseline, run or file gone; " +
			"no baseline has a name yet: ",
		"bad.jsonl": "s is to be compared (--no-baseline runs without), and the baseline bad.jsonl cannot be read: ",
	} {
		_, _, err := reached(t, earlySuite(60, "ab", nil), runner.Filter{}, func(c *Checks) {
			c.Options.Baseline, c.Options.Rule.Margin = eval.NamedBaseline(name), 0.1
			expect.OK(t, os.WriteFile(c.Dir.Join("bad.jsonl"), []byte("[]\n"), 0o600))
		})
		if !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// Options that no gate can use, and rules that no scorer backs are refused.
func TestRulesThatNothingBacksAreRefused(t *testing.T) {
	t.Parallel()
	bare := earlySuite(60, "ab", nil)
	_, _, err := reached(t, bare, runner.Filter{}, func(c *Checks) { c.Options.Rule.Margin = 0.1 })
	expect.Same(t, "a margin without a baseline", fmt.Sprint(err),
		"--margin is about a comparison, and nothing is compared: name a baseline by --baseline, or --no-baseline runs without")
	_, _, err = reached(t, bare, runner.Filter{}, func(c *Checks) { c.Options.Rule.Margin, c.Options.Baseline = 0.1, eval.NoBaseline{} })
	expect.OK(t, err)

	text := withGate(bare, "arm: t/a, margin: 0.1")
	_, _, err = reached(t, text, runner.Filter{}, func(c *Checks) { c.Options.Rule.Metrics = []string{"pss=0.1"} })
	expect.Same(t, "an unknown metric", fmt.Sprint(err), "s has no metric pss; did you mean `pass`?")

	_, _, err = reached(t, text, runner.Filter{}, func(c *Checks) {
		c.Options.Rule.Metrics, c.Options.Rule.StopEarly = []string{"pass=0.1", "tokens=1.2"}, true
	})
	want := "the gate of s stops early, which does not go with tokens: ratios are judged at the end"
	expect.Same(t, "an early stop by a ratio", fmt.Sprint(err), want)

	_, _, err = reached(t, text, runner.Filter{Arms: eval.Patterns{"t/a"}}, nil)
	want = "the gate of s compares with t/a, and the run has no other arm; --no-baseline runs without"
	expect.Same(t, "nothing to compare", fmt.Sprint(err), want)

	_, _, err = reached(t, text, runner.Filter{Arms: eval.Patterns{"t/b"}}, nil)
	if !strings.HasPrefix(fmt.Sprint(err), "the gate of s compares with the arm t/a, which is not in this run") {
		t.Errorf("got %v, want the arm that is missing", err)
	}
}

// A baseline that no run can use is reported before anything is sent.
func TestBaselinesThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	text := withGate(earlySuite(60, "p", nil), "run: main, margin: 0.05")
	_, plan := load(t, text, runner.Filter{})
	trials := func(outcome eval.Outcome) (out []*eval.Result) {
		for p := range plan.Trials() {
			r := trialOf(p.Case, outcome)
			r.Trial = p.Trial
			out = append(out, r)
		}
		return out
	}
	renamed := trials(eval.Pass)
	for _, r := range renamed {
		r.Suite = "other"
	}
	changed := trials(eval.Pass)
	for _, r := range changed {
		r.VarsHash = "other"
	}
	half := trials(eval.Pass)[:30]
	blank := trials(eval.Skip)
	for _, r := range blank {
		r.Ending = eval.SkippedDecided{} // other reasons leave a run incomplete
	}
	for name, test := range map[string]struct {
		base *journal.Document
		want string // "" for none
	}{
		"it fits":     {runOf(t, "base", nil, trials(eval.Pass)...), ""},
		"it is blank": {runOf(t, "base", nil, blank...), "the baseline main is blank: no trial ran"},
		"it was interrupted": {
			endedRun(t, "base", nil, &eval.End{Reason: eval.EndInterrupted}, half...),
			"the baseline main is not complete",
		},
		"it has other suites": {runOf(t, "base", nil, renamed...), "the baseline main has no suite s"},
		"all of it changed": {
			runOf(t, "base", nil, changed...),
			"s on t/p: no case is in the baseline as it is now (variables, scorers); name a new baseline, or --no-baseline runs without",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate, _, err := reached(t, text, runner.Filter{}, func(c *Checks) { c.Options.Baseline = eval.NamedBaseline(test.base.Path()) })
			if test.want != "" {
				expect.Contains(t, "error", strings.ReplaceAll(fmt.Sprint(err), test.base.Path(), "main"), test.want)
				return
			}
			expect.OK(t, err)
			expect.Same(t, "the run that was found", gate.Baseline.RunID(), "base")
			expect.Same(t, "where it is", gate.Baseline.Against.(eval.BaseRun).Path, test.base.Path())
		})
	}
}

func TestNewCasesDoNotCountForTheReach(t *testing.T) {
	t.Parallel()
	_, before := load(t, earlySuite(50, "p", nil), runner.Filter{})
	rule := baselineOf(t, before, 0.05, passing)
	_, notices, err := reached(t, withGate(earlySuite(60, "p", nil), "run: main, margin: 0.05"), runner.Filter{}, func(c *Checks) {
		c.Options.Baseline = eval.NamedBaseline(rule.Against.(eval.BaseRun).Path)
	})
	expect.OK(t, err)
	for _, want := range []string{"s on t/p: 50 cases can show", "; 10 more are not in the baseline as they are now"} {
		expect.Contains(t, "notices", fmt.Sprint(notices), want)
	}
}

func TestAPlanThatLeavesOutTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	_, before := load(t, earlySuite(100, "p", nil), runner.Filter{})
	rule := baselineOf(t, before, 0.05, passing)
	now := withGate(earlySuite(80, "p", nil), "run: main, margin: 0.05")
	baseline := func(c *Checks) { c.Options.Baseline = eval.NamedBaseline(rule.Against.(eval.BaseRun).Path) }
	_, _, err := reached(t, now, runner.Filter{}, baseline)
	want := "s on t/p: 80 of 100 cases of the baseline are compared, less than 90 %: --min-paired 0.80 accepts it, and " +
		"`accepted: {removed: [\"c080\", \"c081\", \"c082\", \"c083\", \"c084\", ...]}` accepts cases by name; --no-baseline runs without"
	expect.Same(t, "error", fmt.Sprint(err), want)
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeIncomplete)
	_, _, err = reached(t, now, runner.Filter{}, func(c *Checks) {
		baseline(c)
		c.Options.Rule.MinPaired = new(0.8)
	})
	expect.OK(t, err)
}

func TestLimitsOfTheCommandLineReplaceThoseOfTheGate(t *testing.T) {
	t.Parallel()
	configured := func(own *eval.GateConfig, o *eval.WithDefaults) *eval.GateConfig {
		got, err := overridden(own, "", o)
		expect.OK(t, err)
		return got
	}
	own := &eval.GateConfig{PassRateMin: new(0.9), ErrorsMax: new(0.1), LatencyP95Ms: new(5.0)}
	expect.Same(t, "without options", configured(own, &eval.WithDefaults{}), own)
	expect.Same(t, "without anything", configured(nil, &eval.WithDefaults{}), nil)
	o := &eval.WithDefaults{}
	o.MinPassRate, o.MaxErrors, o.MaxBlocked = new(0.5), new(0.0), new(0.2)
	want := &eval.GateConfig{PassRateMin: new(0.5), ErrorsMax: new(0.0), BlockedMax: new(0.2), LatencyP95Ms: new(5.0)}
	expect.Same(t, "with all of them", configured(own, o), want)
	expect.Same(t, "the suite's own", own, &eval.GateConfig{PassRateMin: new(0.9), ErrorsMax: new(0.1), LatencyP95Ms: new(5.0)})
	want.LatencyP95Ms, want.FailuresMax = nil, new(0.0) // as in a suite without a gate
	expect.Same(t, "without a gate", configured(nil, o), want)
}
