package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
)

// numbers adds what queries call score.NAME and metric.NAME.
func (c *columns) numbers(t *tables, r *eval.Result) {
	var names []string
	add := func(name string, value *float64) {
		names, c.Value = append(names, name), append(c.Value, value)
	}
	for i := range r.Scores {
		s := &r.Scores[i]
		var number *float64
		if value, ok := s.Value(); ok {
			number = &value
		}
		add("score."+cmp.Or(s.Name, s.Scorer), number)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		add("metric."+name, new(r.Metrics[name]))
	}
	c.Number = append(c.Number, t.Number.number(names...))
}

// called returns the distinct names of the tools that a trial called.
func called(r *eval.Result) []string {
	var out []string
	add := func(answer *eval.Response) {
		for i := range answer.Candidates {
			for _, call := range answer.Candidates[i].FunctionCalls() {
				out = addOnce(out, call.Name)
			}
		}
	}
	for i := range r.Calls {
		add(&r.Calls[i].Response)
	}
	for _, call := range r.ModelCalls() {
		if call.Response != nil {
			add(call.Response)
		}
	}
	if r.Response != nil {
		add(r.Response)
	}
	return out
}

// hashOfAnswer hashes the texts and calls of all candidates. A withheld text counts by its recorded hash.
func hashOfAnswer(r *eval.Response) uint32 {
	if r == nil {
		return 0
	}
	h := fnv.New32a()
	for i := range r.Candidates {
		c := &r.Candidates[i]
		fmt.Fprintf(h, "%q", c.Text)
		if c.Withheld != nil {
			fmt.Fprintf(h, " %q", c.Withheld.SHA256)
		}
		for _, call := range c.FunctionCalls() {
			fmt.Fprintf(h, " %q(%s)", call.Name, call.Args)
		}
	}
	return h.Sum32()
}

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
