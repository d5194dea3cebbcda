package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
	"github.com/evalrun/evalrun/journal"
)

// newRun makes a run of one passed trial in a folder, as a harness would.
func newRun(t *testing.T, d Dir, named, id string) string {
	t.Helper()
	dir, err := d.Make(named, id)
	expect.OK(t, err)
	w, err := journal.Create(dir, &eval.Run{ID: id, StartedAt: "2026-01-02T03:04:05Z", Plan: eval.RunPlan{Trials: 1}}, nil)
	expect.OK(t, err)
	expect.OK(t, w.Append(&eval.Result{Trial: eval.Trial{ID: "a", Suite: "s", Case: "c", Arm: "a/b"}, Outcome: eval.Pass}))
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	return dir
}

// Two folders of one process know nothing of each other.
func TestFoldersAreApart(t *testing.T) {
	t.Parallel()
	one, other := At(t.TempDir()), At(t.TempDir())
	dir := newRun(t, one, "", "20260102-030405")
	if want := one.Abs(".evalrun/runs/20260102-030405"); dir != want {
		t.Errorf("the run is in %s, want %s", dir, want)
	}
	if got := one.IDs(); len(got) != 1 || len(other.IDs()) != 0 {
		t.Errorf("runs %v in one folder and %v in the other, want one and none", got, other.IDs())
	}
	for _, name := range []string{"latest", "20260102-030405", ".evalrun/runs/20260102-030405", dir} {
		d, err := one.Open(name)
		if err != nil {
			t.Errorf("Open(%s): %v", name, err)
			continue
		}
		_ = d.Close() // it was only read
	}
	if _, err := other.Open("latest"); err == nil || !strings.Contains(err.Error(), "there is none below") {
		t.Errorf("Open(latest) without runs: %v", err)
	}

	if _, err := one.SetBaseline("main", "latest"); err != nil {
		t.Fatal(err)
	}
	path, err := one.FindBaseline("main")
	if err != nil || path != filepath.Join(dir, journal.FileName) {
		t.Errorf("FindBaseline(main) = %s, %v, want the file in %s", path, err, dir)
	}
	if _, err := other.FindBaseline("main"); err == nil {
		t.Error("the other folder has that baseline too")
	}

	doc, err := one.Open("latest")
	expect.OK(t, err)
	defer doc.Close()
	expect.OK(t, one.Remember(doc))
	for d, want := range map[Dir]bool{one: true, other: false} {
		store, err := d.OpenHistory()
		if err != nil || (store != nil) != want {
			t.Errorf("OpenHistory in %v: %v, %v, want a history: %v", d, store, err, want)
		}
		if store != nil {
			_ = store.Close() // it was only read
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	d := At("/base")
	for name, want := range map[string]string{"": "", "-": "-", "a/b": "/base/a/b", "/c": "/c", "../d": "/d"} {
		if got := d.Join(name); got != want {
			t.Errorf("Join(%q) = %q, want %q", name, got, want)
		}
		if got := d.Join(d.Join(name)); got != want {
			t.Errorf("Join(Join(%q)) = %q, want %q", name, got, want)
		}
		if got := (Dir{}).Join(name); got != name {
			t.Errorf("in the working directory, Join(%q) = %q, want it as it is", name, got)
		}
	}
}

// What cannot become a run directory is refused before anything is sent.
func TestCheck(t *testing.T) {
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
