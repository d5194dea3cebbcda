package history

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// Whatever the folder is called, the history is there and nowhere else.
func TestOddPathsAreOpenedAsTheyAre(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a b?mode=ro#x%41[é")
	run := sample{id: 1, cases: 1}.write(t, dir)
	s := open(t, filepath.Join(dir, "history.db"))
	add(t, s, run)
	expect.OK(t, s.Close())
	expect.OK(t, Rebuild(filepath.Join(dir, "history.db"), []string{dir}, func(m string) { t.Errorf("got the notice %q, want none", m) }, nil))
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	expect.Same(t, "the run, the history and its lock", len(entries), 3)
	moved := dir + " moved" // runs below the history move with it
	expect.OK(t, os.Rename(dir, moved))
	runs, err := open(t, filepath.Join(moved, "history.db")).Runs(RunFilter{})
	if err != nil || len(runs) != 1 || runs[0].Dir != filepath.Join(moved, "run-0001") {
		t.Errorf("got %v, %v, want the run in the folder that was moved", runs, err)
	}
}

// What cannot be used says which file it is and what to do, and is put right by that.
func TestAnUnusableHistorySaysWhatToDo(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T, path string) { // with enough pages for damage
		s := open(t, path)
		add(t, s, sample{id: 9, cases: 2000}.write(t, t.TempDir()))
		expect.OK(t, s.Close())
	}
	sqlTo := func(t *testing.T, path, statement string) {
		db, err := connect(path, true)
		if err == nil {
			_, err = db.Exec(statement)
		}
		expect.OK(t, err, db.Close())
	}
	for name, spoil := range map[string]func(t *testing.T, path string){
		"text": func(t *testing.T, path string) {
			_ = os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"short":   func(t *testing.T, path string) { _ = os.WriteFile(path, []byte(strings.Repeat("x", 200)), 0o600) },
		"foreign": func(t *testing.T, path string) { sqlTo(t, path, "CREATE TABLE bookmarks (url)") },
		"newer":   func(t *testing.T, path string) { good(t, path); sqlTo(t, path, "PRAGMA user_version = 99") },
		"cut": func(t *testing.T, path string) {
			good(t, path)
			_ = os.Truncate(path, 3*4096)
		},
		"overwritten": func(t *testing.T, path string) {
			good(t, path)
			data, _ := os.ReadFile(path)
			for i := 4096; i < len(data); i++ {
				data[i] = 0xff
			}
			_ = os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "history.db")
			run := sample{id: 1, cases: 3}.write(t, folder)
			spoil(t, path)
			s, err := Open(path)
			if err == nil { // damage further inside is met later
				_, err = s.Runs(RunFilter{})
				if err == nil {
					err = addDir(s, run)
				}
				_ = s.Close()
			}
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "evalrun history --rebuild") {
				t.Fatalf("got %v, want an error that names the file and the command", err)
			}
			expect.OK(t, Rebuild(path, []string{folder}, func(string) {}, nil))
			runs, err := open(t, path).Runs(RunFilter{Suites: eval.Patterns{"suite"}, Arms: eval.Patterns{"pro/ask"}})
			if err != nil || len(runs) == 0 || runs[0].ID != "run-0001" {
				t.Errorf("got %v, %v, want run-0001", runs, err)
			}
		})
	}
}

func TestRebuildKeepsPermissions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	expect.OK(t, Rebuild(path, nil, func(m string) { t.Errorf("got the notice %q, want none", m) }, nil))
	for _, mode := range []os.FileMode{0o600, 0o664} {
		expect.OK(t, os.Chmod(path, mode))
		expect.OK(t, Rebuild(path, nil, func(m string) { t.Errorf("got the notice %q, want none", m) }, nil))
		info, err := os.Stat(path)
		expect.OK(t, err)
		expect.Same(t, "the history", info.Mode(), mode)
	}
}

