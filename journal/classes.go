package journal

import (
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// classes holds each distinct classification once: there are few of them, however many trials there are.
type classes struct {
	all []eval.Pair
	at  map[eval.Pair]uint32 // places from 1
}

func (c *classes) place(p eval.Pair) uint32 {
	if p.Expected == "" {
		return 0
	}
	at, known := c.at[p]
	if !known {
		if c.at == nil {
			c.at = map[eval.Pair]uint32{}
		}
		p = eval.Pair{Expected: strings.Clone(p.Expected), Answer: strings.Clone(p.Answer)}
		c.all = append(c.all, p)
		at = clip(len(c.all))
		c.at[p] = at
	}
	return at
}

// classOf is the classification of a trial, nil for none. It is only read.
func (x *index) classOf(e *entry) *eval.Pair {
	if e.more == 0 || x.more[e.more-1].class == 0 {
		return nil
	}
	return &x.classes.all[x.more[e.more-1].class-1]
}

// Classified is the report of the suite's classification; nil without one.
func (a *ArmSummary) Classified() *eval.Report {
	if a.Classification == nil {
		return nil
	}
	r := a.Classification.Report()
	r.Errors = a.Unclassified
	return &r
}

// classTally adds up the classifications of an arm: a case counts once, in equal parts for its scored repeats.
type classTally struct {
	matrix *eval.Matrix // nil: there is no classification
	repeat []eval.Pair  // the repeats of the current case
	errors int
}

func newClassTally(classes []string) classTally {
	if len(classes) == 0 {
		return classTally{}
	}
	return classTally{matrix: eval.NewMatrix(classes)}
}

func (t *classTally) add(r *digest) {
	switch {
	case t.matrix == nil:
	case r.outcome == eval.Err:
		t.errors++
	case r.class != nil && r.outcome != eval.Skip:
		t.repeat = append(t.repeat, *r.class)
	}
}

func (t *classTally) closeCase() {
	for _, p := range t.repeat {
		t.matrix.Add(p, 1/float64(len(t.repeat)))
	}
	t.repeat = t.repeat[:0]
}
