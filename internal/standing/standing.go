// Package standing says how the failures of a run did in its baseline.
package standing

import (
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// Standing says how a case that failed did in the baseline; "" where no baseline says so.
type Standing string

// Standings of failures, those first that a reader wants to see first.
const (
	NewlyFailing  Standing = "newly failing"
	NotInBaseline Standing = "not in the baseline"
	Changed       Standing = "changed since the baseline"
	AlsoFailed    Standing = "also failed in the baseline"
)

// standings is the order in which failures are shown.
var standings = []Standing{NewlyFailing, NotInBaseline, Changed, "", AlsoFailed}

// Rank is the place of a standing among all, 0 for what comes first.
func (s Standing) Rank() int { return slices.Index(standings, s) }

// OfRank is the standing with a rank.
func OfRank(rank int) Standing { return standings[rank] }

// Ranks is the number of standings.
const Ranks = 5

// failure names a case on an arm.
type failure struct{ suite, arm, name string }

// Failures says how the failures of a run did in its baseline.
type Failures struct{ of map[failure]Standing }

// New reads the comparison of a run with its baseline.
func New(d *journal.Document) Failures {
	f := Failures{of: map[failure]Standing{}}
	c := d.Comparison()
	if c == nil || c.NotCompared {
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

// unknown marks cases that were not judged on both sides.
const unknown Standing = "unknown"

// note marks the cases of an arm that do not stand as they stood before.
func note(marks map[failure]Standing, a *compare.ArmComparison) {
	for _, list := range []struct {
		names []string
		as    Standing
	}{
		{a.Cases.Added, NotInBaseline},
		{a.Cases.Changed, Changed},
		{a.Cases.Unjudged, unknown},
		{a.Cases.Quarantined, unknown},
	} {
		for _, name := range list.names {
			marks[failure{a.Suite, a.HeadArm, name}] = list.as
		}
	}
	for i := range a.Flips {
		as := unknown
		if overview.Fails(&a.Flips[i]) {
			as = NewlyFailing
		}
		marks[failure{a.Suite, a.HeadArm, a.Flips[i].Case}] = as
	}
}

// add says how a case that failed on an arm did in the baseline. What is on both sides and did not change failed
// before when it fails in most of its repeats now.
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

// Of is how a case that failed on an arm did in the baseline.
func (f *Failures) Of(suite, arm, name string) Standing { return f.of[failure{suite, arm, name}] }

// OfTrial is how the case of a trial did, "" when the trial did not fail.
func (f *Failures) OfTrial(r *eval.Result) Standing {
	if r.Outcome != eval.Fail {
		return ""
	}
	return f.Of(r.Suite, r.Arm, r.Case)
}

// OfRow is the first standing of a case over its arms.
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
