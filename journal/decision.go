package journal

import (
	"github.com/evalrun/evalrun/compare"
)

// Decision is what a run came to by the rules of its suites.
type Decision struct {
	Gate       Gate                // what the rules came to
	Comparison *compare.Comparison // with the baseline of the gate; nil when there is none
	Ranking    []compare.Ranking   // of the arms of suites whose gate or race is about the best arm
	// NotCompared says that a gate has a baseline, and that --no-baseline was given. There is no Comparison then.
	NotCompared bool
}

// Gate is what the rules came to; nil when no gate was applied.
func (d *Document) Gate() *Gate {
	if d.Decision == nil {
		return nil
	}
	return &d.Decision.Gate
}

// Comparison compares the run with the baseline of its gate; nil when there is none, or no gate was applied.
func (d *Document) Comparison() *compare.Comparison {
	if d.Decision == nil {
		return nil
	}
	return d.Decision.Comparison
}

// NotCompared reports whether the gate has a baseline with which --no-baseline kept the run from being compared.
func (d *Document) NotCompared() bool { return d.Decision != nil && d.Decision.NotCompared }

// Ranking orders the arms of the suites whose gate or race is about the best arm; nil when no gate was applied.
func (d *Document) Ranking() []compare.Ranking {
	if d.Decision == nil {
		return nil
	}
	return d.Decision.Ranking
}
