package compare

import (
	"math"

	"github.com/evalrun/evalrun/eval"
)

// mostPoints is the largest number of cases kept for plots: with more, single cases are not visible.
const mostPoints = 20_000

// Points are the compared cases, for plots.
type Points struct {
	Cases   []string // names in head
	Metrics []PointMetric
}

// PointMetric has the mean over repeats of each case, NaN where a side has none: milliseconds for latency,
// otherwise shares.
type PointMetric struct {
	Name       string
	Base, Head []float64
}

// points collects the metrics that each case has on its own; nil when there are too many cases.
func (m *measure) points(metrics []MetricComparison, base, head *Side) *Points {
	if len(m.pairs) == 0 || len(m.pairs) > mostPoints {
		return nil
	}
	out := &Points{}
	for _, p := range m.pairs {
		out.Cases = append(out.Cases, p.head.Name)
	}
	for i := range metrics {
		name := metrics[i].Name
		if name == eval.MetricPreference || isClassMetric(name, base, head) {
			continue
		}
		ofBase, ofHead := m.pointValues(name, base, head)
		one := PointMetric{Name: name}
		for _, p := range m.pairs {
			one.Base, one.Head = append(one.Base, orNaN(ofBase(p.base))), append(one.Head, orNaN(ofHead(p.head)))
		}
		out.Metrics = append(out.Metrics, one)
	}
	return out
}

// pointValues are the values of a metric on both sides; ratios are shown as raw amounts.
func (m *measure) pointValues(metric string, base, head *Side) (ofBase, ofHead value) {
	var amount value
	switch metric {
	case eval.MetricLatency:
		amount = func(c *CaseTotals) (float64, bool) { return c.LatencyMs.Mean() }
	case eval.MetricTokens:
		amount = func(c *CaseTotals) (float64, bool) { return c.Tokens.Mean() }
	default:
		return m.values(metric, base, head)
	}
	return amount, amount
}

func orNaN(v float64, ok bool) float64 {
	if !ok {
		return math.NaN()
	}
	return v
}
