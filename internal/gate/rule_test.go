package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// gateSuite is a suite with a gate that compares the pass rate and a named metric.
const gateSuite = `version: 1
name: s
targets: [{name: t, model: svc-pro}]
prompts: [{name: p, text: "{{.q}}"}]
cases:
  - {name: c, vars: {q: x}, scorers: [{contains: x, name: tone}]}
gate:
  baseline:
    run: main
    alpha: 0.01
    onInconclusive: warn
    metrics: {pass: {margin: 0.05}, tone: {margin: 0.1}, latency: {limit: 1.2}}
`

// metric is a metric of the rule, without the fields that options leave alone.
type metric struct {
	Name   string
	Margin float64
}

func metricsOf(rule *eval.BaselineRule) (out []metric) {
	for _, m := range rule.Metrics {
		out = append(out, metric{m.Name, m.Margin})
	}
	return out
}

func TestOptionsReplacePartsOfARule(t *testing.T) {
	t.Parallel()
	own := []metric{{"pass", 0.05}, {"tone", 0.1}, {"latency", 1.2}}
	s, _ := load(t, gateSuite, runner.Filter{})
	for name, test := range map[string]struct {
		options eval.RuleOptions
		metrics []metric
		check   func(*eval.BaselineRule) bool
	}{
		"nothing": {metrics: own, check: func(r *eval.BaselineRule) bool {
			return r.Alpha == 0.01 && r.OnInconclusive == eval.OnWarn && !r.StopEarly && r.LeastPaired() == 0.9
		}},
		"--margin, of all but ratios": {
			options: eval.RuleOptions{Margin: 0.2}, metrics: []metric{{"pass", 0.2}, {"tone", 0.2}, {"latency", 1.2}},
		},
		"--metric, all of them": {options: eval.RuleOptions{Metrics: []string{"tone=0.3"}}, metrics: []metric{{"tone", 0.3}}},
		"--metric with --margin": {
			options: eval.RuleOptions{Margin: 0.2, Metrics: []string{"pass", "tokens=1.5"}},
			metrics: []metric{{"pass", 0.2}, {"tokens", 1.5}},
		},
		"--alpha": {options: eval.RuleOptions{Alpha: 0.1}, metrics: own, check: func(r *eval.BaselineRule) bool { return r.Alpha == 0.1 }},
		"--on-inconclusive": {
			options: eval.RuleOptions{OnInconclusive: eval.OnPass}, metrics: own,
			check: func(r *eval.BaselineRule) bool { return r.OnInconclusive == eval.OnPass },
		},
		"--stop-early": {options: eval.RuleOptions{StopEarly: true}, metrics: own, check: func(r *eval.BaselineRule) bool { return r.StopEarly }},
		"--min-paired 0": {
			options: eval.RuleOptions{MinPaired: new(0.0)}, metrics: own, check: func(r *eval.BaselineRule) bool { return r.LeastPaired() == 0 },
		},
		"--allow-removed": {
			options: eval.RuleOptions{AllowRemoved: []string{"old"}}, metrics: own,
			check: func(r *eval.BaselineRule) bool { return len(r.AllowRemoved) == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &eval.WithDefaults{}
			o.Rule = test.options
			rule, err := effective(s.Gate, "", o)
			expect.OK(t, err)
			expect.Same(t, "metrics", metricsOf(rule), test.metrics)
			if test.check != nil && !test.check(rule) {
				t.Errorf("got the rule %+v, want another: its check fails", rule)
			}
		})
	}
	expect.Same(t, "the suite's own margin, which options must not change", s.Gate.Baseline.Metrics[0].Margin, 0.05)
}

