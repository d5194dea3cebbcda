package history

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// comparedWith returns the id of the run with which the gate of a suite compared its answers, "" for none.
// Rescored answers were counted when they were new, and an incomplete run has no verdict.
func comparedWith(doc *journal.Document, one *eval.RunSuite) string {
	switch {
	case one.Gate == nil || one.Gate.Baseline == nil || doc.Run.Options().NoBaseline():
		return ""
	case doc.Run.Plan.Shard != nil || doc.Run.RescoredFrom != "" || doc.Partial():
		return ""
	}
	return one.Gate.Baseline.RunID()
}

// Knows reports whether the history has a run.
func (s *Store) Knows(id string) (known bool, err error) {
	err = s.db.QueryRow("SELECT EXISTS (SELECT 1 FROM run WHERE id = ?)", id).Scan(&known)
	return known, s.explain(err)
}

// Comparisons counts, for each suite of a run, the comparisons with its baseline up to this run: 0 without
// a comparison, 1 for the first. A suite whose files changed counts as another suite.
func (s *Store) Comparisons(doc *journal.Document) ([]int, error) {
	out := make([]int, len(doc.Run.Suites))
	version, err := versionOf(s.db)
	for i := range doc.Run.Suites {
		one := &doc.Run.Suites[i]
		base := comparedWith(doc, one)
		if base == "" || err != nil {
			continue
		}
		if out[i] = 1; version < withBases {
			continue
		}
		var earlier int
		err = s.db.QueryRow(
			`SELECT count(*) FROM part p JOIN run r ON r.n = p.run
WHERE p.suite = ? AND p.hash = ? AND p.base = ? AND (r.started, r.id) < (?, ?)`,
			one.Name, one.Hash, base, micros(doc.Run.StartedAt), doc.Run.ID,
		).Scan(&earlier)
		out[i] += earlier
	}
	return out, s.explain(err)
}
