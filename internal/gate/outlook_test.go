package gate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// outlooksOf are the outlooks of a plan, as ARM < BASE with the units that count, and the problems.
func outlooksOf(t *testing.T, text string, change func(*eval.WithDefaults)) (out, problems []string) {
	t.Helper()
	s, plan := load(t, text, runner.Filter{})
	o := &eval.WithDefaults{}
	if change != nil {
		change(o)
	}
	c := &Checks{Options: o, Dir: rundir.At(t.TempDir()), Plan: plan, Notice: func(string) {}}
	looks, _, problems, err := Outlooks(c, []*suite.Suite{s})
	expect.OK(t, err)
	for i := range looks {
		out = append(out, fmt.Sprintf("%s < %s, %d, early: %v", looks[i].Arm, looks[i].Base, looks[i].Units, looks[i].StopEarly))
	}
	return out, problems
}

// Each arm that is compared has an outlook; a baseline that is missing is a problem that the run would meet.
func TestArmsThatAreComparedHaveAnOutlook(t *testing.T) {
	t.Parallel()
	text := earlySuite(60, "abc", nil)
	within := withGate(text, "arm: t/a, margin: 0.1, stopEarly: true")
	got, problems := outlooksOf(t, within, nil)
	expect.Same(t, "within the run", got, []string{"t/b < t/a, 60, early: true", "t/c < t/a, 60, early: true"})
	expect.Same(t, "problems", len(problems), 0)

	got, _ = outlooksOf(t, within, func(o *eval.WithDefaults) { o.Baseline = eval.NoBaseline{} })
	expect.Same(t, "without the baseline", len(got), 0)

	got, _ = outlooksOf(t, within, func(o *eval.WithDefaults) { o.Rule.Metrics = []string{"blocked=0.1"} })
	expect.Same(t, "without the pass rate", len(got), 0)

	got, _ = outlooksOf(t, text, nil)
	expect.Same(t, "without a gate", len(got), 0)

	got, problems = outlooksOf(t, withGate(text, "run: gone, margin: 0.1"), nil)
	expect.Same(t, "all cases count where the baseline is not there", got, []string{
		"t/a < , 60, early: false", "t/b < , 60, early: false", "t/c < , 60, early: false",
	})
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "a run would stop before it sends a request: s is to be compared, and ") {
		t.Errorf("got the problems %q, want that there is no baseline", problems)
	}
}

func TestABaselineWithoutTheSuiteIsAProblem(t *testing.T) {
	t.Parallel()
	d := runOf(t, "base", nil, row("pp", on("other", "t/p"))...)
	_, problems := outlooksOf(t, earlySuite(60, "p", nil), func(o *eval.WithDefaults) {
		o.Baseline, o.Rule.Margin = eval.NamedBaseline(d.Path()), 0.1
	})
	want := "a run would stop before it sends a request: s is to be compared, and the baseline " + d.Path() + " has no suite s"
	expect.Same(t, "problems", problems, []string{want})
}

// repeated are cases of two repeats, which fail where fails says so.
func repeated(cases int, fails func(c, k int) bool) (out []*eval.Result) {
	for c := range cases {
		for k := range 2 {
			outcome := eval.Pass
			if fails(c, k) {
				outcome = eval.Fail
			}
			out = append(out, trialOf(fmt.Sprintf("c%02d", c), outcome, func(r *eval.Result) { r.Repeat = k + 1 }))
		}
	}
	return out
}

func ruled(rule eval.RuleOptions) *eval.WithDefaults {
	o := &eval.WithDefaults{}
	o.Rule = rule
	return o
}

