package reports

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// standIns are the cells of a table that the table writer would measure wrongly. It adds up characters, so that a
// family of emoji gets as many columns as it has members, and it goes by the locale. In their place it gets as many
// marks as they have columns.
type standIns []string

// Marks are characters that are assigned to nothing, and that no cleaned text holds therefore.
const (
	firstMark = 0x40000
	lastMark  = 0xdfffd
)

// hide puts marks instead of the cells that are not plain ASCII.
func (in *standIns) hide(cells []string) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = cell
		if !strings.ContainsFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) {
			continue
		}
		width := displaywidth.String(ansi.Regexp().ReplaceAllString(cell, ""))
		if mark := firstMark + len(*in); width > 0 && mark <= lastMark {
			out[i] = strings.Repeat(string(rune(mark)), width)
			*in = append(*in, cell)
		}
	}
	return out
}

// show writes a table with the cells instead of their marks.
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
