package reports

import (
	"bytes"
	"fmt"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/standing"
	"github.com/evalrun/evalrun/journal"
)

// defaultWidth is the width of tables where none is stated, in columns.
const defaultWidth = 100

// tableReport is what is written for people: of runs, comparisons, rankings and preferences.
type tableReport struct {
	d    *journal.Document
	o    Options
	out  bytes.Buffer
	show string // the case that the reader will want to see first, "" when all passed
	help remedies

	failures standing.Failures // how those of the run did in the baseline
}

func (t *tableReport) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if plain := ansi.Regexp().ReplaceAllString(text, ""); displaywidth.String(plain) > t.o.Width {
		text = displaywidth.TruncateString(plain, t.o.Width, "...")
	}
	t.out.WriteString(text + "\n")
}

const ansi lazy.Pattern = "\x1b\\[[0-9;]*m"

func (t *tableReport) paint(outcome eval.Outcome, s string) string {
	return overview.Paint(t.o.Color, outcome, s)
}

// trimLines takes the spaces at the ends of lines away.
func trimLines(b []byte) []byte {
	lines := bytes.Split(b, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimRight(lines[i], " ")
	}
	return bytes.Join(lines, []byte("\n"))
}
