package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
)

// classifications adds the classification of each arm.
func (m *markdown) classifications() {
	left := 0
	for _, c := range classifiedArms(m.d) {
		if !m.add("%s on %s: %s.\n\n", cellCode(c.suite), cellCode(c.arm), c.figures()) {
			left++
			continue
		}
		if c.Cases > 0 && !m.add("%s", c.markdown()) {
			left++
		}
	}
	m.missing(left, "classification")
}

// markdown is the matrix of an arm, or its classes and largest confusions.
func (c *classified) markdown() string {
	var names []string
	for i := range c.Classes {
		names = append(names, cellCode(c.Classes[i].Class))
	}
	header, rows := c.matrixRows(names, names, true)
	notes := ""
	if len(c.Classes) > matrixClasses {
		header = classHeader()
		left := 0
		if rows, left = c.classRows(cellCode); left > 0 {
			notes = diag.Count(left, "more class") + " with a higher F1 not listed\n"
		}
		for _, one := range c.confusions {
			notes += "- " + confusionWords(one, cellCode) + "\n"
		}
	}
	if marked := c.marked(); marked != "" {
		notes += strings.Replace(marked, "*", `\*`, 1) + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(header, " | "), strings.Repeat("--:|", len(header)-1))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.ReplaceAll(strings.Join(row, " | "), "0*", `0\*`))
	}
	b.WriteString("\n")
	if notes != "" {
		b.WriteString(notes + "\n")
	}
	return b.String()
}
