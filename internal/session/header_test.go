package session

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A job continues a run with its suites, project file, name, labels and flags. Limits and reports may differ.
func TestAJobContinuesARunOfItsOwn(t *testing.T) {
	t.Parallel()
	files := []string{suiteOf(t, "a", ""), suiteOf(t, "b", "")}
	began := func() (*Job, *eval.Run) {
		j, err := settled(t, eval.Options{Seed: 7, Name: "night", Emulator: "demo"}, nil, files...)
		expect.OK(t, err)
		run := &eval.Run{CommandOptions: j.KeptOptions()}
		j.Identify(run)
		for _, s := range j.Suites {
			run.Suites = append(run.Suites, eval.RunSuite{Hash: s.Hash()})
		}
		return j, run
	}
	for name, test := range map[string]struct {
		change func(*Job, *eval.Run)
		want   string
	}{
		"nothing": {func(*Job, *eval.Run) {}, "<nil>"},
		"limits": {func(j *Job, _ *eval.Run) {
			j.Options.Concurrency, j.Options.BudgetCalls, j.Options.Reports, j.Options.Out = 3, 5, []string{"json"}, "x"
		}, "<nil>"},
		"a suite less": {func(_ *Job, r *eval.Run) { r.Suites = r.Suites[:1] }, "it began with 1 suite, and 2 are named"},
		"another suite": {
			func(_ *Job, r *eval.Run) { r.Suites[1].Hash = "x" }, "the suite " + files[1] + " is not as it was when the run began",
		},
		"another project": {func(_ *Job, r *eval.Run) { r.ProjectHash = "x" }, "the project file is not as it was when the run began"},
		"flags": {func(j *Job, r *eval.Run) {
			j.Options.Seed, j.Options.MinPassRate, j.Options.Labels = 8, new(0.5), map[string]string{"a": "b"}
			r.Name = "day"
		}, "it began with other values of --label, --min-pass-rate, --name, --seed"},
	} {
		j, run := began()
		test.change(j, run)
		err := j.Continues(run)
		expect.Same(t, name, fmt.Sprint(err), test.want)
		if err != nil {
			expect.Same(t, "exit code of "+name, eval.Of(err), eval.CodeBadInput)
		}
	}
}
