package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// armRow has the cells of an arm: name, number of trials by outcome, pass rate, interval, tokens and latency.
func armRow(a *journal.ArmSummary) []string {
	rate, bounds := "-", "-"
	if p, ok := a.PassRate(); ok {
		lo, hi := overview.Interval(p, a.Scored)
		rate = diag.Percent(p)
		bounds = fmt.Sprintf("%.1f-%.1f, n=%d", 100*lo, 100*hi, a.Scored)
	}
	latency := "-"
	if a.MeanLatencyMs > 0 {
		latency = text.Duration(a.MeanLatencyMs)
	}
	return []string{
		diag.CleanLine(a.Name), fmt.Sprint(a.Counts.Pass), fmt.Sprint(a.Counts.Fail), fmt.Sprint(a.Counts.Error), fmt.Sprint(a.Counts.Skip),
		rate, bounds, fmt.Sprint(a.Tokens.Total), latency,
	}
}

// metricRow has the cells of a compared metric: name, base, head, difference, interval, n and verdict.
func metricRow(m *compare.MetricComparison) []string {
	row := []string{diag.CleanLine(m.Name), amount(m, m.Base), amount(m, m.Head)}
	if eval.IsRatio(m.Name) {
		row = append(row, fmt.Sprintf("x %.3f", m.Estimate), bounds(m.Interval, "%.3f"))
	} else {
		row = append(row, fmt.Sprintf("%+.3f", m.Estimate), bounds(m.Interval, "%+.3f"))
	}
	verdict := verdictWords[m.Verdict]
	if m.Verdict == "" {
		verdict = "-"
	}
	return append(row, fmt.Sprint(m.N), verdict)
}

func amount(m *compare.MetricComparison, x float64) string {
	switch m.Name {
	case eval.MetricLatency:
		return text.Duration(x)
	case eval.MetricTokens:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func bounds(i *[2]float64, format string) string {
	if i == nil {
		return "unknown"
	}
	return fmt.Sprintf(format+" to "+format, i[0], i[1])
}

func numberOr(x *float64, show func(float64) string) string {
	if x == nil {
		return "-"
	}
	return show(*x)
}

func wholeNumber(x float64) string { return fmt.Sprintf("%.0f", x) }

func three(x float64) string { return fmt.Sprintf("%.3f", x) }

type takenTable struct {
	currency string // of the costs of arms; "" shows tokens instead
}

func (t takenTable) header() string {
	if t.currency == "" {
		return "tokens"
	}
	return diag.CleanLine(t.currency) + " per 1,000"
}

func (t takenTable) columns() []gridColumn {
	return []gridColumn{{Header: t.header(), Optional: 2}, {Header: "p50", Optional: 2}, {Header: "p95", Optional: 3}}
}

func (t takenTable) cells(a *compare.Taken) []string {
	amount := numberOr(a.Tokens, wholeNumber)
	if t.currency != "" {
		amount = "-"
		if a.Cost != nil {
			amount = text.Money(1000 * *a.Cost)
		}
	}
	return []string{amount, numberOr(a.LatencyP50Ms, text.Duration), numberOr(a.LatencyP95Ms, text.Duration)}
}

// withinWords say which arms are hardly worse than the best, and which of them costs least.
func withinWords(r *compare.Ranking) []string {
	w := r.Within
	if w == nil {
		return nil
	}
	if w.Why != "" {
		return []string{diag.CleanLine(w.Why)}
	}
	lines := []string{diag.CleanLine(fmt.Sprintf(
		"within %s of the best, %.0f %% sure: %s", r.Points(), 100*(1-r.Alpha), strings.Join(w.Arms, ", ")))}
	switch c := w.Cheapest; {
	case c == nil || len(w.Arms) < 2:
	case c.Cost != nil:
		lines = append(lines, diag.CleanLine(fmt.Sprintf(
			"cheapest of these: %s, %s (a point estimate, without a test)", c.Arm, text.PerThousand(*c.Cost/1000, r.Currency))))
	default:
		lines = append(lines, diag.CleanLine(fmt.Sprintf(
			"fewest tokens of these: %s, %.0f a trial (a point estimate, without a test)", c.Arm, *c.Tokens)))
	}
	return lines
}
