package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// RaceResult is the result of a race of arms.
type RaceResult struct {
	Suites []raceSuite `json:"suites"`
	// Trials counts the trials of the plan, and Skipped the trials that did not run because their arm had
	// left. Saved is the share of skipped trials.
	Trials  int     `json:"trials"`
	Skipped int     `json:"skipped"`
	Saved   float64 `json:"saved"`
}

type raceSuite struct {
	Suite  string    `json:"suite"`
	Metric string    `json:"metric"`
	Alpha  float64   `json:"alpha"` // bound on the probability that a best arm leaves
	In     []string  `json:"in"`    // arms that stay, in the order of the plan; the best is among them
	Left   []raceArm `json:"left"`  // in the order in which they left
}

type raceArm struct {
	Arm    string  `json:"arm"`
	Units  int     `json:"units"` // independent units used: cases, or clusters of them
	Of     int     `json:"of"`
	Behind string  `json:"behind"` // the arm with the strongest evidence of being better
	LogE   float64 `json:"logE"`
}

// RaceOf returns the race of a run, nil if its arms did not race.
func RaceOf(d *journal.Document) *RaceResult {
	if d.Run.Options().Race == "" {
		return nil
	}
	r := &RaceResult{Suites: []raceSuite{}, Trials: d.Run.Plan.Trials, Skipped: d.Summary.SkippedEarly}
	r.Saved = float64(r.Skipped) / float64(max(1, r.Trials))
	for i := range d.Summary.Suites {
		if s := &d.Summary.Suites[i]; len(s.Arms) > 1 {
			r.Suites = append(r.Suites, raceIn(d, s))
		}
	}
	return r
}

func raceIn(d *journal.Document, s *journal.SuiteSummary) raceSuite {
	out := raceSuite{Suite: s.Name, In: []string{}, Left: []raceArm{}}
	for i := range d.Run.Suites {
		if one := &d.Run.Suites[i]; one.Name == s.Name {
			out.Metric, out.Alpha = one.Gate.RaceBy(d.Run.Options())
		}
	}
	for _, stop := range d.Stops {
		if left, ok := stop.(*eval.RaceExit); ok && left.Suite == s.Name {
			out.Left = append(out.Left, raceArm{left.Arm, left.Units, left.Of, left.Behind, left.LogE})
		}
	}
	slices.SortStableFunc(out.Left, func(a, b raceArm) int { return cmp.Or(cmp.Compare(a.Units, b.Units), cmp.Compare(a.Arm, b.Arm)) })
	for i := range s.Arms {
		if name := s.Arms[i].Name; !slices.ContainsFunc(out.Left, func(a raceArm) bool { return a.Arm == name }) {
			out.In = append(out.In, name)
		}
	}
	return out
}

// Rates warns that a race biases the figures of single arms; "" if it skipped no trial.
func (r *RaceResult) Rates() string {
	if r.Skipped == 0 {
		return ""
	}
	return "pass rates and their intervals do not know of the race: those of arms that left are too low on average"
}

// Words sums up the race: how many arms it ruled out, and what that saved.
func (r *RaceResult) Words() string {
	left, arms := 0, 0
	var metrics []string
	for i := range r.Suites {
		s := &r.Suites[i]
		if !slices.Contains(metrics, s.Metric) {
			metrics = append(metrics, s.Metric)
		}
		left += len(s.Left)
		arms += len(s.Left) + len(s.In)
	}
	return fmt.Sprintf(
		"race on %s: %d of %s ruled out, saved %.0f %% of the calls (%d of %d)",
		strings.Join(metrics, " and "), left, diag.Count(arms, "arm"), 100*r.Saved, r.Skipped, r.Trials,
	)
}

// Stayed names the arms that stay. several means that the run has other suites.
func (s *raceSuite) Stayed(several bool) string {
	where := ""
	if several {
		where = " of " + s.Suite
	}
	if len(s.In) == 1 {
		return fmt.Sprintf("the best arm%s: %s (error rate %g)", where, s.In[0], s.Alpha)
	}
	return fmt.Sprintf("the best arm%s is one of %d (error rate %g): %s", where, len(s.In), s.Alpha, strings.Join(s.In, ", "))
}
