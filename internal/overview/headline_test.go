package overview

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

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