// --baseline replaces what is compared with; rescoring does not stop early; without either nothing is compared.
func TestASuiteIsComparedWithWhatItNames(t *testing.T) {
	t.Parallel()
	early := strings.NewReplacer("run: main", "run: main\n    stopEarly: true", ", latency: {limit: 1.2}", "")
	s, _ := load(t, early.Replace(gateSuite), runner.Filter{})
	without, _, _ := strings.Cut(gateSuite, "gate:")
	bare, _ := load(t, without, runner.Filter{})

	o := &eval.WithDefaults{}
	rule, err := effective(s.Gate, "", o)
	expect.OK(t, err)
	expect.Same(t, "the suite's own", [2]any{rule.Against, rule.StopEarly}, [2]any{eval.BaseRun{Name: "main"}, true})

	o.Baseline, o.Rescore = eval.NamedBaseline("night"), "yesterday"
	rule, err = effective(s.Gate, "", o)
	expect.OK(t, err)
	expect.Same(t, "named by an option, rescored", [2]any{rule.Against, rule.StopEarly}, [2]any{eval.BaseRun{Name: "night"}, false})

	rule, err = effective(bare.Gate, "", &eval.WithDefaults{})
	expect.OK(t, err)
	expect.Same(t, "a suite without a gate", rule, nil)

	_, err = effective(bare.Gate, "", o)
	expect.Same(t, "exit code without a margin", eval.CodeOf(err), eval.CodeBadInput)

	o.Rule.Margin = 0.1
	rule, err = effective(bare.Gate, "", o)
	expect.OK(t, err)
	expect.Same(t, "a suite without a gate, compared by options", metricsOf(rule), []metric{{"pass", 0.1}})
	expect.Same(t, "its defaults", [2]any{rule.Alpha, rule.OnInconclusive}, [2]any{eval.DefaultAlpha, eval.OnFail})
}

// A margin says what is wrong with it.
func TestInvalidMarginsAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tone=0":       "--metric tone=0: a margin lies between 0 and 1, such as tone=0.05",
		"tone=1":       "--metric tone=1: a margin lies between 0 and 1, such as tone=0.05",
		"tone=-1":      "--metric tone=-1: a margin lies between 0 and 1, such as tone=0.05",
		"tone=NaN":     "--metric tone=NaN: a margin lies between 0 and 1, such as tone=0.05",
		"tone=x":       "--metric tone=x: a margin lies between 0 and 1, such as tone=0.05",
		"latency=0.9":  "--metric latency=0.9: a limit of latency is larger than 1, and 100 at most, such as latency=1.1",
		"tokens=1":     "--metric tokens=1: a limit of tokens is larger than 1, and 100 at most, such as tokens=1.1",
		"latency=+Inf": "--metric latency=+Inf: a limit of latency is larger than 1, and 100 at most, such as latency=1.1",
		"latency":      "--metric latency has no margin: --metric latency=0.05, or for latency and tokens a limit such as 1.1",
	} {
		_, err := RuleOf(eval.RuleOptions{Margin: 0.1, Metrics: []string{text}})
		if err == nil || err.Error() != want {
			t.Errorf("--metric %s: got %v, want %s", text, err, want)
		}
	}
}

func TestExitOfAComparisonIsThatOfItsWorstArm(t *testing.T) {
	t.Parallel()
	arms := func(verdicts ...eval.Verdict) *compare.Comparison {
		c := &compare.Comparison{}
		for _, v := range verdicts {
			c.Arms = append(c.Arms, compare.ArmComparison{Verdict: v})
			c.Verdict = compare.Worse(c.Verdict, v)
		}
		return c
	}
	rule := func(onInconclusive eval.OnInconclusive) *eval.BaselineRule {
		return &eval.BaselineRule{OnInconclusive: onInconclusive}
	}
	why := arms()
	why.Why = "no arm is in both"
	unfinished := arms(eval.NotWorse)
	unfinished.Preferences = &compare.PreferenceTotals{PreferenceCalls: compare.PreferenceCalls{Incomplete: "the budget is spent"}}
	lost := arms(eval.Regressed)
	lost.Preferences = unfinished.Preferences
	for name, test := range map[string]struct {
		c    *compare.Comparison
		rule *eval.BaselineRule
		want int
	}{
		"not worse":                        {arms(eval.NotWorse, eval.Improved), rule(eval.OnFail), eval.CodeOK},
		"one regressed":                    {arms(eval.NotWorse, eval.Regressed), rule(eval.OnFail), eval.CodeFailed},
		"regressed, before an invalid one": {arms(eval.Invalid, eval.Regressed), rule(eval.OnFail), eval.CodeFailed},
		"invalid, before inconclusive":     {arms(eval.Inconclusive, eval.Invalid), rule(eval.OnFail), eval.CodeIncomplete},
		"inconclusive":                     {arms(eval.Inconclusive), rule(eval.OnFail), eval.CodeInconclusive},
		"inconclusive by default":          {arms(eval.Inconclusive), rule(""), eval.CodeInconclusive},
		"inconclusive, a warning":          {arms(eval.Inconclusive), rule(eval.OnWarn), eval.CodeOK},
		"inconclusive, passes":             {arms(eval.Inconclusive), rule(eval.OnPass), eval.CodeOK},
		"regressed, where warnings do":     {arms(eval.Regressed), rule(eval.OnPass), eval.CodeFailed},
		"nothing in common":                {why, rule(eval.OnPass), eval.CodeIncomplete},
		"estimates alone":                  {arms(""), nil, eval.CodeOK},
		"estimates of nothing":             {arms(eval.Invalid), nil, eval.CodeIncomplete},
		"a judge that did not finish":      {unfinished, rule(eval.OnFail), eval.CodeIncomplete},
		"a judge that did not finish, nil": {unfinished, nil, eval.CodeIncomplete},
		"it regressed all the same":        {lost, rule(eval.OnFail), eval.CodeFailed},
	} {
		expect.Same(t, name+": got exit", Exit(test.c, test.rule), test.want)
	}
}

