package reports

import (
	"bytes"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/evalrun/evalrun/diag"
)

type gridColumn struct {
	Header string
	// Optional columns are dropped when space runs out, highest number first. 0 is never dropped.
	Optional int
	// Least is the narrowest width of a column whose texts may be cut. 0: never cut.
	Least int
}

// drawGrid draws a table in the style of the reports, at most width terminal columns wide (0: 100). It first cuts
// wide columns, then drops optional ones. Texts are cleaned for display.
func drawGrid(width int, columns []gridColumn, rows [][]string) []byte {
	if width <= 0 {
		width = defaultWidth
	}
	header, cells := cleanTable(columns, rows)
	for at := expendable(columns); at >= 0; at = expendable(columns) {
		if tooWide(header, cells)-saving(columns, columnWidths(header, cells)) <= width {
			break
		}
		columns = without(columns, at)
		header = without(header, at)
		for i := range cells {
			cells[i] = without(cells[i], at)
		}
	}
	cut(columns, header, cells, tooWide(header, cells)-width)
	t := screen{o: Options{Width: width}}
	t.render(t.grid(), header, cells)
	return trimLines(bytes.TrimRight(t.out.Bytes(), "\n"))
}

// cleanTable is the header and the cells, cleaned for display.
func cleanTable(columns []gridColumn, rows [][]string) (header []string, cells [][]string) {
	header = make([]string, 0, len(columns))
	for _, c := range columns {
		header = append(header, diag.CleanLine(c.Header))
	}
	cells = make([][]string, len(rows))
	for i, row := range rows {
		for _, text := range row {
			cells[i] = append(cells[i], diag.CleanLine(text))
		}
	}
	return header, cells
}

// tooWide is the width of the table.
func tooWide(header []string, rows [][]string) int {
	total := 0
	for _, w := range columnWidths(header, rows) {
		total += w + 2
	}
	return total
}

// saving is how much narrower the table can get by cutting.
func saving(columns []gridColumn, widths []int) int {
	total := 0
	for i, c := range columns {
		if c.Least > 0 {
			total += max(0, widths[i]-c.Least)
		}
	}
	return total
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

// without is a copy of a list without one item.
func without[T any](list []T, at int) []T {
	return append(append([]T(nil), list[:at]...), list[at+1:]...)
}

// cut cuts texts in columns that allow it, until the table is narrower by extra.
func cut(columns []gridColumn, header []string, rows [][]string, extra int) {
	widths := columnWidths(header, rows)
	for ; extra > 0; extra-- {
		at := widest(columns, widths)
		if at < 0 {
			break
		}
		widths[at]--
	}
	for _, row := range append([][]string{header}, rows...) {
		for i := range row {
			if displaywidth.String(row[i]) > widths[i] {
				row[i] = displaywidth.TruncateString(row[i], widths[i], "...")
			}
		}
	}
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

// grid makes an empty table in the style of the reports.
func (t *screen) grid() *tablewriter.Table {
	return tablewriter.NewTable(&t.out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
			Symbols: tw.NewSymbols(tw.StyleLight),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithTrimSpace(tw.Off),
	)
}

func (t *screen) render(g *tablewriter.Table, header []string, rows [][]string) {
	var in standIns
	begin := t.out.Len()
	g.Header(in.hide(header))
	for _, r := range rows {
		if err := g.Append(in.hide(r)); err != nil { // rows of strings always fit
			panic(err)
		}
	}
	if err := g.Render(); err != nil { // it writes to a buffer
		panic(err)
	}
	if len(in) > 0 {
		drawn := string(t.out.Bytes()[begin:])
		t.out.Truncate(begin)
		in.show(&t.out, drawn)
	}
}

func columnWidths(header []string, rows [][]string) []int {
	out := make([]int, len(header))
	for c := range header {
		out[c] = displaywidth.String(header[c])
		for _, r := range rows {
			out[c] = max(out[c], displaywidth.String(r[c]))
		}
	}
	return out
}
