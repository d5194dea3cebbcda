package reports

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// cellWidth is how many columns of a terminal a cell takes. Its colours take none.
func cellWidth(cell string) int {
	if strings.Contains(cell, "\x1b") {
		cell = ansi().ReplaceAllString(cell, "")
	}
	return displaywidth.String(cell)
}

// columnWidths are the widths of the widest cells.
func columnWidths(header []string, rows [][]string) []int {
	out := make([]int, len(header))
	for c := range header {
		out[c] = cellWidth(header[c])
		for _, r := range rows {
			out[c] = max(out[c], cellWidth(r[c]))
		}
	}
	return out
}
