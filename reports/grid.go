package reports

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
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

// drawn is a table whose cells are cut to the widths.
func drawn(widths []int, header []string, rows [][]string) string {
	var out strings.Builder
	var in standIns
	g := tablewriter.NewTable(&out, gridStyle()...)
	g.Header(in.hide(widths, header))
	for _, row := range rows {
		if err := g.Append(in.hide(widths, row)); err != nil { // rows of strings always fit
			panic(err)
		}
	}
	if err := g.Render(); err != nil { // it writes to memory
		panic(err)
	}
	return in.show(out.String())
}

func gridStyle() []tablewriter.Option {
	return []tablewriter.Option{
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
			Symbols: tw.NewSymbolCustom("report").WithRow(ruleStandIn),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.On},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithTrimSpace(tw.Off),
	}
}

// standIns are the cells that the table writer would measure wrongly, in the order of the table. The writer adds up
// characters, so an emoji of a family is as wide as its members, and it depends on the locale. So it draws marks as wide
// as the cell instead.
type standIns []string

// Marks are unassigned characters, so no clean text contains them.
const (
	cellStandIn = "\U00040000"
	ruleStandIn = "\U00040001"
)

var cellMarks = regexp.MustCompile(cellStandIn + "+")

// hide cuts cells to the widths, and replaces those that are not plain ASCII with marks.
func (in *standIns) hide(widths []int, cells []string) []string {
	out := slices.Clone(cells)
	for i, cell := range out {
		width := shownWidth(cell)
		if width > widths[i] {
			cell = displaywidth.TruncateString(cell, widths[i], "...")
			width = displaywidth.String(cell)
		}
		if width > 0 && strings.ContainsFunc(cell, func(r rune) bool { return r >= utf8.RuneSelf }) {
			*in = append(*in, cell)
			cell = strings.Repeat(cellStandIn, width)
		}
		out[i] = cell
	}
	return out
}

// show is a drawn table with the cells instead of their marks.
func (in *standIns) show(table string) string {
	hidden := *in
	table = cellMarks.ReplaceAllStringFunc(table, func(string) string {
		cell := hidden[0]
		hidden = hidden[1:]
		return cell
	})
	return strings.ReplaceAll(table, ruleStandIn, "─")
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