func TestAnUnknownArmIsBadInput(t *testing.T) {
	t.Parallel()
	d := runOf(t, "r", nil, arms("s:pro/short", "s:pro/long")...)
	expect.OK(t, CheckArm(d, "pro/long"))
	err := CheckArm(d, "pro/lang")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeBadInput)
	if err != nil {
		expect.Same(t, "message", err.Error(), "the run r has no arm pro/lang; did you mean `pro/long`?")
	}
}

// A comparison of several suites has each arm, base and warning once, and the worst verdict.
func TestComparisonsOfSeveralSuitesAreMerged(t *testing.T) {
	t.Parallel()
	one := func(base, suite string, v eval.Verdict, warnings ...string) *compare.Comparison {
		return &compare.Comparison{
			Base: compare.Compared{Name: base, Run: "id of " + base}, Verdict: v, Warnings: warnings,
			Arms: []compare.ArmComparison{
				{Suite: suite, HeadArm: "t/p", Verdict: v},
				{Suite: "lost", HeadArm: "t/p", Verdict: eval.Invalid},
			},
		}
	}
	whole := &compare.Comparison{}
	merge(whole, one("main", "a", eval.NotWorse, "drift"))
	expect.Same(t, "the base of one", whole.Base, compare.Compared{Name: "main", Run: "id of main"})
	merge(whole, one("main", "b", eval.Regressed, "drift", "emulator"))
	expect.Same(t, "the base of two that are the same", whole.Base.Run, "id of main")
	merge(whole, one("night", "c", eval.Improved))
	merge(whole, one("main", "d", eval.Improved))
	expect.Same(t, "bases", whole.Base, compare.Compared{Name: "main, night"})
	expect.Same(t, "arms", verdicts(whole), []string{
		"a t/p: not_worse", "lost t/p: invalid", "b t/p: regressed", "c t/p: improved", "d t/p: improved",
	})
	expect.Same(t, "warnings", whole.Warnings, []string{"drift", "emulator"})
	expect.Same(t, "verdict", whole.Verdict, eval.Regressed)
}

// An error rate that only the API can give is refused as the flags refuse it.
func TestAVerdictIsNotWrongTooOften(t *testing.T) {
	t.Parallel()
	err := override(&eval.BaselineRule{}, eval.RuleOptions{Alpha: 0.5})
	expect.Contains(t, "a rule", fmt.Sprint(err), "--alpha 0.5: a verdict with this error rate is not informative; use 0.2 or less")
	s, plan := load(t, gateSuite, runner.Filter{})
	o := &eval.WithDefaults{}
	o.Race, o.Rule.Alpha = "pass", 0.5
	_, err = (&Checks{Options: o, Plan: plan}).Races([]*suite.Suite{s})
	expect.Contains(t, "a race", fmt.Sprint(err), "--alpha 0.5: a race with this error rate is not informative; use 0.2 or less")
}
