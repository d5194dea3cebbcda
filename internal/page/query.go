package page

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

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
