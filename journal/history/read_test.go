package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

func listing(t *testing.T, dir string) (out string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	expect.OK(t, err)
	for _, e := range entries {
		info, err := e.Info()
		expect.OK(t, err)
		out += fmt.Sprintln(e.Name(), info.Size(), info.ModTime())
	}
	return out
}

func document(t *testing.T, dir string) *journal.Document {
	t.Helper()
	d, err := journal.Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func runsIn(t *testing.T, s *Store) int {
	t.Helper()
	runs, err := s.Runs(RunFilter{})
	expect.OK(t, err)
	return len(runs)
}

func TestOpeningToReadLeavesNoTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	if _, err := OpenToRead(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	s := open(t, path)
	add(t, s, sample{id: 1, cases: 3}.write(t, t.TempDir()))
	expect.OK(t, s.Close())
	before := listing(t, dir)
	r, err := OpenToRead(path)
	expect.OK(t, err)
	expect.Same(t, "runs", runsIn(t, r), 1)
	if err := r.Add(document(t, sample{id: 2, cases: 3}.write(t, t.TempDir()))); err == nil {
		t.Error("got no error when a reader adds a run, want one")
	}
	expect.OK(t, r.Close())
	expect.Same(t, "the folder", listing(t, dir), before)
	writer := open(t, path) // what somebody has written and still holds open is seen as well
	add(t, writer, sample{id: 2, cases: 3}.write(t, t.TempDir()))
	r, err = OpenToRead(path)
	expect.OK(t, err)
	expect.Same(t, "runs with those of a writer", runsIn(t, r), 2)
	expect.OK(t, r.Close(), writer.Close())
	for _, spoilt := range []string{"", "no database"} {
		expect.OK(t, os.WriteFile(path, []byte(spoilt), 0o600))
		if _, err := OpenToRead(path); !errors.Is(err, ErrUnusable) {
			t.Errorf("%q: %v, want %v", spoilt, err, ErrUnusable)
		}
	}
}

func TestInMemoryHistoryKnowsNoCases(t *testing.T) {
	s, err := InMemory()
	expect.OK(t, err)
	defer s.Close()
	expect.OK(t, s.Summarize(document(t, sample{id: 1, cases: 3}.write(t, t.TempDir()))))
	runs, err := s.Runs(RunFilter{})
	if err != nil || len(runs) != 1 || len(runs[0].Arms) == 0 {
		t.Fatalf("got %v, %v, want one run with arms", runs, err)
	}
	suite, arm := runs[0].Arms[0].Suite, runs[0].Arms[0].Arm
	if points, err := s.Trend(Query{Suite: suite, Arm: arm}); err != nil || len(points) != 1 {
		t.Errorf("got %v, %v, want one point", points, err)
	}
	if cases, err := s.Cases(suite, arm, 0); err != nil || len(cases) != 0 {
		t.Errorf("got %v, %v, want no case", cases, err)
	}
}
