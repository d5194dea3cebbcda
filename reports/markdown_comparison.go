package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
)

// comparison says how the run compares with its baseline.
func (m *markdown) comparison(c *compare.Comparison) {
	if c.NotCompared {
		m.add("Not compared with the baseline (`--no-baseline`).\n\n")
		return
	}
	m.add("### Compared with %s\n\n", code(sideName(&c.Base)))
	for _, line := range overview.Repeated(c) {
		m.add("%s.\n\n", codeOf(line, maxMdReason))
	}
	if c.Why != "" {
		m.add("**%s**: %s\n\n", verdictWords[eval.Invalid], codeOf(c.Why, maxMdReason))
		return
	}
	for _, warning := range c.Warnings[:min(maxMdNames, len(c.Warnings))] {
		m.add("- warning: %s\n", codeOf(warning, maxMdReason))
	}
	if len(c.Warnings) > 0 {
		m.add("\n")
		m.missing(len(c.Warnings)-maxMdNames, "warning")
	}
	m.metrics(c)
	m.flips(c)
}

// metrics is the table of compared metrics.
func (m *markdown) metrics(c *compare.Comparison) {
	shown, left := 0, 0
	table := m.add("| arm | metric | base | head | difference | interval | verdict |\n|---|---|--:|--:|--:|---|---|\n")
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
	var t tableReport
	row := t.metricRow(metric) // metric, base, head, difference, interval, n, verdict
	cells := []string{cellCode(a.Suite + " on " + a.HeadArm), cellCode(metric.Name), row[1], row[2], row[3], row[4], row[6]}
	return strings.Join(cells, " | ")
}

// flips shows the cases that got worse, with what changed in their answers.
func (m *markdown) flips(c *compare.Comparison) {
	shown, left := 0, 0
	for i := range c.Arms {
		for _, f := range c.Arms[i].Flips {
			if f.HeadPassed*f.BaseJudged >= f.BasePassed*f.HeadJudged {
				continue
			}
			if shown == 0 && left == 0 {
				m.add("### Newly failing\n\n")
			}
			if shown == maxFlips || !m.add("%s", details(flipSummary(&f, c.Arms[i].HeadArm), flipBody(&f))) {
				left++
				continue
			}
			shown++
		}
	}
	m.missing(left, "newly failing case")
}

func flipSummary(f *compare.Flip, arm string) string {
	return fmt.Sprintf(
		"%s on %s: %d of %d passed, was %d of %d%s", htmlCode(f.Case), htmlCode(arm), f.HeadPassed, f.HeadJudged, f.BasePassed,
		f.BaseJudged, flipNote(f),
	)
}

// flipBody is the difference of two answers.
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
