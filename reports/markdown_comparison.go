package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
)

// headline says what the comparison with the baseline found, in a sentence and its notes.
func (m *markdown) headline() {
	c := m.d.Comparison()
	if c == nil || c.Headline == "" {
		return
	}
	if c.Coverage != "" {
		m.add("%s.\n\n", prose(text.Sentence(c.Coverage), maxMdReason))
	}
	m.add("%s\n\n", sentence(&c.Finding))
	notes := c.AllNotes()
	for _, note := range notes[:min(maxMdNames, len(notes))] {
		m.add("- %s\n", prose(note, maxMdReason))
	}
	if len(notes) > 0 {
		m.add("\n")
		m.missing(len(notes)-maxMdNames, "note")
	}
	if c.Next != "" {
		m.add("Next: %s.\n\n", prose(c.Next, maxMdReason))
	}
}

// sent shows what changed in what was sent, of each arm once.
func (m *markdown) sent(c *compare.Comparison) {
	left := 0
	for i := range c.Arms {
		a := &c.Arms[i]
		if a.BaseSent == "" || slices.ContainsFunc(c.Arms[:i], func(b compare.ArmComparison) bool {
			return b.BaseSent == a.BaseSent && b.HeadSent == a.HeadSent
		}) {
			continue
		}
		diff := fenced("diff", strings.Join(answerDiff(a.BaseSent, a.HeadSent), "\n"))
		if !m.add("What %s sends has changed, here for %s:\n\n%s\n", code(a.HeadArm), code(a.SentFor), diff) {
			left++
		}
	}
	m.missing(left, "changed request")
}

// worse is the table of the first cases that got worse: what was asked and wanted, and the answers of both sides.
func (m *markdown) worse(c *compare.Comparison) error {
	shown, title := 0, "### Newly failing\n\n| case | asked | wanted, or what was wrong | before | now |\n|---|---|---|---|---|\n"
	for i := range c.Arms {
		a := &c.Arms[i]
		for k := range a.Flips {
			f := &a.Flips[k]
			if shown == maxWorse || !f.Worse() || f.HeadTrial == "" {
				continue
			}
			at, ok := m.d.Find(f.HeadTrial)
			if !ok {
				continue
			}
			r, err := m.d.Trial(at)
			if err != nil {
				return err
			}
			on := ""
			if len(c.Arms) > 1 {
				on = " on " + cellCode(a.HeadArm)
			}
			if !f.SingleSample {
				on += fmt.Sprintf(": %d of %d passed, was %d of %d", f.HeadPassed, f.HeadScored, f.BasePassed, f.BaseScored)
			}
			if !m.add("%s| %s%s | %s |\n", title, cellCode(f.Case), on, strings.Join([]string{
				cells(text.Asked(r)), cells(cmp.Or(text.Wanted(r), text.Why(r))), cells(f.BaseAnswer), cells(f.HeadAnswer),
			}, " | ")) {
				return nil
			}
			title, shown = "", shown+1
			if fits(f.BaseAnswer) && fits(f.HeadAnswer) {
				m.listed[armCase{a.Suite, a.HeadArm, f.Case}] = true
			}
		}
	}
	if title == "" {
		m.add("\n")
	}
	return nil
}

func fits(answer string) bool { return inline(answer, maxMdInline) == answer }

// maxWorse is the most cases in the table of what got worse.
const maxWorse = 10

// cells is a text of the run in a cell; "" for none.
func cells(s string) string {
	if s == "" {
		return ""
	}
	return cellCode(s)
}

// comparison shows how the run compares with its baseline.
func (m *markdown) comparison(c *compare.Comparison) error {
	m.add("### Compared with %s\n\n", code(sideName(&c.Base)))
	for _, warning := range c.Warnings[:min(maxMdNames, len(c.Warnings))] {
		m.add("- warning: %s\n", codeOf(warning, maxMdReason))
	}
	if len(c.Warnings) > 0 {
		m.add("\n")
		m.missing(len(c.Warnings)-maxMdNames, "warning")
	}
	if c.Why != "" {
		return nil
	}
	m.metrics(c)
	m.readings(c)
	return m.flips(c)
}

func (m *markdown) metrics(c *compare.Comparison) {
	shown, left := 0, 0
	table := m.add("| arm | metric | n | base | head | difference | interval | margin | verdict |\n" +
		"|---|---|--:|--:|--:|--:|---|---|---|\n")
	for i := range c.Arms {
		a := &c.Arms[i]
		for k := range a.Metrics {
			if !table || shown == maxMdArms || !m.add("| %s |\n", metricCells(a, &a.Metrics[k])) {
				left++
				continue
			}
			shown++
		}
	}
	m.add("\n")
	m.missing(left, "compared metric")
}

