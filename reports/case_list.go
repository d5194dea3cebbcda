package reports

import (
	"fmt"
	"io"

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
		}
		t.line(" %s %s%s", t.paint(text.ToneOf(outcome), fmt.Sprintf("%-5s", outcome)), diag.CleanLine(row.Case), note)
	}
	t.notListed(left)
}
