package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// against is a change of a run: its suite is compared with a baseline.
func against(base string, more ...func(*eval.Run)) func(*eval.Run) {
	return func(r *eval.Run) {
		r.Suites[0].Gate = &eval.GateConfig{Baseline: &eval.BaselineRule{Against: eval.BaseRun{ID: base}}}
		for _, change := range more {
			change(r)
		}
	}
}

func nth(t *testing.T, s *Store, dir string) int {
	t.Helper()
	all, err := s.Comparisons(document(t, dir))
	expect.OK(t, err)
	expect.Same(t, "suites", len(all), 1)
	return all[0]
}

func TestComparisonsCountUnchangedCompleteRuns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "history.db")
	s := open(t, path)
	var dirs []string
	for i, one := range []sample{
		{change: against("main")},
		{},
		{change: against("other")},
		{change: against("main", func(r *eval.Run) { r.Suites[0].Hash = "h2" })},
		{change: against("main"), killed: true},
		{change: against("main", func(r *eval.Run) { r.RescoredFrom = "run-0000" })},
		{change: against("main", func(r *eval.Run) { r.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2} })},
		{change: against("main", func(r *eval.Run) {
			r.CommandOptions = &eval.RunOptions{Options: eval.Options{GateOptions: eval.GateOptions{Baseline: eval.NoBaseline{}}}}
		})},
		{change: against("main")},
		{change: against("main")},
	} {
		one.id, one.cases = i, 2
		dirs = append(dirs, one.write(t, folder))
	}
	last := len(dirs) - 1
	for i := range dirs[:last] { // the order in which runs are added says nothing
		add(t, s, dirs[last-1-i])
	}
	want := []int{1, 0, 1, 1, 0, 0, 0, 0, 2, 3} // the last one is not in the history yet
	for _, when := range []string{"added", "rebuilt"} {
		for i, dir := range dirs {
			expect.Same(t, fmt.Sprint(when, " run ", i), nth(t, s, dir), want[i])
		}
		known, err := s.Knows("run-0000")
		expect.Same(t, "known", known, true)
		unknown, failed := s.Knows("run-0999")
		expect.Same(t, "unknown", unknown, false)
		expect.OK(t, err, failed, s.Close())
		expect.OK(t, Rebuild(path, []string{folder}, func(m string) { t.Errorf("got the notice %q, want none", m) }))
		s = open(t, path)
	}
}

// A history of the first version can be read as it is, is brought up to date by the next run, and counts earlier comparisons once it is
// rebuilt.
func TestAnOldHistoryCountsComparisonsOnceRebuilt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "history.db")
	first := sample{id: 1, cases: 2, change: against("main")}.write(t, folder)
	second := sample{id: 2, cases: 2, change: against("main")}.write(t, folder)
	db, err := connect(path, true)
	expect.OK(t, err)
	_, err = db.Exec(migrations[0] + fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = 1;", application) +
		`INSERT INTO run (id, dir, startedAt, started, finishedAt, reason, emulator, shard, planned, labels)
VALUES ('run-0001', 'run-0001', '', 0, '', 'completed', 0, '', 2, '{}');
INSERT INTO part (run, place, suite, file, hash) VALUES (1, 0, 'suite', 'suite.yaml', 'h1');`)
	expect.OK(t, errors.Join(err, db.Close()))

	old, err := OpenToRead(path)
	expect.OK(t, err)
	expect.Same(t, "runs of an old history", runsIn(t, old), 1)
	expect.Same(t, "comparison, by an old history", nth(t, old, second), 1)
	expect.OK(t, old.Close())
	s := open(t, path)
	add(t, s, second)
	expect.Same(t, "runs", runsIn(t, s), 2)
	expect.Same(t, "comparison, after an update", nth(t, s, second), 1)
	expect.OK(t, s.Close(), Rebuild(path, nil, func(m string) { t.Errorf("got the notice %q, want none", m) }))
	s = open(t, path)
	expect.Same(t, "comparison, rebuilt", nth(t, s, second), 2)
	expect.Same(t, "the first", nth(t, s, first), 1)
}
