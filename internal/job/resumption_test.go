package job

import (
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/option"
)

// Before version 0.2, --answers was taken whatever else was given. Such a run can still be resumed.
func TestRunsOfEarlierVersionsHaveOneSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := option.Options{SourceOptions: option.SourceOptions{Answers: "a", Record: "r", Replay: "s"}}
	w, err := journal.Create(dir, &eval.Run{ID: "one", CommandOptions: &option.RunOptions{Options: kept}}, nil)
	expect.OK(t, err, w.Close())
	r, err := Reopen(dir, Options{Dir: rundir.At(dir)}, false)
	expect.OK(t, err)
	defer r.Close()
	got, err := r.Options.Source()
	expect.OK(t, err)
	expect.Same(t, "the source", got, option.Source(option.FromFile{Path: "a"}))
}
