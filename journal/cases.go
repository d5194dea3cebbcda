package journal

import (
	"iter"

	"github.com/evalrun/evalrun/eval"
)

// Sums adds up trials.
type Sums struct {
	Counts    eval.Counts
	LatencyMs float64 // of the trials that were scored
	Tokens    Tokens
	Metered   int // trials that report tokens
}

// Add adds the sums of other trials.
func (s *Sums) Add(o *Sums) {
	s.Counts = s.Counts.Plus(o.Counts)
	s.LatencyMs += o.LatencyMs
	s.Tokens.add(o.Tokens)
	s.Metered += o.Metered
}

// CaseSums is one case on one arm in numbers, its repeats added up.
type CaseSums struct {
	Suite, Case, Arm string
	Sums
	Rated   eval.Counts // of the trials that count for a gate: not in quarantine, and sent before the verdict was known
	Metrics MetricSums
}

// MetricSums adds up named scores, in the order in which they first come.
type MetricSums []MetricSum

// MetricSum is a named score over the trials or cases that have it.
type MetricSum struct {
	Name string
	eval.Sum
}

// Add adds a value of a named score.
func (all *MetricSums) Add(name string, value float64) {
	for i := range *all {
		if one := &(*all)[i]; one.Name == name {
			one.Add(value)
			return
		}
	}
	*all = append(*all, MetricSum{name, eval.Sum{Total: value, N: 1}})
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

func (c *CaseSums) add(r *digest) {
	c.Counts.Add(r.outcome)
	if r.flags&(isQuarantined|isUnused) == 0 {
		c.Rated.Add(r.outcome)
	}
	c.Tokens.add(tokensOf(r.usage))
	if r.usage.TotalTokens > 0 {
		c.Metered++
	}
	if r.outcome == eval.Pass || r.outcome == eval.Fail {
		c.LatencyMs += r.latencyMs
	}
	for _, m := range r.metrics {
		c.Metrics.Add(m.name, m.value)
	}
}
