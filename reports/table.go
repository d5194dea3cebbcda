package reports

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// minCell is the least width of an arm's column.
const minCell = 7

type table struct {
	screen
	show string // the case that the reader wants to see first, "" when all passed
	help remedies
	// standings end the report where no verdict is about the arms.
	standings []compare.Ranking
}

// Table writes the run for people: notices, a line per suite, failures and errors by reason, what decided against the run,
// its location, the next command, and the headline. A verbose table adds arms, cases, slow and costly trials, cost and
// settings. A quiet one is only the verdict on the comparison, and the headline.
func Table(w io.Writer, d *journal.Document, o Options) error {
	t := table{screen: newScreen(d, o)}
	if !o.Quiet {
		t.failures = overview.NewFailures(d)
		t.standings = d.Standings()
		body := t.short
		if o.Verbose {
			body = t.full
		}
		if err := body(); err != nil {
			return err
		}
		if t.rankings(t.standings); len(t.standings) > 0 {
			t.out.WriteString("\n")
		}
		t.where()
		t.next()
	} else {
		t.verdictAlone()
	}
	t.summary()
	return t.writeTo(w)
}

// verdictAlone says what the comparison with the baseline found.
func (t *table) verdictAlone() {
	switch c := t.d.Comparison(); {
	case t.d.NotCompared():
		t.line("%s", notCompared)
	case c != nil:
		t.headline(c)
	}
	for _, line := range overview.OriginNotes(t.d) {
		t.wrapped("", line)
	}
	t.drift()
}

// full writes all of a table except its end.
func (t *table) full() error {
	var names []string
	for _, s := range t.d.Run.Suites {
		names = append(names, s.Name)
	}
	t.line("%s", diag.CleanLine(strings.Join(names, ", ")))
	t.notices()
	t.out.WriteString("\n")
	t.findings()
	t.arms()
	t.classifications(maxRows)
	if err := t.reasons(); err != nil {
		return err
	}
	if c := t.d.Comparison(); c != nil {
		t.comparison(c)
		t.out.WriteString("\n")
	}
	t.suites()
	t.extremes()
	t.closing()
	t.out.WriteString("\n")
	return nil
}

// suites draws a table of cases per suite.
func (t *table) suites() {
	for i := range t.d.Summary.Suites {
		s := &t.d.Summary.Suites[i]
		if s.Cases > 1 || len(s.Arms) > 1 || s.Counts.Skip > 0 { // otherwise its one case is shown above
			t.suite(s)
		}
	}
	if len(t.d.Summary.Suites) == 0 && !t.d.End.Waits() {
		t.line("no trials\n")
	}
}

func (t *table) suite(s *journal.SuiteSummary) {
	if len(t.d.Summary.Suites) > 1 {
		t.line("%s", diag.CleanLine(s.Name))
	}
	rows, left := t.order(s)
	if len(rows) > 0 && !t.matrix(rows, s.Arms) {
		t.list(rows, s.Arms)
	}
	t.notListed(left)
	t.out.WriteString("\n")
}

// matrix draws the arms as columns; false when they do not fit, or when the only arm needs a column for reasons.
func (t *table) matrix(rows []journal.Row, arms []journal.ArmSummary) bool {
	if len(arms) == 1 && arms[0].Counts.Pass < arms[0].Counts.Total() {
		return false
	}
	widest, room := 4, t.o.Width-2
	for _, r := range rows {
		widest = max(widest, displaywidth.String(diag.CleanLine(r.Case)))
	}
	header := []string{"case"}
	columns := make([][]string, len(arms))
	for i := range arms {
		header = append(header, diag.CleanLine(arms[i].Name))
		var width int
		columns[i], width = t.column(rows, arms[i].Name)
		room -= width + 2
	}
	caseWidth := min(widest, room)
	if caseWidth < min(widest, 16) {
		return false
	}
	var body [][]string
	for at, r := range rows {
		cells := []string{displaywidth.TruncateString(diag.CleanLine(r.Case), caseWidth, "...")}
		for i := range arms {
			cells = append(cells, columns[i][at])
		}
		body = append(body, cells)
	}
	t.grid(plain(header...), body)
	return true
}

// column has an arm's cell in each row, and the width of the column.
func (t *table) column(rows []journal.Row, arm string) (cells []string, width int) {
	width = max(displaywidth.String(diag.CleanLine(arm)), minCell)
	for _, r := range rows {
		cell, ok := r.On(arm)
		if !ok {
			cells = append(cells, "")
			continue
		}
		body := t.word(cell, arm, width)
		width = max(width, displaywidth.String(body))
		cells = append(cells, t.paint(text.ToneOf(journal.Fold(cell.Counts)), body))
	}
	return cells, width
}

