package reports

import (
	"fmt"
	"io"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// maxListed bounds the cases that are listed for a suite.
const maxListed = 200

// CaseList writes outcome and name of each case with a wanted trial, failed cases first, up to a limit.
func CaseList(w io.Writer, d *journal.Document, wanted Wanted, o Options) error {
	o.Verbose = true // include passed cases
	t := newScreen(d, o)
	for i := range d.Summary.Suites {
		s := &d.Summary.Suites[i]
		rows, _ := t.order(s)
		before := t.out.Len()
		t.caseNames(rows, wanted)
		if list := t.out.String()[before:]; len(d.Summary.Suites) > 1 && list != "" {
			t.out.Truncate(before)
			t.line("%s", diag.CleanLine(s.Name))
			t.out.WriteString(list)
		}
	}
	switch c := d.Summary.Counts; {
	case len(d.Summary.Suites) == 0:
		t.line("no trials")
	case t.out.Len() == 0:
		t.line("no such trial: %s", outcomes(c))
	}
	return t.writeTo(w)
}

// caseNames lists the first wanted cases, and counts the rest.
func (t *screen) caseNames(rows []journal.Row, wanted Wanted) {
	var left eval.Counts
	n := 0
	for _, row := range rows {
		counts, ok := wanted.Row(t.d, row)
		if !ok {
			continue
		}
		outcome := journal.Fold(counts)
		if n++; n > maxListed {
			left.Add(outcome)
			continue
		}
		note := ""
		if counts.Total() > 1 {
			note = " (" + tally(counts) + ")"
		} else if scores := t.firstScores(row); scores != "" {
			note = "  " + scores
		}
		t.line(" %s %s%s", t.paint(text.ToneOf(outcome), fmt.Sprintf("%-5s", outcome)), diag.CleanLine(row.Case), note)
	}
	t.notListed(left)
}

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
	for cell, arm := range onArms(d, row) {
		if w.Arms.Match(arm) {
			c = c.Plus(cell.Counts)
		}
	}
	return c
}

func tallied(c eval.Counts, o eval.Outcome) int {
	return map[eval.Outcome]int{eval.Pass: c.Pass, eval.Fail: c.Fail, eval.Err: c.Error, eval.Skip: c.Skip}[o]
}
