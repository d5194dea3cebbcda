package evaltest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/evaltest"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// recorded is a run of a case for each letter: p passes, f fails. Each has a score tone, 1 or 0.
func recorded(t *testing.T, id, arm, letters string, end eval.EndReason) *journal.Document {
	t.Helper()
	var trials []*eval.Result
	for n, letter := range letters {
		r := &eval.Result{
			Trial: eval.Trial{
				N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprint("case ", n), Suite: "s", Case: fmt.Sprint("case ", n), Arm: arm, Repeat: 1,
			},
			Ending: eval.Failed{}, Scores: []eval.Score{{Scorer: "x", Name: "tone", Grade: eval.Graded{}}},
		}
		if letter == 'p' {
			r.Ending, r.Scores[0].Grade = eval.Passed{}, eval.Graded{Value: 1, Passed: true}
		}
		trials = append(trials, r)
	}
	run := eval.Run{ID: id, Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: len(trials)}}
	return testrun.Record(t, &run, &eval.End{Reason: end}, trials...)
}

// Metrics with a margin get a verdict, and without any there are estimates; what cannot be compared is invalid, with a reason.
func TestCompareDecidesByMargins(t *testing.T) {
	t.Parallel()
	good, bad := strings.Repeat("p", 60), strings.Repeat("f", 12)+strings.Repeat("p", 48)
	pass, tone := eval.MetricMargin{Name: "pass", Margin: 0.05}, eval.MetricMargin{Name: "tone", Margin: 0.5}
	base := recorded(t, "base", "t/p", good, eval.EndCompleted)
	for name, test := range map[string]struct {
		head    *journal.Document
		metrics []eval.MetricMargin
		want    eval.Verdict
		why     string
	}{
		"the same":             {recorded(t, "head", "t/p", good, eval.EndCompleted), []eval.MetricMargin{pass}, eval.NotWorse, ""},
		"worse":                {recorded(t, "head", "t/p", bad, eval.EndCompleted), []eval.MetricMargin{pass}, eval.Regressed, ""},
		"worse, within reason": {recorded(t, "head", "t/p", bad, eval.EndCompleted), []eval.MetricMargin{tone}, eval.NotWorse, ""},
		"the worst of both": {
			recorded(t, "head", "t/p", bad, eval.EndCompleted),
			[]eval.MetricMargin{tone, pass},
			eval.Regressed,
			"",
		},
		"estimates": {recorded(t, "head", "t/p", bad, eval.EndCompleted), nil, "", ""},
		"itself":    {base, []eval.MetricMargin{pass}, eval.Invalid, "it is the same run on both sides; compare two of its arms, or two runs"},
		"a run that broke off": {
			recorded(t, "head", "t/p", good, eval.EndStopped),
			[]eval.MetricMargin{pass},
			eval.Invalid,
			"the run is not complete",
		},
		"an arm that was named": {
			recorded(t, "head", "t/new", good, eval.EndCompleted),
			[]eval.MetricMargin{pass},
			eval.NotWorse,
			"",
		},
	} {
		c, err := evaltest.Compare(base, test.head, test.metrics...)
		expect.OK(t, err)
		expect.Same(t, name+": verdict", c.Verdict, test.want)
		expect.Same(t, name+": why", c.Arms[0].Why, test.why)
		expect.Same(t, name+": the name of the base", c.Base.Name, base.Dir)
		for _, m := range c.Arms[0].Metrics {
			expect.Same(t, name+": "+m.Name+" has a margin where it has a verdict", m.Margin != nil, m.Verdict != "")
		}
	}
	if _, err := base.Trial(0); err != nil {
		t.Errorf("the base was closed: %v, want no error", err)
	}
}