var standingMarks = map[overview.Standing]string{
	overview.NewlyFailing: " (new)", overview.NotInBaseline: " (added)", overview.Changed: " (changed)",
	overview.AlsoFailed: " (as before)",
}

// word is a cell: the outcome, how many of several repeats passed, and how a failure did in the baseline.
func (t *table) word(cell journal.Row, arm string, width int) string {
	outcome := journal.Fold(cell.Counts)
	text := string(outcome)
	if outcome != eval.Pass && outcome != eval.Skip {
		text = strings.ToUpper(text)
	}
	if cell.Counts.Total() > 1 {
		text += fmt.Sprintf(" %d/%d", cell.Counts.Pass, cell.Counts.Total())
	}
	text += standingMarks[t.failures.Of(cell.Suite, arm, cell.Case)] + notes(cell)
	if kinds := cell.ErrorKinds(); outcome == eval.Err && len(kinds) == 1 && !cell.Quarantined() {
		if long := text + " " + diag.CleanLine(string(kinds[0])); displaywidth.String(long) <= width {
			text = long
		}
	}
	return text
}

func notes(cell journal.Row) string {
	out := ""
	if cell.PartlyBlocked() > 0 {
		out += " (blocked after text)"
	}
	if cell.Cut() > 0 {
		out += " (cut)"
	}
	if cell.Quarantined() {
		out += " (quarantine)"
	}
	return out
}

// list draws one line per case and arm, with as much of the reason as fits.
func (t *table) list(rows []journal.Row, arms []journal.ArmSummary) {
	var body []listLine
	widths := [3]int{4, 3, 7}
	for _, r := range rows {
		for i := range arms {
			cell, ok := r.On(arms[i].Name)
			if !ok {
				continue
			}
			line := listLine{
				[3]string{diag.CleanLine(r.Case), diag.CleanLine(arms[i].Name), t.word(cell, arms[i].Name, 16)},
				t.firstReason(cell),
				journal.Fold(cell.Counts),
			}
			for c := range widths {
				widths[c] = max(widths[c], displaywidth.String(line.cells[c]))
			}
			body = append(body, line)
		}
	}
	several := len(arms) > 1
	room := t.o.Width - widths[2] - 8
	if several {
		widths[1] = min(widths[1], max(8, room*2/5))
		room -= widths[1] + 2
	}
	widths[0] = min(widths[0], max(12, room/2))
	reason := room - widths[0]
	var shown [][]string
	for _, line := range body {
		shown = append(shown, pick([]string{
			displaywidth.TruncateString(line.cells[0], widths[0], "..."), displaywidth.TruncateString(line.cells[1], widths[1], "..."),
			t.paint(text.ToneOf(line.outcome), line.cells[2]), displaywidth.TruncateString(line.reason, max(0, reason), "..."),
		}, several, reason >= 12))
	}
	t.grid(plain(pick([]string{"case", "arm", "outcome", "reason"}, several, reason >= 12)...), shown)
}

// listLine is a line about a case on an arm: case, arm, outcome.
type listLine struct {
	cells   [3]string
	reason  string
	outcome eval.Outcome
}

// pick removes the arm if there is only one, and the reason if it does not fit.
func pick(cells []string, arm, reason bool) []string {
	out := []string{cells[0]}
	if arm {
		out = append(out, cells[1])
	}
	out = append(out, cells[2])
	if reason {
		out = append(out, cells[3])
	}
	return out
}

// firstReason is why the first trial that did not pass did not; where all passed, it is what named scorers and judges gave the first.
func (t *table) firstReason(cell journal.Row) string {
	if journal.Fold(cell.Counts) == eval.Pass {
		return t.firstScores(cell)
	}
	for r, err := range t.d.Read(cell) {
		if err == nil && r.Outcome() != eval.Pass {
			return diag.CleanLine(text.Why(r))
		}
	}
	return ""
}

// firstScores is what named scorers and judges gave the first trial.
func (t *screen) firstScores(cell journal.Row) string {
	for r, err := range t.d.Read(cell) {
		if err == nil {
			return namedScores(r.Scores)
		}
	}
	return ""
}

// namedScores lists the values of scorers with a name, and of judges.
func namedScores(scores []eval.Score) string {
	var out []string
	for i := range scores {
		s := &scores[i]
		if grade, ok := s.Grade.(eval.Graded); ok && (s.Name != "" || s.Judged != nil) {
			out = append(out, fmt.Sprintf("%s %.3g", diag.CleanLine(cmp.Or(s.Name, s.Scorer)), grade.Value))
		}
	}
	return strings.Join(out, ", ")
}
