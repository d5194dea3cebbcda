package reports

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

type gridColumn struct {
	Header string
	// Optional columns are dropped when space runs out, highest number first. 0 is never dropped.
	Optional int
	// Least is the narrowest width of a column whose texts may be cut. 0: never cut.
	Least int
}

// grid writes a table at most as wide as the screen, if its columns allow that. It drops optional columns until cutting
// texts is enough. The cells are clean, and may be painted.
func (t *screen) grid(columns []gridColumn, rows [][]string) {
	widths := gridWidths(columns, rows)
	for at := expendable(columns); at >= 0 && total(widths)-saving(columns, widths) > t.o.Width; at = expendable(columns) {
		columns, rows = withoutColumn(columns, rows, at)
		widths = gridWidths(columns, rows)
	}
	for extra := total(widths) - t.o.Width; extra > 0; extra-- {
		at := widest(columns, widths)
		if at < 0 {
			break
		}
		widths[at]--
	}
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.Header
	}
	t.out.WriteString(drawn(widths, header, rows))
}

// drawn is a table whose cells are cut to the widths, each between two spaces.
func drawn(widths []int, header []string, rows [][]string) string {
	var out strings.Builder
	writeRow(&out, widths, header)
	out.WriteString(strings.Repeat("─", total(widths)) + "\n")
	for _, row := range rows {
		writeRow(&out, widths, row)
	}
	return out.String()
}

func writeRow(out *strings.Builder, widths []int, cells []string) {
	for i, cell := range cells {
		if shownWidth(cell) > widths[i] {
			cell = displaywidth.TruncateString(cell, widths[i], "...")
		}
		out.WriteString(" " + cell + strings.Repeat(" ", max(0, widths[i]-shownWidth(cell))+1))
	}
	out.WriteString("\n")
}

// plain are columns that always stay as they are.
func plain(headers ...string) []gridColumn {
	columns := make([]gridColumn, len(headers))
	for i, header := range headers {
		columns[i].Header = header
	}
	return columns
}

func shownWidth(cell string) int { return displaywidth.String(ansi.ReplaceAllString(cell, "")) }

func gridWidths(columns []gridColumn, rows [][]string) []int {
	out := make([]int, len(columns))
	for i, c := range columns {
		out[i] = displaywidth.String(c.Header)
		for _, row := range rows {
			out[i] = max(out[i], shownWidth(row[i]))
		}
	}
	return out
}

// total is the width of a table.
func total(widths []int) (n int) {
	for _, w := range widths {
		n += w + 2
	}
	return n
}

// saving is how much narrower a table can get by cutting.
func saving(columns []gridColumn, widths []int) (n int) {
	for i, c := range columns {
		if c.Least > 0 {
			n += max(0, widths[i]-c.Least)
		}
	}
	return n
}

// expendable is the index of the column to drop next, -1 when all must stay.
func expendable(columns []gridColumn) int {
	at := -1
	for i, c := range columns {
		if c.Optional > 0 && (at < 0 || c.Optional > columns[at].Optional) {
			at = i
		}
	}
	return at
}

func withoutColumn(columns []gridColumn, rows [][]string, at int) ([]gridColumn, [][]string) {
	rows = slices.Clone(rows)
	for i, row := range rows {
		rows[i] = slices.Delete(slices.Clone(row), at, at+1)
	}
	return slices.Delete(slices.Clone(columns), at, at+1), rows
}

// widest is the index of the widest column that may be cut, -1 for none.
func widest(columns []gridColumn, widths []int) int {
	at := -1
	for i, c := range columns {
		if c.Least > 0 && widths[i] > c.Least && (at < 0 || widths[i] > widths[at]) {
			at = i
		}
	}
	return at
}
