package overview

import (
	"fmt"

	"github.com/evalrun/evalrun/compare"
)

// Intervals explains why two metrics with the same figures have different intervals; "" if there are none.
func Intervals(metrics []compare.MetricComparison) string {
	for i := range metrics {
		for j := range metrics {
			if exact, other := &metrics[i], &metrics[j]; exact.Asymptotic != nil && approximate(other, exact) {
				return fmt.Sprintf(
					"the interval of %s is that of the exact tests, which decide its verdict; %s has no margin, and an approximate interval",
					exact.Name, other.Name,
				)
			}
		}
	}
	return ""
}

// approximate reports whether a metric has the same figures as an exact one but another interval, which
// decides nothing.
func approximate(m, exact *compare.MetricComparison) bool {
	same := m.N == exact.N && m.Base == exact.Base && m.Head == exact.Head
	return same && !m.Gated && m.Interval != nil && exact.Interval != nil && *m.Interval != *exact.Interval
}
