package history

import (
	"database/sql"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// looks inserts the comparisons of a suite. A shard and an incomplete run have no verdict.
func looks(tx *sql.Tx, doc *journal.Document, one *eval.RunSuite, n int64) error {
	if doc.Run.Plan.Shard != nil || doc.Partial() {
		return nil
	}
	for _, l := range one.Looks {
		const insert = "INSERT OR IGNORE INTO look (run, suite, arm, candidate, base, nth, answers) VALUES (?,?,?,?,?,?,?)"
		if _, err := tx.Exec(insert, n, one.Name, l.Arm, l.Candidate, l.Base, l.Nth, doc.Run.AnswersOf()); err != nil {
			return err
		}
	}
	return nil
}

// Nth numbers a look of a run that is not in the history yet: 1 for the first at this candidate against this base. Answers
// that are scored again, and shards that are merged again, keep their number.
func (s *Store) Nth(run *eval.Run, suite string, l *eval.Look) (int, error) {
	if version, err := versionOf(s.db); err != nil || version < withLooks {
		return 1, s.explain(err)
	}
	type earlier struct {
		nth     int
		answers string
		started int64
	}
	all, err := collect(s, func(rows *sql.Rows, e *earlier) error { return rows.Scan(&e.nth, &e.answers, &e.started) },
		`SELECT l.nth, l.answers, r.started FROM look l JOIN run r ON r.n = l.run
WHERE l.candidate = ? AND l.base = ? AND l.suite = ?`, l.Candidate, l.Base, suite)
	last, seen := 0, map[string]bool{}
	for _, e := range all {
		if e.answers == run.AnswersOf() || e.started == micros(run.StartedAt) {
			return e.nth, nil
		}
		seen[e.answers] = true
		last = max(last, e.nth)
	}
	return max(last, len(seen)) + 1, s.explain(err)
}