func metricCells(a *compare.ArmComparison, metric *compare.MetricComparison) string {
	row := metricRow(metric) // metric, base, head, difference, interval, n, verdict
	cells := []string{
		cellCode(a.Suite + " on " + a.HeadArm), cellCode(metric.Name), row[5], row[1], row[2], row[3], row[4] + levelNote(metric),
		cmp.Or(overview.Margin(metric), "-"), row[6],
	}
	return strings.Join(cells, " | ")
}

// levelNote is the level of an interval, to append to it.
func levelNote(m *compare.MetricComparison) string {
	if m.Interval == nil {
		return ""
	}
	return " (" + overview.Level(m) + ")"
}

// readings explains each arm's verdict: which cases are compared, how many changed and, folded, the tests.
func (m *markdown) readings(c *compare.Comparison) {
	left := 0
	for i := range c.Arms {
		a := &c.Arms[i]
		verdict := ""
		if a.Verdict != "" {
			verdict = ": " + verdictWords[a.Verdict]
		}
		r := overview.ComparisonWordsOf(a)
		lines := readingLines(a, &r)
		if len(lines) == 0 {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s on %s%s\n\n", code(a.Suite), code(a.HeadArm), verdict)
		if len(c.Arms) > 1 && a.Headline != "" {
			b.WriteString("- " + sentence(&a.Finding) + "\n")
		}
		for _, line := range lines {
			b.WriteString("- " + prose(line, maxMdReading) + "\n")
		}
		if len(r.Tests) > 0 {
			b.WriteString("\n" + details("tests", fenced("", strings.Join(r.Tests, "\n"))))
		}
		if i >= maxMdArms || !m.add("%s\n", b.String()) {
			left++
		}
	}
	m.missing(left, "compared arm")
}

// maxMdReading bounds a line about the compared cases, in code points.
const maxMdReading = 2000

// readingLines say how many cases of an arm changed, which are compared, and what a decision would take.
func readingLines(a *compare.ArmComparison, r *overview.ComparisonWords) []string {
	var out []string
	if r.Changes != "" {
		out = append(out, r.Changes)
	}
	out = append(append(out, r.Cases...), r.Metrics...)
	for i := range a.Metrics {
		if metric := &a.Metrics[i]; metric.Gated && metric.Advice != "" && !metric.Advisory {
			out = append(out, "to know more: "+metric.Name+": "+metric.Advice)
		}
	}
	return out
}

// flips shows the cases that got worse, with the reason and a diff of their answers. The list of failures leaves
// them out.
func (m *markdown) flips(c *compare.Comparison) error {
	title, left := "### Answers of newly failing cases\n\n", 0
	for i := range c.Arms {
		a := &c.Arms[i]
		for k := range a.Flips {
			f := &a.Flips[k]
			if !f.Worse() || m.listed[armCase{a.Suite, a.HeadArm, f.Case}] {
				continue
			}
			m.listed[armCase{a.Suite, a.HeadArm, f.Case}] = true
			reason, err := m.reason(f)
			if err != nil {
				return err
			}
			if left > 0 || !m.add("%s%s", title, details(flipSummary(f, a.HeadArm)+reason, flipBody(f))) {
				left++
				continue
			}
			title = ""
		}
	}
	m.missing(left, "newly failing case")
	return nil
}

type armCase struct{ suite, arm, name string }

// reason is why a case that passed before now fails, "" when the run does not say.
func (m *markdown) reason(f *compare.Flip) (string, error) {
	at, ok := m.d.Find(f.HeadTrial)
	if !ok {
		return "", nil
	}
	r, err := m.d.Trial(at)
	if err != nil || r.Outcome() != eval.Fail {
		return "", err
	}
	return ": " + htmlCode(text.Why(r)), nil
}

func flipSummary(f *compare.Flip, arm string) string {
	return fmt.Sprintf(
		"%s on %s: %d of %d passed, was %d of %d%s", htmlCode(f.Case), htmlCode(arm), f.HeadPassed, f.HeadScored, f.BasePassed,
		f.BaseScored, flipNote(f),
	)
}

// flipBody is a diff of the two answers.
func flipBody(f *compare.Flip) string {
	switch {
	case f.BaseAnswer == "" && f.HeadAnswer == "":
		return "The answers are not known.\n"
	case f.BaseAnswer == f.HeadAnswer:
		return "The same answer:\n\n" + fenced("", f.HeadAnswer)
	case f.BaseAnswer == "" || f.HeadAnswer == "":
		return fenced("", f.BaseAnswer+f.HeadAnswer)
	}
	return fenced("diff", strings.Join(answerDiff(f.BaseAnswer, f.HeadAnswer), "\n"))
}

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
		title := c.Header
		if r.Currency != "" && title == (takenTable{r.Currency}).header() {
			title = cellCode(title)
		}
		head, dashes = append(head, title), append(dashes, "---")
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
