package runner

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

// ComparesSnapshots reports whether a scorer of the trial compares the answer with one that was accepted.
func (t *Planned) ComparesSnapshots() bool {
	return slices.ContainsFunc(t.scorers, func(s *scorers.Compiled) bool { return len(s.Snapshots()) > 0 })
}

// SnapshotChecks are the parts of a recorded answer that snapshot scorers compare.
func (t *Planned) SnapshotChecks(earlier *eval.Result) ([]scorers.SnapshotCheck, error) {
	a := &scoring{trial: t, result: eval.Result{Trial: t.Trial}}
	a.recorded(earlier)
	for _, s := range t.scorers {
		if len(s.Snapshots()) == 0 {
			continue
		}
		if _, err := s.Score(&a.answer); err != nil {
			return nil, err
		}
	}
	return a.answer.Context.SnapshotChecks, nil
}
