package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/ranking"
)

// Preferences rank the arms of a run by what a judge chose between their answers.
type Preferences struct {
	Run    Compared           `json:"run"`
	Suites []SuitePreferences `json:"preferences"`
	Choice Choice             `json:"choice"` // of all suites together
}

// SuitePreferences rank the arms of a suite.
type SuitePreferences struct {
	Suite string `json:"suite"`
	// Verdict is `invalid` when the choices say nothing about the answers, "" when they do; Invalid says why.
	Verdict eval.Verdict `json:"verdict,omitempty"`
	Invalid string       `json:"invalid,omitempty"`
	// Counts are those of all pairs of arms together, and Level is that of the interval of FirstPlace.
	Counts ChoiceCounts `json:"counts"`
	Level  float64      `json:"countsLevel"`
	// Warnings are about arms with errors, whose cases are missing from their pairs.
	Warnings []string `json:"warnings,omitempty"`
	ranking.Preference
}

// IndependentUnits numbers the independent units of cases, from 0. Each case is given by what it is on all arms: cases of one cluster, or that send
// the same request on some arm, depend on each other.
func IndependentUnits(cases [][]*Case) []int {
	names := make([][]string, len(cases))
	for i, onArms := range cases {
		for _, c := range onArms {
			names[i] = append(names[i], cluster(c.Cluster), request(c.Request))
		}
	}
	return connected(names)
}
