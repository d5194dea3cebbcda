package compare

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// Pairs are the cases of base and head that Compare compares.
func Pairs(base, head *Side) (out [][2]*CaseTotals) {
	for _, p := range pairUp(base, head, nil).scored {
		out = append(out, [2]*CaseTotals{p.base, p.head})
	}
	return out
}

// hasPreferences reports whether a judge has a preference for any pair.
func (m *measure) hasPreferences() bool {
	return slices.ContainsFunc(m.pairs, func(p pair) bool { return p.head.HeadPreferred.N > 0 })
}

// indifferent is the value of a case when neither answer is preferred.
const indifferent = 0.5

// preference compares the share of preferences for head, 1 for all repeats of a case and 0 for none, with indifference.
// The differences span half the range of other metrics, so differences and margin are doubled for the tests.
func (m *measure) preference(c *MetricComparison, margin float64) {
	u := m.units(eval.MetricPreference, nil, nil)
	c.N, c.Base, c.Estimate = u.n, indifferent, u.mean(u.d)
	_, c.Head = u.means()
	c.Gained, c.Regressed = u.gained, u.regressed
	if c.N == 0 {
		return
	}
	u.d = scaledBy(2, u.d)
	m.scores(c, u, 2*margin, moreIsBetter)
	if c.Interval != nil {
		c.Interval[0], c.Interval[1] = c.Interval[0]/2, c.Interval[1]/2
	}
}
