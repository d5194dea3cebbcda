package gate

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

type change func(*eval.Result)

// trialOf is a trial of the suite "s" on the arm "t/p" that was answered.
func trialOf(name string, outcome eval.Outcome, changes ...change) *eval.Result {
	r := &eval.Result{
		Trial:  eval.Trial{CaseID: "id of " + name, ScorersHash: "h", Suite: "s", Case: name, Arm: "t/p", Repeat: 1},
		Ending: testrun.Ending(outcome), Timing: &eval.Timing{LatencyMs: 100}, Usage: &eval.Usage{TotalTokens: 10},
	}
	switch outcome {
	case eval.Err:
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}
	case eval.Skip:
		r.Ending = eval.Skipped{Reason: "budget"}
	default:
		r.Response = testrun.Answered("an answer to "+name, "STOP")
	}
	for _, c := range changes {
		c(r)
	}
	return r
}

func on(suite, arm string) change { return func(r *eval.Result) { r.Suite, r.Arm = suite, arm } }

// row is a case for each letter, c00, c01 and so on: p passes, f fails, e is an error, s was not sent.
func row(letters string, changes ...change) []*eval.Result {
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 'e': eval.Err, 's': eval.Skip}
	var out []*eval.Result
	for n, letter := range letters {
		out = append(out, trialOf(fmt.Sprintf("c%02d", n), kinds[letter], changes...))
	}
	return out
}

func completed() *eval.End { return &eval.End{Reason: eval.EndCompleted} }

// runOf records a run of this name with its trials in this order.
func runOf(t testing.TB, id string, change func(*eval.Run), trials ...*eval.Result) *journal.Document {
	t.Helper()
	return endedRun(t, id, change, completed(), trials...)
}

// endedRun records a run that ended in this way. Its suites are those of its trials.
func endedRun(t testing.TB, id string, change func(*eval.Run), end *eval.End, trials ...*eval.Result) *journal.Document {
	t.Helper()
	run := eval.Run{ID: id, StartedAt: "2026-01-01T00:00:00Z", CommandOptions: &eval.RunOptions{}, Plan: eval.RunPlan{Trials: len(trials)}}
	trials = slices.Clone(trials) // tests share them
	for n, given := range trials {
		r := *given
		r.N, r.ID = n, fmt.Sprintf("%016x", n)
		trials[n] = &r
		if !slices.ContainsFunc(run.Suites, func(s eval.RunSuite) bool { return s.Name == r.Suite }) {
			run.Suites = append(run.Suites, eval.RunSuite{Name: r.Suite})
		}
	}
	if change != nil {
		change(&run)
	}
	return testrun.Record(t, &run, end, trials...)
}

func passRule(margin float64) *eval.BaselineRule {
	return &eval.BaselineRule{
		Alpha: eval.DefaultAlpha, OnInconclusive: eval.OnFail, Metrics: []eval.MetricMargin{{Name: eval.MetricPass, Margin: margin}},
	}
}

func byRule(rule *eval.BaselineRule) Comparing {
	return Comparing{Gate: true, Rules: func(string) *eval.BaselineRule { return rule }}
}

func compared(t testing.TB, base, head *journal.Document, what Comparing) *compare.Comparison {
	t.Helper()
	c, err := Compare(base, head, what)
	expect.OK(t, err)
	return c
}

func onlyArm(t testing.TB, c *compare.Comparison) *compare.ArmComparison {
	t.Helper()
	if len(c.Arms) != 1 {
		t.Fatalf("got %d arms, want one: %+v", len(c.Arms), c.Arms)
	}
	return &c.Arms[0]
}

func verdicts(c *compare.Comparison) (out []string) {
	for i := range c.Arms {
		out = append(out, fmt.Sprintf("%s %s: %s", c.Arms[i].Suite, c.Arms[i].HeadArm, c.Arms[i].Verdict))
	}
	return out
}

func load(t testing.TB, text string, filter runner.Filter) (*suite.Suite, *runner.Plan) {
	t.Helper()
	var diags diag.List
	s := suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
	expect.OK(t, diags.Err())
	return s, runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), filter, "v1")
}
