package reports

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/standing"
	"github.com/evalrun/evalrun/journal"
)

// How much of a run a list shows; the rest is counted.
const (
	fewCases = 30 // of a suite: they are all listed
	maxRows  = 40 // cases that did not pass
)

// order gives the rows of a suite that are shown: failing and erring, and skipped and passing where there are few. What is left is counted.
func (t *screen) order(s *journal.SuiteSummary) (rows []journal.Row, left eval.Counts) {
	most, all := maxRows, t.o.Verbose || s.Cases <= fewCases
	if all {
		most = s.Cases
	}
	found := map[place][]journal.Row{}
	for row := range t.d.Rows() {
		outcome := journal.Fold(row.Counts)
		at := place{outcome, t.failures.OfRow(row, s.Arms).Rank()}
		switch {
		case row.Suite != s.Name, outcome == eval.Skip && row.SkippedEarly():
		case len(found[at]) == most, !all && (outcome == eval.Pass || outcome == eval.Skip):
			left.Add(outcome)
		default:
			found[at] = append(found[at], row)
		}
	}
	for _, at := range places() {
		some := found[at][:min(len(found[at]), most-len(rows))]
		rows = append(rows, some...)
		for range found[at][len(some):] {
			left.Add(at.outcome)
		}
	}
	return rows, left
}

// places are those of a list, from its top.
func places() (out []place) {
	for _, outcome := range []eval.Outcome{eval.Fail, eval.Err, eval.Skip, eval.Pass} {
		for rank := range standing.Ranks {
			out = append(out, place{outcome, rank})
		}
	}
	return out
}

// place is where a case is listed: by its outcome, and then by how it did in the baseline.
type place struct {
	outcome eval.Outcome
	rank    int
}
