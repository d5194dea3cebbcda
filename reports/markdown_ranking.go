package reports

import (
	"strings"

	"github.com/evalrun/evalrun/compare"
)

// ranking writes the arms in their order.
func (m *markdown) ranking(r *compare.Ranking) {
	title := "### Ranked by " + code(r.Metric)
	if len(m.d.Summary.Suites) > 1 {
		title += " in " + code(r.Suite)
	}
	m.add("%s\n\n", title)
	if r.Why != "" {
		m.add("No ranking: %s\n\n", code(r.Why))
		return
	}
	var head, dashes []string
	for _, c := range rankingColumns(r) {
		head, dashes = append(head, c.Header), append(dashes, "---")
	}
	table := m.add("| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(dashes, " | "))
	left := 0
	for _, row := range rankingRows(r) {
		row[2] = cellCode(row[2])
		row[0] = strings.ReplaceAll(row[0], "*", "best")
		if !table || left > 0 || !m.add("| %s |\n", strings.Join(row, " | ")) {
			left++
		}
	}
	m.add("\n")
	for _, line := range rankingWords(r) {
		m.add("%s\n\n", code(strings.TrimPrefix(line, "* ")))
	}
	m.missing(left, "arm")
}
