package reports

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// Limits of a list of cases; the rest is counted.
const (
	fewCases = 30 // suites up to this size are listed in full
	maxRows  = 40 // cases that did not pass
)

// order selects the rows of a suite to show: failed cases and errors and, in small suites, skipped and passed
// ones. left counts the rest.
func (t *screen) order(s *journal.SuiteSummary) (rows []journal.Row, left eval.Counts) {
	most, all := maxRows, t.o.Verbose || s.Cases <= fewCases
	if all {
		most = s.Cases
	}
	found := map[listRank][]journal.Row{}
	for row := range t.d.Rows() {
		outcome := journal.Fold(row.Counts)
		at := listRank{outcome, t.failures.OfRow(row, s.Arms).Rank()}
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

// places are the positions of a list, from the top.
func places() (out []listRank) {
	for _, outcome := range []eval.Outcome{eval.Fail, eval.Err, eval.Skip, eval.Pass} {
		for rank := range overview.Ranks {
			out = append(out, listRank{outcome, rank})
		}
	}
	return out
}

// listRank is the position of a case in a list: by outcome, then by how it did in the baseline.
type listRank struct {
	outcome eval.Outcome
	rank    int
}
