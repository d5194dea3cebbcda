package reports

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// standIns replaces cells that the table writer would measure wrongly. The writer adds up characters, so an emoji of
// a family is as wide as its members, and it depends on the locale. Each cell is replaced by as many marks as it has
// columns.
type standIns []string

// Marks are unassigned characters, so no cleaned text contains them.
const (
	firstMark = 0x40000
	lastMark  = 0xdfffd
)

// hide replaces cells that are not plain ASCII with marks.
func (in *standIns) hide(cells []string) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = cell
		if !strings.ContainsFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) {
			continue
		}
		width := displaywidth.String(ansi.ReplaceAllString(cell, ""))
		if mark := firstMark + len(*in); width > 0 && mark <= lastMark {
			out[i] = strings.Repeat(string(rune(mark)), width)
			*in = append(*in, cell)
		}
	}
	return out
}

// show writes a table with marks replaced by their cells.
func (in *standIns) show(w *bytes.Buffer, drawn string) {
	last := rune(0)
	for _, r := range drawn {
		switch at := int(r) - firstMark; {
		case at < 0 || at >= len(*in):
			w.WriteRune(r)
		case r != last:
			w.WriteString((*in)[at])
		}
		last = r
	}
}
