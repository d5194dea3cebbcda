package history

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// against is a change of a run: its arm is compared with a baseline, as look nth.
func against(base string, nth int, more ...func(*eval.Run)) func(*eval.Run) {
	return func(r *eval.Run) {
		r.Suites[0].Looks = []eval.Look{{Arm: "pro/ask", Candidate: "prompt", Base: base, Nth: nth}}
		for _, change := range more {
			change(r)
		}
	}
}

func nth(t *testing.T, s *Store, run eval.Run, base, candidate string) int {
	t.Helper()
	n, err := s.Nth(&run, "suite", &eval.Look{Arm: "renamed", Candidate: candidate, Base: base})
	expect.OK(t, err)
	return n
}

func TestLooksAreCountedByCandidateAndBaseline(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "history.db")
	s := open(t, path)
	for i, one := range []sample{
		{change: against("main", 1)},
		{},
		{change: against("other", 1)},
		{change: against("main", 2, func(r *eval.Run) { r.Suites[0].Hash = "other cases" })},
		{change: against("main", 9), killed: true},
		{change: against("main", 9, func(r *eval.Run) { r.Plan.Shard = &eval.ShardOf{Index: 1, Of: 2} })},
		{change: against("main", 2, func(r *eval.Run) { r.RescoredFrom = "run-0003" })},
		{change: against("main", 5)}, // the fifth attempt of its job
	} {
		one.id, one.cases = i, 2
		add(t, s, one.write(t, folder))
	}
	for _, when := range []string{"added", "rebuilt"} {
		expect.Same(t, when+": the next look", nth(t, s, eval.Run{ID: "new"}, "main", "prompt"), 6)
		expect.Same(t, when+": the same answers", nth(t, s, eval.Run{ID: "new", RescoredFrom: "run-0003"}, "main", "prompt"), 2)
		expect.Same(t, when+": another baseline", nth(t, s, eval.Run{ID: "new"}, "other", "prompt"), 2)
		expect.Same(t, when+": another candidate", nth(t, s, eval.Run{ID: "new"}, "main", "new prompt"), 1)
		expect.OK(t, s.Close(), Rebuild(path, []string{folder}, func(m string) { t.Errorf("got the notice %q, want none", m) }, nil))
		s = open(t, path)
	}
}

// A history of the first version can be read as it is, and is brought up to date by the next run.
func TestAnOldHistoryCountsLooksFromNowOn(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "history.db")
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
	expect.Same(t, "look, by an old history", nth(t, old, eval.Run{ID: "new"}, "main", "prompt"), 1)
	expect.OK(t, old.Close())
	s := open(t, path)
	add(t, s, sample{id: 2, cases: 2, change: against("main", 1)}.write(t, folder))
	expect.Same(t, "runs", runsIn(t, s), 2)
	expect.Same(t, "look, after an update", nth(t, s, eval.Run{ID: "new"}, "main", "prompt"), 2)
}
