package session

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
)

// Before version 0.2, --answers was taken whatever else was given. Such a run can still be resumed.
func TestRunsOfEarlierVersionsHaveOneSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := eval.Options{SourceOptions: eval.SourceOptions{Answers: "a", Record: "r", Replay: "s"}}
	w, err := journal.Create(dir, &eval.Run{ID: "one", CommandOptions: &eval.RunOptions{Options: kept}}, nil)
	expect.OK(t, err, w.Close())
	r, err := Reopen(dir, Options{Caller: runner.Caller{Dir: dir}})
	expect.OK(t, err)
	defer r.Close()
	got, err := r.Options.Source()
	expect.OK(t, err)
	expect.Same(t, "the source", got, eval.Source(eval.FromFile{Path: "a"}))
}
