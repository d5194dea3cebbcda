package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// MeasureBias measures position bias over the cases of an arm: the interval of the judge's preference for the first
// place, and whether it contradicts itself in most pairs.
func (c *ArmPreference) MeasureBias(base, head *Side, o Options) {
	m := newMeasure(o, pairUp(base, head, nil).scored)
	c.Level = 1 - 2*o.Alpha
	if first := m.shares(func(c *CaseTotals) (float64, bool) { return c.First.Mean() }); len(first.head) > 0 {
		c.FirstPlace.Interval = &[2]float64{first.atLeast(o.Alpha), first.atMost(o.Alpha)}
	}
	turned := m.shares(func(c *CaseTotals) (float64, bool) { return c.Contradicted.Mean() })
	if least := turned.atLeast(eval.DefaultAlpha); least > 0.5 {
		c.Unreliable = fmt.Sprintf(
			"the judge contradicts itself: in %d of %d pairs of different answers, the other order changed its choice "+
				"(%.0f %% sure: at least %s); its choices say nothing (`evalrun help choose`)",
			c.Contradicted, c.Pairs-c.Same-c.Unjudged, 100*(1-eval.DefaultAlpha), diag.Percent(math.Floor(1000*least)/1000),
		)
	}
}

// shares are values between 0 and 1, one for each unit of a measure.
type shares struct{ units }

// shares reads a share from each case of head.
func (m *measure) shares(of value) shares {
	return shares{m.unitsOf(func(*CaseTotals) (float64, bool) { return 0, true }, of, bothSides)}
}

// atLeast returns the lower bound of the mean share with one-sided error alpha. It is exact (Clopper and
// Pearson) if each unit is 0 or 1.
func (s shares) atLeast(alpha float64) float64 {
	if len(s.head) == 0 {
		return 0
	}
	certain := !slices.ContainsFunc(s.head, func(x float64) bool { return x != 0 && x != 1 })
	if certain && slices.Max(s.weights) == slices.Min(s.weights) {
		return stats.Gaffke(s.head, 0, alpha)
	}
	doubled := scaledBy(2, s.head) // lowerBound takes values between -1 and 1
	for i := range doubled {
		doubled[i]--
	}
	return (1 + lowerBound(doubled, s.weights, alpha)) / 2
}

func (s shares) atMost(alpha float64) float64 {
	turned := shares{units{head: scaledBy(-1, s.head), weights: s.weights}}
	for i := range turned.head {
		turned.head[i]++
	}
	return 1 - turned.atLeast(alpha)
}
