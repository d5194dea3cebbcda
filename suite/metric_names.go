package suite

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
)

// metricNames are the metrics that a suite adds to those of every comparison.
type metricNames struct {
	scorers []string // names of scorers, in the order of the file
	open    bool     // some names of scorers are known only when a case is expanded
	derived []*DerivedMetric
	classes []string // classes of the `classification` block; nil without one
}

func (n *metricNames) take(scorer string) {
	n.open = n.open || expr.HasActions(scorer)
	if !slices.Contains(builtInMetrics(), scorer) && !slices.Contains(n.scorers, scorer) {
		n.scorers = append(n.scorers, scorer)
	}
}

// means returns the names of metrics that are means over cases.
func (n *metricNames) means() []string {
	out := slices.Clone(n.scorers)
	for _, m := range n.derived {
		out = append(out, m.Name)
	}
	return out
}

// ofClasses returns the names of the metrics that the classification computes over all cases; nil without one.
func (n *metricNames) ofClasses() []string {
	if n.classes == nil {
		return nil
	}
	return eval.Names(n.classes)
}

// Metrics returns the names of metrics that a gate can compare: those of every comparison, named scorers, derived metrics,
// and those of the classification. When open is true, some names are templates, so that there may be more.
func (s *Suite) Metrics() (names []string, open bool) {
	return slices.Concat(builtInMetrics(), s.metricNames.means(), s.metricNames.ofClasses()), s.metricNames.open
}

// Classes returns the classes of the `classification` block in the order of the file; nil without the block.
func (s *Suite) Classes() []string { return s.metricNames.classes }

// OfAllCases reports whether a metric is computed from the confusion matrix of all cases. Single cases have no value of it.
func (s *Suite) OfAllCases(metric string) bool {
	return metric != eval.Accuracy && slices.Contains(s.metricNames.ofClasses(), metric)
}

// Derived returns the derived metrics in the order of the file.
func (s *Suite) Derived() []*DerivedMetric { return s.metricNames.derived }

// builtIn is the number of metrics that every comparison has; Metrics lists them first.
const builtIn = 4

func builtInMetrics() []string {
	return []string{eval.MetricPass, eval.MetricBlocked, eval.MetricLatency, eval.MetricTokens}
}
