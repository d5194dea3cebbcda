package evalrun_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
)

type counted struct {
	eval.Executor
	calls atomic.Int64
}

func (c *counted) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	c.calls.Add(1)
	return c.Executor.Generate(ctx, call)
}

// A resumed run makes its calls by the caller's executor, without a key, scores by the caller's kinds, reports the
// files that it reads, and stays out of the history.
func TestResumeTakesWhatItsCallerBrings(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"script.yaml": script,
		"suite.yaml": "version: 1\nname: s\nlimits: {concurrency: 1}\ntargets: [{name: t, model: svc-pro}]\n" +
			"prompts: [{name: p, text: \"{{.x}}\"}]\ndefaults: {scorers: [{anything: true}]}\n" +
			"cases: [{name: a, vars: {x: a}}, {name: b, vars: {x: b}}, {name: c, vars: {x: c}}]\n",
	})
	anything := scorers.New("anything", func(bool) (scorers.Func, error) {
		return func(*scorers.Answer) scorers.Finding { return scorers.Pass("it is something") }, nil
	})
	var read atomic.Int64
	options := evalrun.Options{
		Caller: runner.Caller{
			Dir: dir, Suites: []string{"suite.yaml"}, NoHistory: true, Scorers: []scorers.Kind{anything},
			Reading: func(string, string) { read.Add(1) },
		},
		Options: eval.Options{Emulator: "script.yaml", Out: "run", LimitOptions: eval.LimitOptions{BudgetCalls: 1}},
	}
	job, err := evalrun.Load(t.Context(), options)
	expect.OK(t, err)
	executor, closing, err := evalrun.NewExecutor(job, t.TempDir())
	expect.OK(t, err)
	defer closing()
	by := &counted{Executor: executor}
	options.Executor = by
	job, err = evalrun.Load(t.Context(), options)
	expect.OK(t, err)
	result, err := evalrun.Run(t.Context(), job)
	expect.OK(t, err)
	expect.Same(t, "exit", result.Exit, 4)
	expect.Contains(t, "the command", result.Resume, "evalrun resume "+result.Name)
	expect.Same(t, "calls", by.calls.Load(), 1)
	read.Store(0)
	options.BudgetCalls = 3
	result, err = evalrun.Resume(t.Context(), "run", options)
	if err != nil || result.Exit != 0 || result.Counts.Pass != 3 || result.Resume != "" {
		t.Fatalf("got %+v, %v, want 3 passes and nothing to resume", result, err)
	}
	expect.Same(t, "calls by the executor", by.calls.Load(), 3)
	if _, err := os.Stat(filepath.Join(dir, ".evalrun", "history.db")); !errors.Is(err, fs.ErrNotExist) || read.Load() == 0 {
		t.Errorf("got a history (%v) and %d files read, want none and some", err, read.Load())
	}
	options.Suites = []string{"other.yaml"}
	if _, err := evalrun.Resume(t.Context(), "run", options); evalrun.ExitCode(err) != 2 ||
		!strings.Contains(err.Error(), "is of suite.yaml, and a resume keeps its suites: name no others, or begin another run") {
		t.Errorf("another suite: got %v, want exit 2 and the suites of the run", err)
	}
	options.Suites, options.ProjectFile = nil, "evalrun.yaml"
	if _, err := evalrun.Resume(t.Context(), "run", options); evalrun.ExitCode(err) != 2 ||
		!strings.Contains(err.Error(), "keeps its project file (none): leave evalrun.yaml out, or begin another run") {
		t.Errorf("a project file: got %v, want exit 2 and what the run keeps", err)
	}
	rescore := evalrun.Options{
		Caller:  runner.Caller{Dir: dir},
		Options: eval.Options{SourceOptions: eval.SourceOptions{Rescore: "run"}},
	}
	rescore.Cases = []string{"a"}
	const keeps = "--case differs from what the run run began with, and a rescore keeps that: leave it out"
	if _, err := evalrun.Load(t.Context(), rescore); evalrun.ExitCode(err) != 2 || !strings.Contains(err.Error(), keeps) {
		t.Errorf("a rescore of one case: got %v, want exit 2 and %q", err, keeps)
	}
}
