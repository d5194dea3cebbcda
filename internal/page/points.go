package page

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/evalrun/evalrun/compare"
)

// pointsName is the block with the cases of a comparison.
const pointsName = "points"

// armPoints has the cases of an arm on both sides, by column.
type armPoints struct {
	Cases   []string      `json:"cases"`
	Metrics []pointMetric `json:"metrics"`
}

type pointMetric struct {
	Name string     `json:"name"`
	Base []*float64 `json:"base"` // nil: no value
	Head []*float64 `json:"head"`
}

func hasPoints(c *compare.Comparison) bool {
	return c != nil && slices.ContainsFunc(c.Arms, func(a compare.ArmComparison) bool { return a.Points != nil })
}

// PointsBlock returns the block with the cases of a comparison, in the order of its arms: null for an arm
// with too many cases. It returns ErrNoBlock if no arm has any.
func PointsBlock(c *compare.Comparison) ([]byte, error) {
	if !hasPoints(c) {
		return nil, ErrNoBlock
	}
	out := make([]*armPoints, len(c.Arms))
	for i := range c.Arms {
		p := c.Arms[i].Points
		if p == nil {
			continue
		}
		out[i] = &armPoints{Cases: p.Cases, Metrics: []pointMetric{}}
		for _, m := range p.Metrics {
			out[i].Metrics = append(out[i].Metrics, pointMetric{m.Name, known(m.Base), known(m.Head)})
		}
	}
	return json.Marshal(out)
}

// known replaces NaN by null, and rounds the others to six digits, which are all that a plot can show.
func known(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) {
			out[i] = new(math.Round(v*1e6) / 1e6)
		}
	}
	return out
}
