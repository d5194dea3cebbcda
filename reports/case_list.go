package reports

import (
	"fmt"
	"io"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// maxListed is how many cases of a suite a list has.
const maxListed = 200

// CaseList writes the outcome and the name of each case, those first that did not pass; of very many the first.
func CaseList(w io.Writer, d *journal.Document, o Options) error {
	o.Verbose = true // passed cases too
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	t := tableReport{d: d, o: o}
	for i := range d.Summary.Suites {
		s := &d.Summary.Suites[i]
		if len(d.Summary.Suites) > 1 {
			t.line("%s", diag.CleanLine(s.Name))
		}
		rows, _ := t.order(s)
		t.caseNames(rows)
	}
	if len(d.Summary.Suites) == 0 {
		t.line("no trials")
	}
	_, err := w.Write(t.out.Bytes())
	return err
}

// caseNames lists the first cases, and counts the others.
func (t *tableReport) caseNames(rows []journal.Row) {
	var left eval.Counts
	for n, row := range rows {
		outcome := journal.Fold(row.Counts)
		if n >= maxListed {
			left.Add(outcome)
			continue
		}
		note := ""
		if row.Counts.Total() > 1 {
			note = " (" + tally(row.Counts) + ")"
		}
		t.line(" %s %s%s", t.paint(outcome, fmt.Sprintf("%-5s", outcome)), diag.CleanLine(row.Case), note)
	}
	t.notListed(left)
}
