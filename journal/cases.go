package journal

import (
	"iter"

	"github.com/evalrun/evalrun/eval"
)

// CaseSums is one case on one arm in numbers, its repeats added up.
type CaseSums struct {
	Suite, Case, Arm string
	Counts           eval.Counts
	Rated            eval.Counts // of the trials that count for a gate: not in quarantine, and sent before the verdict was known
	LatencyMs        float64     // of the trials that were scored, added up
	Tokens           Tokens
	Metered          int         // trials that report tokens
	Metrics          []MetricSum // in the order of their first trials
}

// MetricSum adds up a named score over the trials of a cell that have it.
type MetricSum struct {
	Name string
	Sum  float64
	N    int // trials
}

// CaseSums yields every case on every arm in the order of the plan, from the index alone, without reading a
// trial. A cell is valid until the next one.
func (d *Document) CaseSums() iter.Seq[*CaseSums] {
	return func(yield func(*CaseSums) bool) {
		var cells []CaseSums
		for row := range d.Rows() {
			cells = cells[:0]
			for e := range row.each {
				r := d.index.digest(e)
				cellOf(&cells, &r).add(&r)
			}
			for i := range cells {
				if !yield(&cells[i]) {
					return
				}
			}
		}
	}
}

// cellOf finds the cell of a trial's arm among those of its case, or adds it.
func cellOf(cells *[]CaseSums, r *digest) *CaseSums {
	for i := range *cells {
		if c := &(*cells)[i]; c.Arm == r.arm {
			return c
		}
	}
	*cells = append(*cells, CaseSums{Suite: r.suite, Case: r.caseName, Arm: r.arm})
	return &(*cells)[len(*cells)-1]
}

// add takes up one trial.
func (c *CaseSums) add(r *digest) {
	c.Counts.Add(r.outcome)
	if r.flags&(isQuarantined|isUnused) == 0 {
		c.Rated.Add(r.outcome)
	}
	c.Tokens.add(r.usage)
	if r.usage.TotalTokens > 0 {
		c.Metered++
	}
	if r.outcome == eval.Pass || r.outcome == eval.Fail {
		c.LatencyMs += r.latencyMs
	}
	for _, m := range r.metrics {
		c.metric(m.name, m.value)
	}
}

// metric adds up a named score.
func (c *CaseSums) metric(name string, value float64) {
	for i := range c.Metrics {
		if c.Metrics[i].Name == name {
			c.Metrics[i].Sum += value
			c.Metrics[i].N++
			return
		}
	}
	c.Metrics = append(c.Metrics, MetricSum{name, value, 1})
}
