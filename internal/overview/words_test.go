package overview

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// Answers that are not whole are counted by why.
func TestCutAnswersAreCountedByReason(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]journal.Summary{
		"": {},
		"1 answer cut at the token limit (MAX_TOKENS)":                                    {Cut: 1},
		"2 answers blocked after some text":                                               {PartlyBlocked: 2},
		"3 answers cut at the token limit (MAX_TOKENS), 1 answer blocked after some text": {Cut: 3, PartlyBlocked: 1},
	} {
		expect.Same(t, "cut answers", CutAnswers(&s), want)
	}
}

// The first three damaged places are listed, the others counted.
func TestDamageIsCut(t *testing.T) {
	t.Parallel()
	expect.Same(t, "none", len(Damage(&journal.Document{})), 0)
	d := &journal.Document{Damaged: []string{"line 1", "line 2", "line 3"}}
	expect.Same(t, "three", Damage(d), []string{"damaged: line 1", "damaged: line 2", "damaged: line 3"})
	d.Damaged = append(d.Damaged, "line 4", "line 5")
	expect.Same(t, "five", Damage(d)[3:], []string{"and 2 more places like these"})
}

// Each reason of an early end has its words, and an unknown one is quoted.
func TestEachEarlyEndHasItsWords(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]eval.End{
		"the run was interrupted":                             {Reason: eval.EndInterrupted},
		"the run stopped: its budget is spent: 3 of 3 calls":  {Reason: eval.EndBudget, Message: "3 of 3 calls"},
		"the run stopped because of failures":                 {Reason: eval.EndMaxFailures},
		"the run could not be completed: the key was refused": {Reason: eval.EndStopped, Message: "the key was refused"},
		"the run ended: laterVersion":                         {Reason: "laterVersion"},
	} {
		expect.Same(t, "incomplete", incomplete(&end), want)
	}
}

// ruled is a run to which a gate was applied: one case failed, one is an error.
func ruled(t *testing.T, rules ...journal.GateRule) *journal.Document {
	t.Helper()
	var trials []*eval.Result
	for n, one := range []struct {
		arm     string
		outcome eval.Outcome
	}{{"t/a", eval.Fail}, {"t/a", eval.Pass}, {"t/b", eval.Pass}, {"t/b", eval.Err}} {
		trials = append(trials, trial(n, fmt.Sprint("c", n%2), one.arm, 1, one.outcome))
	}
	run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: 4, Arms: []string{"t/a", "t/b"}}}
	d := testrun.Record(t, &run, completed(), trials...)
	d.Gate().Rules = rules
	return d
}

// A rule that no failed case shows is one more case that failed; of a whole suite it is with the first arm.
func TestRulesThatNoCaseShowsAreCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule journal.GateRule
		arm  string // with which it is; "" where cases show it
	}{
		"it holds":                          {journal.GateRule{RuleName: "latency p95", Arm: "t/a", Standing: journal.RuleHolds}, ""},
		"latency":                           {journal.GateRule{RuleName: "latency p95", Arm: "t/b"}, "t/b"},
		"a mean":                            {journal.GateRule{RuleName: "mean tone", Arm: "t/a"}, "t/a"},
		"a baseline":                        {journal.GateRule{RuleName: "baseline", Arm: "t/a"}, "t/a"},
		"quarantine, of the suite":          {journal.GateRule{RuleName: "maxQuarantined"}, "t/a"},
		"pass rate, shown by a failure":     {journal.GateRule{RuleName: "passRate", Arm: "t/a"}, ""},
		"pass rate, shown by an error":      {journal.GateRule{RuleName: "passRate", Arm: "t/b"}, ""},
		"errors, shown by one":              {journal.GateRule{RuleName: "errors"}, ""},
		"blocked, shown by a failure":       {journal.GateRule{RuleName: "blocked"}, ""},
		"an arm that the run does not have": {journal.GateRule{RuleName: "baseline", Arm: "gone"}, "t/a"},
	} {
		test.rule.Suite = "s"
		d := ruled(t, test.rule)
		cases := NewGateCases(d)
		got := ""
		for _, arm := range []string{"t/a", "t/b"} {
			for range cases.Of("s", arm) {
				got += arm
			}
		}
		expect.Same(t, name, got, test.arm)
		want := journal.CaseCounts{Tests: 4, Failures: 1, Errors: 1}
		if test.arm != "" {
			want.Tests, want.Failures = 5, 2
		}
		expect.Same(t, name+": counts", New(d).Totals.Cases, want)
	}
	expect.Same(t, "its name", GateCase(&journal.GateRule{RuleName: "latency p95", Arm: "t/a"}), "gate: latency p95 t/a")
	expect.Same(t, "its name without an arm", GateCase(&journal.GateRule{RuleName: "errors"}), "gate: errors")
}

