package term

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

func (p *pageWriter) row(line string) {
	line = strings.ReplaceAll(line, `\|`, "\x00")
	var cells []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, unmarked(strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|"))))
	}
	if strings.Trim(strings.Join(cells, ""), "-: ") != "" || len(p.rows) == 0 {
		p.rows = append(p.rows, cells)
	}
}

// gap is the space between columns. narrowest is the least width of a wrapped column.
const gap, narrowest = 2, 12

// table fits the columns to the width. If they would be too narrow, it writes cells below each other.
func (p *pageWriter) table() {
	widths := p.columns()
	if widths == nil {
		p.stacked()
		return
	}
	for i, row := range p.rows {
		p.cells(row, widths, i == 0)
		if i == 0 {
			p.out.WriteString(strings.Repeat("-", sum(widths)+gap*(len(widths)-1)) + "\n")
		}
	}
}

// columns returns the widths of the columns, nil if they cannot fit. It narrows the widest column first.
func (p *pageWriter) columns() []int {
	widths := make([]int, len(p.rows[0]))
	least := make([]int, len(widths))
	for _, row := range p.rows {
		for i := range min(len(row), len(widths)) {
			widths[i] = max(widths[i], displaywidth.String(row[i]))
			least[i] = max(least[i], longestWord(row[i]))
		}
	}
	for i := range least {
		least[i] = min(widths[i], max(narrowest, least[i]))
	}
	room := p.width - gap*(len(widths)-1)
	for sum(widths) > room {
		at := -1
		for i := range widths {
			if widths[i] > least[i] && (at < 0 || widths[i] > widths[at]) {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		widths[at]--
	}
	return widths
}

// cells writes a row and wraps each cell in its column.
func (p *pageWriter) cells(row []string, widths []int, head bool) {
	parts, height := make([][]string, len(widths)), 0
	for i := range min(len(row), len(widths)) {
		parts[i] = wrapText(row[i], widths[i])
		height = max(height, len(parts[i]))
	}
	for n := range height {
		line := ""
		for i, width := range widths {
			cell := ""
			if n < len(parts[i]) {
				cell = parts[i][n]
			}
			line += cell + strings.Repeat(" ", width-displaywidth.String(cell)+gap)
		}
		line = strings.TrimRight(line, " ")
		if head {
			line = p.paint(line, "1")
		}
		p.out.WriteString(line + "\n")
	}
}

// stacked writes each row as its first cell, with the others below it, after the heads of their columns.
func (p *pageWriter) stacked() {
	const indent = "  "
	for _, row := range p.rows[1:] {
		for _, part := range wrapText(row[0], p.width) {
			p.out.WriteString(p.paint(part, "1") + "\n")
		}
		for i, cell := range row[1:] {
			if head := p.rows[0][min(i+1, len(p.rows[0])-1)]; head != "" && len(row) > 2 {
				cell = head + ": " + cell
			}
			for _, part := range wrapText(cell, p.width-len(indent)) {
				p.out.WriteString(indent + part + "\n")
			}
		}
	}
}

func longestWord(text string) int {
	longest := 0
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, displaywidth.String(word))
	}
	return longest
}

// wrapText works for any width. A word that is too long gets its own line.
func wrapText(text string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && displaywidth.String(line)+1+displaywidth.String(word) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
