package overview

import (
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Standing says how a failing case did in the baseline; "" if that is unknown.
type Standing string

// The standings of failures.
const (
	NewlyFailing  Standing = "newly failing"
	NotInBaseline Standing = "not in the baseline"
	Changed       Standing = "changed since the baseline"
	AlsoFailed    Standing = "also failed in the baseline"
)

// standings is the order in which reports list failures, the most important first.
var standings = []Standing{NewlyFailing, NotInBaseline, Changed, "", AlsoFailed}

// Rank returns the position of a standing in this order.
func (s Standing) Rank() int { return slices.Index(standings, s) }

// Standings returns all of them in this order.
func Standings() []Standing { return slices.Clone(standings) }

type failure struct{ suite, arm, name string }

// Failures has the standing of each failing case.
type Failures struct{ of map[failure]Standing }

// NewFailures computes the standings from the comparison of a run with its baseline.
func NewFailures(d *journal.Document) Failures {
	f := Failures{of: map[failure]Standing{}}
	c := d.Comparison()
	if c == nil {
		return f
	}
	marks := map[failure]Standing{}
	for i := range c.Arms {
		note(marks, &c.Arms[i])
	}
	for row := range d.Rows() {
		if row.Counts.Fail == 0 || row.Quarantined() {
			continue
		}
		for i := range c.Arms {
			if a := &c.Arms[i]; a.Suite == row.Suite {
				f.add(row, a, marks)
			}
		}
	}
	return f
}

// unknown marks cases without a verdict on both sides.
const unknown Standing = "unknown"

// note marks the cases of an arm that differ between the runs.
func note(marks map[failure]Standing, a *compare.ArmComparison) {
	for _, list := range []struct {
		names []string
		as    Standing
	}{
		{a.Cases.Added, NotInBaseline},
		{a.Cases.Changed, Changed},
		{a.Cases.Accepted.Changed, Changed},
		{a.Cases.Accepted.Quarantined, unknown},
		{a.Cases.Unscored, unknown},
		{a.Cases.Quarantined, unknown},
	} {
		for _, name := range list.names {
			marks[failure{a.Suite, a.HeadArm, name}] = list.as
		}
	}
	for i := range a.Flips {
		as := unknown
		if a.Flips[i].Worse() {
			as = NewlyFailing
		}
		marks[failure{a.Suite, a.HeadArm, a.Flips[i].Case}] = as
	}
}

// add computes the standing of a case that failed on an arm. A case without a mark is the same on both
// sides. If most of its repeats fail now, it failed in the baseline too.
func (f *Failures) add(row journal.Row, a *compare.ArmComparison, marks map[failure]Standing) {
	cell, ok := row.On(a.HeadArm)
	if !ok || cell.Counts.Fail == 0 || cell.Unused() {
		return
	}
	key := failure{row.Suite, a.HeadArm, row.Case}
	switch mark, marked := marks[key]; {
	case mark == unknown:
	case marked:
		f.of[key] = mark
	case a.Cases.Of > 0 && cell.Counts.Fail >= cell.Counts.Pass:
		f.of[key] = AlsoFailed
	}
}

// Of returns the standing of a case that failed on an arm.
func (f *Failures) Of(suite, arm, name string) Standing { return f.of[failure{suite, arm, name}] }

// OfTrial returns the standing of a trial's case, "" if the trial did not fail.
func (f *Failures) OfTrial(r *eval.Result) Standing {
	if r.Outcome() != eval.Fail {
		return ""
	}
	return f.Of(r.Suite, r.Arm, r.Case)
}

// OfRow returns the most important standing of a case over its arms.
func (f *Failures) OfRow(row journal.Row, arms []journal.ArmSummary) Standing {
	first := AlsoFailed
	known := false
	for i := range arms {
		if s, ok := f.of[failure{row.Suite, arms[i].Name, row.Case}]; ok && s.Rank() <= first.Rank() {
			first, known = s, true
		}
	}
	if !known {
		return ""
	}
	return first
}
