package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

type inFolder struct {
	folder
	t *testing.T
}

func newRunFolder(t *testing.T) inFolder {
	t.Helper()
	return inFolder{folder{Dir: rundir.At(t.TempDir())}, t}
}

// letters are trials of the suite "s", numbered from first on: p passes, f fails, e is an error.
func letters(text, arm string, first, step int) (out []*eval.Result) {
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 'e': eval.Err}
	for i, letter := range text {
		n := first + i*step
		r := &eval.Result{
			Trial: eval.Trial{
				N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprint("id ", i), Suite: "s", Case: fmt.Sprintf("c%02d", n), Arm: arm, Repeat: 1,
			},
			Ending: testrun.Ending(kinds[letter]), Timing: &eval.Timing{LatencyMs: 100, Attempts: 1},
			Usage:    &eval.Usage{PromptTokens: 4, OutputTokens: 3, TotalTokens: 7},
			Response: testrun.Answered(fmt.Sprint("answer ", n), "STOP"),
		}
		if r.Outcome() == eval.Err {
			r.Ending, r.Response = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}, nil
		}
		out = append(out, r)
	}
	return out
}

func (f inFolder) record(name string, change func(*eval.Run), end *eval.End, trials ...*eval.Result) {
	f.t.Helper()
	run := eval.Run{
		ID: name, StartedAt: "2026-01-01T00:00:00Z", CommandOptions: &eval.RunOptions{}, Suites: []eval.RunSuite{{Name: "s"}},
		Plan: eval.RunPlan{Trials: len(trials)},
	}
	if change != nil {
		change(&run)
	}
	w, err := journal.Create(f.Join(name), &run, nil)
	expect.OK(f.t, err)
	for _, r := range trials {
		expect.OK(f.t, w.Append(r))
	}
	if end == nil {
		expect.OK(f.t, w.Close())
		return
	}
	expect.OK(f.t, w.Finish(end))
}

func completed() *eval.End {
	return &eval.End{Reason: eval.EndCompleted, FinishedAt: "2026-01-01T00:01:00Z"}
}

func screen() (term.Screen, *bytes.Buffer) {
	var b bytes.Buffer
	return term.Screen{Writer: &b, Width: 100}, &b
}

func noVariables(string) string { return "" }
