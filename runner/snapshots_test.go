package runner_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
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
			expect.Same(t, runner.Describe(&trial.Trial), trial.ComparesSnapshots(), trial.Case == "c")
			out = append(out, trial.ScorersHash)
			seen, err := trial.SnapshotChecks(&eval.Result{Response: &eval.Response{Candidates: []eval.Candidate{{Text: "yx"}}}})
			var names []string
			for _, one := range seen {
				names = append(names, one.File)
			}
			want := []string{"expected/s/c/" + trial.Target + ".p.txt", "expected/shared.txt"}
			if err != nil || trial.Case == "c" && !slices.Equal(names, want) || trial.Case == "d" && seen != nil {
				t.Errorf("%s: %v %v, want %v for c, none for d", runner.Describe(&trial.Trial), names, err, want)
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