// A rebuilt history equals the old one, whatever was added to it from elsewhere; damage is reported.
func TestARebuiltHistoryEqualsTheOldOne(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), t.TempDir()
	path := filepath.Join(folder, "history.db")
	s := open(t, path)
	for i := range 3 {
		add(t, s, sample{id: i, cases: 3, killed: i == 1}.write(t, filepath.Join(folder, "runs")))
	}
	add(t, s, sample{id: 7, cases: 3}.write(t, elsewhere))
	gone := sample{id: 8, cases: 3}.write(t, elsewhere)
	add(t, s, gone)
	expect.OK(
		t, os.RemoveAll(gone), os.MkdirAll(filepath.Join(folder, "runs", "broken"), 0o755),
		os.WriteFile(filepath.Join(folder, "runs", "broken", journal.FileName), []byte("nonsense\n"), 0o600),
	)
	before, err := s.Runs(RunFilter{})
	if err != nil || len(before) != 5 {
		t.Fatalf("got %v, %v, want 5 runs", before, err)
	}
	expect.OK(t, s.Close())
	var notices []string
	expect.OK(
		t,
		Rebuild(path, []string{filepath.Join(folder, "runs"), filepath.Join(folder, "none")}, func(m string) {
			notices = append(notices, m)
		}, nil),
	)
	if len(notices) != 1 || !strings.Contains(notices[0], "broken") {
		t.Errorf("got %v, want one warning of what is broken", notices)
	}
	after, err := open(t, path).Runs(RunFilter{})
	expect.OK(t, err)
	for _, runs := range [][]RunRecord{before, after} {
		for i := range runs {
			runs[i].number = 0
		}
	}
	expect.Same(t, "runs after", after, before[:4], cmp.AllowUnexported(RunRecord{}))
	if left, _ := filepath.Glob(path + ".new-*"); len(left) > 0 {
		t.Errorf("got %v, want none", left)
	}
}

const writers, perWriter = 4, 6

// addMany adds the runs of one writer, opening the history again each time.
func addMany(path, runs string, writer int) error {
	for i := range perWriter {
		s, err := Open(path)
		if err != nil {
			return err
		}
		if err := errors.Join(addDir(s, filepath.Join(runs, fmt.Sprintf("run-%04d", writer*perWriter+i))), s.Close()); err != nil {
			return err
		}
	}
	return nil
}

func wantAll(t *testing.T, path string) {
	t.Helper()
	s := open(t, path)
	runs, err := s.Runs(RunFilter{})
	if err != nil || len(runs) != writers*perWriter {
		t.Fatalf("got %v, %v, want all runs of all writers", len(runs), err)
	}
	expect.Same(t, "points", len(trend(t, s, Query{Suite: "suite", Arm: "pro/ask", Case: "case 2"})), len(runs))
}

func writeAll(t *testing.T) (runs, path string) {
	t.Helper()
	folder := t.TempDir()
	runs = filepath.Join(folder, "runs")
	for i := range writers * perWriter {
		sample{id: i, cases: 5}.write(t, runs)
	}
	return runs, filepath.Join(folder, "history.db")
}

func TestWritersAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	runs, path := writeAll(t)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if err := addMany(path, runs, i); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		if err := Rebuild(path, nil, func(m string) { t.Errorf("got the notice %q, want none", m) }, nil); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	wantAll(t, path)
}

func TestProcessesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	runs, path := writeAll(t)
	var all sync.WaitGroup
	for i := range writers {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWriterProcess$", "-test.v")
		cmd.Env = append(os.Environ(), "HISTORY_PATH="+path, "HISTORY_RUNS="+runs, fmt.Sprintf("HISTORY_WRITER=%d", i))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	wantAll(t, path)
}

func TestWriterProcess(t *testing.T) {
	t.Parallel()
	path := os.Getenv("HISTORY_PATH")
	if path == "" {
		t.Skip("TestProcessesAtOnceLoseNothing runs it")
	}
	var writer int
	if _, err := fmt.Sscan(os.Getenv("HISTORY_WRITER"), &writer); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, addMany(path, os.Getenv("HISTORY_RUNS"), writer))
}
