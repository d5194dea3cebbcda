package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
)

// Rankings writes rankings of a run for people, with a table per suite.
func Rankings(w io.Writer, all []compare.Ranking, o Options) error {
	t := newScreen(nil, o)
	for i := range all {
		if i > 0 {
			t.out.WriteString("\n")
		}
		t.ranking(&all[i])
		for _, line := range judgedWords(&all[i]) {
			t.wrapped("  ", line)
		}
	}
	return t.writeTo(w)
}

func (t *screen) rankings(all []compare.Ranking) {
	for i := range all {
		if !bytes.HasSuffix(t.out.Bytes(), []byte("\n\n")) {
			t.out.WriteString("\n")
		}
		t.ranking(&all[i])
	}
}

// ranking shows the arms of a suite in order, and which of them may be the best.
func (t *screen) ranking(r *compare.Ranking) {
	head := fmt.Sprintf("%s ranked by %s", r.Suite, r.Metric)
	if r.Why != "" {
		head = fmt.Sprintf("%s by %s", r.Suite, r.Metric)
	}
	if r.Race == nil {
		head += ", " + diag.Count(max(0, r.Cases), "case")
		if r.Why == "" && r.Units < r.Cases {
			head += fmt.Sprintf(", %s", diag.Count(r.Units, "independent unit"))
		}
	}
	if r.Why != "" {
		head += ": " + t.paint(text.Alarm, "NO RANKING")
	}
	t.line("%s", diag.CleanLine(head))
	if r.Why != "" {
		t.wrapped("  ", r.Why)
	}
	columns, rows := rankingColumns(r), rankingRows(r)
	if t.d != nil && r.Metric == eval.MetricPass && r.Race == nil {
		columns[atMetric].Header, columns[atMetric+1].Optional = "pass, 90 %", 4
		for i := range rows {
			rows[i][atMetric] = t.passRate(r.Suite, r.Arms[i].Arm)
		}
	}
	t.grid(columns, rows)
	for _, line := range rankingWords(r) {
		t.wrapped("  ", line)
	}
}

// atMetric is the column of the metric by which arms are ranked.
const atMetric = 3

func (t *screen) passRate(suite, arm string) string {
	for s, a := range t.d.Summary.Arms {
		if rate, ok := a.PassRate(); ok && s.Name == suite && a.Name == arm {
			lo, hi := overview.Interval(rate, a.Scored)
			return fmt.Sprintf("%s (%.1f-%.1f)", diag.Percent(rate), 100*lo, 100*hi)
		}
	}
	return "-"
}

func rankingColumns(r *compare.Ranking) []gridColumn {
	interval := fmt.Sprintf("to the best, %.0f %%", 100*(1-r.Alpha))
	if r.Race != nil {
		interval = "left after"
	}
	columns := []gridColumn{
		{Header: ""},
		{Header: "#"},
		{Header: "arm", Least: 20},
		{Header: diag.CleanLine(r.Metric)},
		{Header: interval, Optional: 1},
	}
	if r.Within != nil {
		columns = append(columns, gridColumn{Header: "within " + r.Points()})
	}
	columns = append(columns, takenTable{r.Currency}.columns()...)
	if withErrors(r) {
		columns = append(columns, gridColumn{Header: "errors"})
	}
	return columns
}

var isWithin = map[eval.Verdict]string{eval.NotWorse: "yes", eval.Regressed: "no", eval.Inconclusive: "cannot tell"}

// withErrors reports whether any arm has trials that could not be scored.
func withErrors(r *compare.Ranking) bool {
	return slices.ContainsFunc(r.Arms, func(a compare.RankedArm) bool { return a.Errors > 0 })
}

func rankingRows(r *compare.Ranking) (rows [][]string) {
	taken := takenTable{r.Currency}
	for i := range r.Arms {
		a := &r.Arms[i]
		mark, place, interval := "", fmt.Sprint(i+1), "-"
		switch {
		case r.Why != "":
			place = ""
		case a.Best:
			mark = "*"
		}
		switch {
		case a.Interval != nil:
			interval = fmt.Sprintf("%+.3f to %+.3f", a.Interval[0], a.Interval[1])
		case a.Left > 0:
			interval = diag.Count(a.Left, "unit")
		}
		row := []string{
			mark, place, diag.CleanLine(a.Arm), numberOr(a.Mean, three), interval,
		}
		if r.Within != nil {
			row = append(row, isWithin[a.Verdict])
		}
		row = append(row, taken.cells(&a.Taken)...)
		if withErrors(r) {
			row = append(row, fmt.Sprint(a.Errors))
		}
		rows = append(rows, row)
	}
	return rows
}

// rankingWords say which arms may be the best, and what a race saved.
func rankingWords(r *compare.Ranking) (lines []string) {
	sure, best := fmt.Sprintf("%.0f %% sure", 100*(1-r.Alpha)), r.Best()
	switch {
	case r.Why != "":
		return nil
	case len(best) == 1:
		lines = append(lines, fmt.Sprintf("* %s is the best, %s", best[0], sure))
	case len(best) == len(r.Arms):
		lines = append(lines, "* "+r.Undecided(sure))
	default:
		lines = append(lines, fmt.Sprintf("* the best is one of these %d, %s; the others are ruled out", len(best), sure))
	}
	lines = append(lines, withinWords(r)...)
	if r.Race != nil && r.Race.Planned > 0 {
		lines = append(lines, fmt.Sprintf(
			"the race saved %d of %d calls (%.0f %%)", r.Race.Saved, r.Race.Planned, 100*float64(r.Race.Saved)/float64(r.Race.Planned)))
	}
	return lines
}

// judgedWords say who judged the values that arms are ranked by, and name the arms where that is not the same on all.
func judgedWords(r *compare.Ranking) (lines []string) {
	arms := map[string][]string{}
	for i := range r.Judges {
		words := r.Judges[i].Words()
		if arms[words] == nil {
			lines = append(lines, words)
		}
		arms[words] = append(arms[words], r.Judges[i].Arm)
	}
	for i, words := range lines {
		if on := arms[words]; len(on) < len(r.Arms) {
			lines[i] = strings.Join(on, ", ") + ": " + words
		}
	}
	return lines
}
