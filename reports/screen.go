package reports

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// defaultWidth is the default width of tables, in columns.
const defaultWidth = 100

// screen writes for people: runs, comparisons, rankings and preferences.
type screen struct {
	d   *journal.Document
	o   Options
	out bytes.Buffer

	failures overview.Failures // how the run's failures did in the baseline
	piped    bool              // no terminal: sentences stay on one line, for other programs to find
}

// newScreen is a screen of the width of the options; d is nil when it shows no single run.
func newScreen(d *journal.Document, o Options) screen {
	piped := o.Width <= 0
	if piped {
		o.Width = defaultWidth
	}
	return screen{d: d, o: o, piped: piped}
}

// writeTo writes what is on the screen, without trailing spaces.
func (t *screen) writeTo(w io.Writer) error {
	_, err := w.Write(trimLines(t.out.Bytes()))
	return err
}

func (t *screen) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if plain := ansi.ReplaceAllString(text, ""); displaywidth.String(plain) > t.o.Width {
		text = displaywidth.TruncateString(plain, t.o.Width, "...")
	}
	t.out.WriteString(text + "\n")
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (t *screen) paint(tone text.Tone, s string) string {
	return text.Paint(t.o.Color, tone, s)
}

// trimLines removes trailing spaces from lines.
func trimLines(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimRight(lines[i], " ")
	}
	return bytes.Join(lines, []byte("\n"))
}

// outcomes counts each outcome that occurs.
func outcomes(c eval.Counts) string {
	out := unpassed(c)
	if c.Pass > 0 {
		out = append(out, fmt.Sprintf("%d passed", c.Pass))
	}
	return strings.Join(out, ", ")
}

// notListed counts the outcomes of cases that are not listed.
func (t *screen) notListed(c eval.Counts) {
	if words := outcomes(c); words != "" {
		t.line(" %s not listed: %s", diag.Count(c.Total(), "case"), words)
	}
}

// wrapped writes a text over at most three lines.
func (t *screen) wrapped(indent, text string) { t.folded(indent, text, 3) }

// paragraph writes a text over at most 30 lines, enough for lists of case names.
func (t *screen) paragraph(text string) { t.folded("  ", text, 30) }

func (t *screen) folded(indent, text string, most int) {
	for _, line := range foldedLines(text, max(20, t.o.Width-len(indent)), most) {
		t.line("%s%s", indent, line)
	}
}

// foldedLines wraps a text to a width. The last allowed line holds the rest.
func foldedLines(text string, width, most int) []string {
	var lines []string
	for rest := diag.CleanLine(text); rest != ""; {
		if len(lines) == most-1 || displaywidth.String(rest) <= width {
			return append(lines, rest)
		}
		head := displaywidth.TruncateString(rest, width, "")
		if i := strings.LastIndexByte(head, ' '); i > width/2 {
			head = head[:i]
		}
		lines = append(lines, head)
		rest = diag.CleanLine(strings.TrimLeft(rest[len(head):], " ")) // it begins a line now
	}
	return lines
}

func (t *screen) dim(s string) string {
	if !t.o.Color {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

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

func places() (out []listRank) {
	for _, outcome := range []eval.Outcome{eval.Fail, eval.Err, eval.Skip, eval.Pass} {
		for rank := range overview.Standings() {
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