// A run whose repeats agree raises no false alarm and is let through; one whose repeats differ flips as often as they do.
func TestSelfTestMeasuresHowOftenTheGateErrs(t *testing.T) {
	t.Parallel()
	s, _ := load(t, withGate(earlySuite(60, "ab", nil), "arm: t/a, margin: 0.1, alpha: 0.1"), runner.Filter{})
	steady := runOf(t, "r", nil, repeated(30, func(int, int) bool { return false })...)
	tests, err := SelfTest(s, steady, &eval.WithDefaults{})
	expect.OK(t, err)
	one := tests[0]
	expect.Same(t, "arm, margin and level", []any{one.Suite, one.Arm, one.Margin, one.Alpha}, []any{"s", "t/p", 0.1, 0.1})
	expect.Same(t, "comparisons of units", [2]int{one.Draws, one.Units}, [2]int{selfTestDraws, 30})
	expect.Same(t, "false alarms and flips", [2]float64{one.FalseAlarms, one.Flips}, [2]float64{0, 0})
	if got := one.Verdicts[eval.NotWorse]; got < 0.999 {
		t.Errorf("got %g of the comparisons let through, want all", got)
	}

	shaky := runOf(t, "r", nil, repeated(30, func(c, k int) bool { return c < 8 && k == 0 })...)
	tests, err = SelfTest(s, shaky, ruled(eval.RuleOptions{Margin: 0.2, Alpha: 0.05}))
	expect.OK(t, err)
	one = tests[0]
	expect.Same(t, "options go over the gate", [2]float64{one.Margin, one.Alpha}, [2]float64{0.2, 0.05})
	if one.Flips < 0.2 || one.Flips > 0.3 {
		t.Errorf("got %g of the cases that flip, want a quarter", one.Flips)
	}
	if one.FalseAlarms > 0.05+3*0.005 {
		t.Errorf("got false alarms of %g, want at most alpha", one.FalseAlarms)
	}
	second, err := SelfTest(s, shaky, ruled(eval.RuleOptions{Margin: 0.2, Alpha: 0.05}))
	expect.OK(t, err)
	expect.Same(t, "the same data", second, tests)
}

func TestSelfTestTakesCasesThatWereJudgedTwice(t *testing.T) {
	t.Parallel()
	s, _ := load(t, withGate(earlySuite(60, "ab", nil), "arm: t/a, margin: 0.1"), runner.Filter{})
	trials := repeated(6, func(int, int) bool { return false })
	quarantined(trials[0])
	quarantined(trials[1])
	trials[2].Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}
	tests, err := SelfTest(s, runOf(t, "r", nil, trials...), &eval.WithDefaults{})
	expect.OK(t, err)
	expect.Same(t, "units", tests[0].Units, 4)
}

func TestSelfTestSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	text := earlySuite(60, "ab", nil)
	two := runOf(t, "r", nil, repeated(4, func(int, int) bool { return false })...)
	for name, test := range map[string]struct {
		gate    string
		options eval.RuleOptions
		once    bool
		want    string
	}{
		"no margin": {want: "s has no gate with a baseline, so there is no margin to test: --margin 0.05"},
		"no pass rate": {
			options: eval.RuleOptions{Metrics: []string{"tone=0.1"}},
			want:    "the gate of s does not compare the pass rate, which is what a self-test looks at",
		},
		"no repeats": {
			options: eval.RuleOptions{Margin: 0.1}, once: true,
			want: "no case of s on t/p was scored twice in r; record repeats first: evalrun run SUITE --repeats 5",
		},
		"no suite": {options: eval.RuleOptions{Margin: 0.1}, gate: "renamed", want: "the run r has no suite renamed"},
	} {
		d := two
		if test.once {
			d = runOf(t, "r", nil, row("pppp")...)
		}
		text := text
		if test.gate != "" {
			text = strings.Replace(text, "name: s\n", "name: "+test.gate+"\n", 1)
		}
		s, _ := load(t, text, runner.Filter{})
		_, err := SelfTest(s, d, ruled(test.options))
		expect.Same(t, name, fmt.Sprint(err), test.want)
		expect.Same(t, name+", exit code", eval.CodeOf(err), eval.CodeBadInput)
	}
}
