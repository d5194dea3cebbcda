package runner_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
)

// Places take a case of an arm with its repeats; n and id are those of the whole plan.
func TestPlacesTakeCasesWithTheirRepeats(t *testing.T) {
	t.Parallel()
	ids := map[int]string{}
	for tr := range plan(t, twoArms, runner.Filter{}).Trials() {
		ids[tr.N] = tr.ID
	}
	places := &eval.Places{}
	places.Add(2, 2)
	places.Add(8, 4)
	for _, test := range []struct {
		filter runner.Filter
		want   []int
		arms   int
	}{
		{runner.Filter{Places: places}, []int{2, 3, 8, 9, 10, 11}, 2},
		{runner.Filter{Places: places, Arms: eval.Patterns{"one/*"}}, []int{8, 9}, 1},
		{runner.Filter{Places: places, Cases: eval.Patterns{"b"}}, nil, 0},
		{runner.Filter{Places: &eval.Places{}}, nil, 0},
	} {
		p := plan(t, twoArms, test.filter)
		var got []int
		for tr := range p.Trials() {
			if got = append(got, tr.N); ids[tr.N] != tr.ID {
				t.Errorf("%v: got another id under a filter, want the same", tr.Trial)
			}
		}
		if !slices.Equal(got, test.want) || p.Size() != len(got) || len(p.Arms()) != test.arms {
			t.Errorf("%v, size %d, %d arms; want %v", got, p.Size(), len(p.Arms()), test.want)
		}
	}
}

// What is kept is neither sent nor scored again, and belongs to the trial of this plan.
func TestKeptTrialsAreNotSentAgain(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := &fake{}
	cfg := config(f, 3)
	cfg.EarlierRuns.Trial = func(tr *runner.Planned) runner.EarlierTrial {
		if tr.Case == "b" {
			return runner.FinalResult{Result: &eval.Result{Ending: eval.Errored{Error: &eval.Error{Kind: eval.KindStatus}}}}
		}
		return runner.AnsweredTrial{Result: &eval.Result{Response: &eval.Response{Candidates: []eval.Candidate{{Text: "a"}}}}}
	}
	var counts eval.Counts
	for r := range runner.Run(t.Context(), plan(t, twoArms, runner.Filter{}), cfg) {
		counts.Add(r.Outcome())
		if r.ID == "" || (r.Case == "b") != (r.Outcome() == eval.Err) {
			t.Errorf("%+v, want an id, and an error for b alone", r)
		}
	}
	expect.Same(t, "counts", counts, eval.Counts{Pass: 8, Error: 4})
	expect.Same(t, "calls", f.sent.Load(), 0)
}