// A headline has one word for each way in which a run can end, whatever format shows it.
func TestHeadlineSaysHowARunEnded(t *testing.T) {
	t.Parallel()
	stopped := &eval.End{Reason: eval.EndBudget}
	shard := func(r *eval.Run) { r.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2} }
	failing := func(code int) journal.Gate {
		return journal.Gate{Exit: code, Rules: []journal.GateRule{{RuleName: journal.RulePassRate}}}
	}
	held := []journal.GateRule{{RuleName: journal.RulePassRate, Standing: journal.RuleHolds}}
	for want, test := range map[string]struct {
		end    *eval.End
		change func(*eval.Run)
		gate   journal.Gate
	}{
		"PASS: the gate holds (exit 0)":               {completed(), nil, journal.Gate{Rules: held}},
		"PASS: nothing that counts failed (exit 0)":   {completed(), nil, journal.Gate{}},
		"NOT GATED: a shard applies no gate (exit 0)": {completed(), shard, journal.Gate{}},
		"FAIL: the gate does not hold (exit 1)":       {completed(), nil, failing(eval.CodeFailed)},
		"FAIL: 1 trial failed (exit 1)":               {completed(), nil, journal.Gate{Exit: eval.CodeFailed}},
		"INCONCLUSIVE: there are too few cases for a verdict, and the gate says that this fails (exit 3)": {
			completed(), nil, failing(eval.CodeInconclusive),
		},
		"ERROR: the gate does not hold (exit 4)":                         {completed(), nil, failing(eval.CodeIncomplete)},
		"ERROR: 1 trial could not be judged (exit 4)":                    {completed(), nil, journal.Gate{Exit: eval.CodeIncomplete}},
		"INCOMPLETE: not every trial of the plan was judged (exit 4)":    {stopped, nil, journal.Gate{Exit: eval.CodeIncomplete}},
		"INTERRUPTED: the run was killed (exit 4)":                       {nil, nil, journal.Gate{Exit: eval.CodeIncomplete}},
		"INTERRUPTED: not every trial of the plan was judged (exit 130)": {stopped, nil, journal.Gate{Exit: eval.CodeInterrupted}},
	} {
		d := rows(t, test.change, test.end, "pfe")
		d.Decision = &journal.Decision{Gate: test.gate}
		expect.Same(t, "headline", HeadlineOf(d).String(), want)
	}
	d := rows(t, nil, nil, "p")
	d.Running = true
	expect.Same(t, "headline of a run in progress", HeadlineOf(d).String(), "IN PROGRESS: the run is still in progress")
}

// What a target does not set is the model's, and is marked so.
func TestSamplingMarksWhatIsTheModels(t *testing.T) {
	t.Parallel()
	model := wire.NamedModel("svc-pro")
	for _, test := range []struct {
		c    *eval.GenerationConfig
		m    *eval.Model
		want string
	}{
		{nil, model, "temperature 0.9 (default), topP 1 (default), topK 1 (default)"},
		{&eval.GenerationConfig{Temperature: new(0.0)}, model, "temperature 0, topP 1 (default), topK 1 (default)"},
		{&eval.GenerationConfig{Temperature: new(0.5), TopP: new(0.1), TopK: new(3)}, model, "temperature 0.5, topP 0.1, topK 3"},
		{&eval.GenerationConfig{TopK: new(3)}, nil, "topK 3"},
		{nil, wire.NamedModel("embedding-001"), ""},
		{nil, nil, ""},
	} {
		expect.Same(t, "result", NewSampling(test.c, test.m).String(), test.want)
	}
}
