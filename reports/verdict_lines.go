package reports

import (
	"fmt"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// verdictLines are what a reader must know next to the verdict of a rule about a baseline: the compared cases, and
// the figures of each metric. Other rules have none.
func verdictLines(d *journal.Document, r *journal.GateRule) []string {
	if r.Verdict() == "" || d.Comparison() == nil {
		return nil
	}
	var out []string
	for i := range d.Comparison().Arms {
		a := &d.Comparison().Arms[i]
		if a.Suite != r.Suite || a.HeadArm != r.Arm {
			continue
		}
		words := overview.ComparisonWordsOf(a)
		if words.Changes != "" {
			out = append(out, words.Changes)
		}
		out = append(out, words.Cases...)
		for k := range a.Metrics {
			if m := &a.Metrics[k]; m.Gated {
				out = append(out, metricFigures(m), overview.MetricWords(m))
			}
		}
	}
	return out
}

// metricFigures are base, head and difference of a metric on one line.
func metricFigures(m *compare.MetricComparison) string {
	row := metricRow(m) // metric, base, head, difference, interval, n, verdict
	return fmt.Sprintf(
		"%s: base %s, head %s, difference %s, %s interval %s: %s", row[0], row[1], row[2], row[3], overview.Level(m), row[4], row[6],
	)
}
