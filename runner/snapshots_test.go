package runner_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

const snapshotSuite = `version: 1
name: s
targets: [{name: t, model: m}, {name: u, model: m}]
prompts: [{name: p, text: x}]
cases:
  - name: c
    scorers: [{all: [{snapshot: true}, {contains: x}]}, {snapshot: shared.txt}]
  - name: d
    scorers: [{equals: x}]
`

// What is expected is a part of the scorers of the arm that it is for, and of no other.
func TestSnapshotsChangeOnlyTheScorersOfTheirArm(t *testing.T) {
	t.Parallel()
	hashes := func(files fstest.MapFS) []string {
		files["s.yaml"] = &fstest.MapFile{Data: []byte(snapshotSuite)}
		var diags diag.List
		s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
		expect.OK(t, diags.Err())
		var out []string
		for trial := range runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{}, "v1").Trials() {
			expect.Same(t, text.Describe(&trial.Trial), trial.ComparesSnapshots(), trial.Case == "c")
			out = append(out, trial.ScorersHash)
			seen, err := trial.SnapshotChecks(&eval.Result{Response: &eval.Response{Candidates: []eval.Candidate{{Text: "yx"}}}})
			var names []string
			for _, one := range seen {
				names = append(names, one.File)
			}
			want := []string{"expected/s/c/" + trial.Target + ".p.txt", "expected/shared.txt"}
			if err != nil || trial.Case == "c" && !slices.Equal(names, want) || trial.Case == "d" && seen != nil {
				t.Errorf("%s: %v %v, want %v for c, none for d", text.Describe(&trial.Trial), names, err, want)
			}
		}
		return out
	}
	none := hashes(fstest.MapFS{})
	own := hashes(fstest.MapFS{"expected/s/c/u.p.txt": {Data: []byte("\n")}})
	other := hashes(fstest.MapFS{"expected/s/c/u.p.txt": {Data: []byte("y\n")}})
	shared := hashes(fstest.MapFS{"expected/shared.txt": {Data: []byte("y\n")}})
	for i, name := range []string{"c on t", "c on u", "d on t", "d on u"} {
		expect.Same(t, name+": an answer for u: the same", none[i] == own[i], i != 1)
		expect.Same(t, name+": another answer for u: the same", own[i] == other[i], i != 1)
		expect.Same(t, name+": a shared answer: the same", none[i] == shared[i], i > 1)
	}
}

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
