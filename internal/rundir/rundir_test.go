package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// newRun makes a run of one passed trial in a folder, as a harness would.
func newRun(t *testing.T, d Dir, named, id string) string {
	t.Helper()
	dir, err := d.Make(named, id)
	expect.OK(t, err)
	w, err := journal.Create(dir, &eval.Run{ID: id, StartedAt: "2026-01-02T03:04:05Z", Plan: eval.RunPlan{Trials: 1}}, nil)
	expect.OK(t, err)
	expect.OK(t, w.Append(&eval.Result{Trial: eval.Trial{ID: "a", Suite: "s", Case: "c", Arm: "a/b"}, Ending: eval.Passed{}}))
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	return dir
}

// Two folders of one process know nothing of each other.
func TestFoldersAreApart(t *testing.T) {
	t.Parallel()
	one, other := At(t.TempDir()), At(t.TempDir())
	dir := newRun(t, one, "", "20260102-030405")
	expect.Same(t, "the directory", dir, one.Abs(".evalrun/runs/20260102-030405"))
	expect.Same(t, "runs in one folder", len(one.IDs()), 1)
	expect.Same(t, "runs in the other folder", len(other.IDs()), 0)
	for _, name := range []string{"latest", "20260102-030405", ".evalrun/runs/20260102-030405", dir} {
		d, err := one.Open(name)
		if err != nil {
			t.Errorf("Open(%s): %v, want no error", name, err)
			continue
		}
		_ = d.Close() // it was only read
	}
	if _, err := other.Open("latest"); err == nil || !strings.Contains(err.Error(), "there is none below") {
		t.Errorf("Open(latest) without runs: %v, want that there is none", err)
	}

	_, err := one.SetBaseline("main", "latest", false)
	expect.OK(t, err)
	path, err := one.FindBaseline("main")
	expect.OK(t, err)
	expect.Same(t, "the baseline", path, filepath.Join(dir, journal.FileName))
	if _, err := other.FindBaseline("main"); err == nil {
		t.Error("the other folder has that baseline too, want it in one alone")
	}

	doc, err := one.Open("latest")
	expect.OK(t, err)
	defer doc.Close()
	expect.OK(t, one.Remember(doc))
	expect.Same(t, "a history in one folder", hasHistory(t, one), true)
	expect.Same(t, "a history in the other folder", hasHistory(t, other), false)
}

func hasHistory(t *testing.T, d Dir) bool {
	t.Helper()
	store, err := d.OpenHistory()
	expect.OK(t, err)
	if store == nil {
		return false
	}
	expect.OK(t, store.Close())
	return true
}

func TestJoinKeepsAbsoluteNames(t *testing.T) {
	t.Parallel()
	d := At("/base")
	for name, want := range map[string]string{"": "", "-": "-", "a/b": "/base/a/b", "/c": "/c", "../d": "/d"} {
		expect.Same(t, fmt.Sprintf("Join(%q)", name), d.Join(name), want)
		expect.Same(t, fmt.Sprintf("Join(Join(%q))", name), d.Join(d.Join(name)), want)
		if got := (Dir{}).Join(name); got != name {
			t.Errorf("in the working directory, Join(%q) = %q, want it as it is", name, got)
		}
	}
}

func TestCheckRefusesWhatCannotBeARunDirectory(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	newRun(t, d, "taken", "r")
	expect.OK(t, os.WriteFile(d.Join("file"), nil, 0o600))
	for named, want := range map[string]string{
		"": "", "new": "", "new/deep/er": "", "taken": "holds a run already", "file": "is not a folder", "file/below": "is not a folder",
	} {
		err := d.Check(named)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want %q", named, err, want)
		}
	}
}
