package diag

import (
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// maxShown is how many diagnostics Render prints before it only counts.
const maxShown = 50

// maxSourceLine is how much of a source line is shown, in code points.
const maxSourceLine = 120

// Renderer prints diagnostics with the source line and a caret.
type Renderer struct {
	// Source returns the text of a file that was read, nil when unknown. Optional.
	Source func(file string) []byte
	// Color turns on ANSI colours. Optional, default off.
	Color bool
}

// Render writes the sorted list, and a closing count when there is more than one item.
func (r Renderer) Render(w io.Writer, l *List) error {
	items := l.Sorted()
	private := map[string]bool{}
	for _, d := range items {
		private[d.line()] = private[d.line()] || d.Private
	}
	var b strings.Builder
	for i, d := range items {
		d.Private = private[d.line()] // a line that one must not show, the others must not show either
		if i == maxShown {
			fmt.Fprintf(&b, "... and %d more\n", len(items)-i)
			break
		}
		r.one(&b, d)
		for _, at := range l.Chain(d.Pos.File) {
			fmt.Fprintf(&b, "  included from %s\n", CleanLine(at.String()))
		}
	}
	if len(items) > 1 {
		b.WriteString(tally(l) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Diagnostic) line() string { return fmt.Sprintf("%s:%d", d.Pos.File, d.Pos.Line) }

func tally(l *List) string {
	var parts []string
	if n := l.count(Error); n > 0 {
		parts = append(parts, Count(n, "error"))
	}
	if n := l.count(Warning); n > 0 {
		parts = append(parts, Count(n, "warning"))
	}
	return strings.Join(parts, ", ")
}

// Count returns a number with its noun, which takes the plural unless the number is 1: "1 case", "2 cases".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey") && !strings.HasSuffix(noun, "ay"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Verb returns the form of a verb for a number of things: one for 1, else many, as in "1 case is", "2 cases are".
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (r Renderer) one(b *strings.Builder, d Diagnostic) {
	label := ""
	if d.Severity == Warning {
		label = r.paint("33", "warning: ")
	}
	if d.Pos.File != "" {
		fmt.Fprintf(b, "%s: ", r.paint("1", strings.TrimSuffix(CleanLine(d.Pos.String()+": "), ": ")))
	}
	fmt.Fprintf(b, "%s%s\n", label, CleanLine(d.Message))
	if !d.Private {
		r.snippet(b, d.Pos)
	}
	if d.Hint != "" {
		fmt.Fprintf(b, "  %s %s\n", r.paint("36", "hint:"), CleanLine(d.Hint))
	}
}

func (r Renderer) paint(code, s string) string {
	if !r.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// snippet shows the line, cut around the column if it is long, and a caret under the column.
func (r Renderer) snippet(b *strings.Builder, pos Pos) {
	if r.Source == nil || pos.Line == 0 {
		return
	}
	line, ok := nthLine(r.Source(pos.File), pos.Line)
	if !ok {
		return
	}
	runes := []rune(strings.TrimRight(line, "\r\n"))
	col := min(max(pos.Col, 1), len(runes)+1)
	from := 0
	lead := ""
	tail := ""
	if col > maxSourceLine-20 {
		from, lead = col-maxSourceLine/2, "..."
	}
	to := len(runes)
	if to-from > maxSourceLine {
		to, tail = from+maxSourceLine, "..."
	}
	num := fmt.Sprintf("%5d", pos.Line)
	before := CleanLine(string(runes[from : col-1]))
	after := CleanLine(string(runes[col-1 : to]))
	fmt.Fprintf(b, "%s | %s%s%s\n", num, lead, noCommand(before+after), tail)
	if pos.Col > 0 {
		pad := strings.Repeat(" ", displaywidth.String(lead+before))
		fmt.Fprintf(b, "%s | %s%s\n", strings.Repeat(" ", len(num)), pad, r.paint("31", "^"))
	}
}

func nthLine(src []byte, n int) (string, bool) {
	rest := strings.TrimPrefix(string(src), "\ufeff")
	for i := 1; ; i++ {
		line, after, more := strings.Cut(rest, "\n")
		if i == n {
			return line, line != "" || more
		}
		if !more {
			return "", false
		}
		rest = after
	}
}

// Wrap divides a text into lines of at most width columns, between words; width below 20 leaves it whole.
func Wrap(text string, width int) []string {
	if width < 20 {
		return []string{text}
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && displaywidth.String(line+" "+word) > width {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(out, line)
}
