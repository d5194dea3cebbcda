package reports

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Wanted selects trials of a run. The zero value selects trials of cases without a name.
type Wanted struct {
	Case     eval.Pattern
	Arms     eval.Patterns  // none: all
	Outcomes []eval.Outcome // none: all
}

// Match reports whether a trial is selected.
func (w Wanted) Match(r *eval.Result) bool {
	return w.Case.Match(r.Case) && w.Arms.Match(r.Arm) && (len(w.Outcomes) == 0 || slices.Contains(w.Outcomes, r.Outcome()))
}

// Row counts the selected trials of a case; false when there are none.
func (w Wanted) Row(d *journal.Document, row journal.Row) (c eval.Counts, ok bool) {
	if !w.Case.Match(row.Case) {
		return c, false
	}
	c = row.Counts
	if len(w.Arms) > 0 {
		c = w.countsOn(d, row)
	}
	has := func(o eval.Outcome) bool { return tallied(c, o) > 0 }
	return c, c.Total() > 0 && (len(w.Outcomes) == 0 || slices.ContainsFunc(w.Outcomes, has))
}

// countsOn counts the outcomes of a case on the selected arms.
func (w Wanted) countsOn(d *journal.Document, row journal.Row) (c eval.Counts) {
	for _, arm := range d.Summary.Suite(row.Suite).Arms {
		if cell, ok := row.On(arm.Name); ok && w.Arms.Match(arm.Name) {
			c = c.Plus(cell.Counts)
		}
	}
	return c
}

// tallied is the count of an outcome.
func tallied(c eval.Counts, o eval.Outcome) int {
	return map[eval.Outcome]int{eval.Pass: c.Pass, eval.Fail: c.Fail, eval.Err: c.Error, eval.Skip: c.Skip}[o]
}
