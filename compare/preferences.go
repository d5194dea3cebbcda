package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/ranking"
)

// Preferences rank the arms of a run by what a judge chose between their answers.
type Preferences struct {
	Run    Compared           `json:"run"`
	Suites []SuitePreferences `json:"preferences"`
	Judge  PreferenceJudge    `json:"judge"`
}

// PreferenceJudge is the judge that chose, and what that cost.
type PreferenceJudge struct {
	Name     string `json:"name"`
	Model    string `json:"model"`
	Criteria string `json:"criteria,omitempty"`
	Emulator bool   `json:"emulator"` // the judge is evalrun's emulator
	Calls    int    `json:"calls"`    // retries included, without choices that were known before
	Tokens   int    `json:"tokens"`   // of those
	// Incomplete says why pairs were not put to the judge, "" when all were.
	Incomplete string `json:"incomplete,omitempty"`
}

// PreferenceCounts count pairs of answers, over all pairs of arms: repeats of cases.
type PreferenceCounts struct {
	Pairs    int `json:"pairs"`
	Ties     int `json:"ties"` // those of the same answers included
	Unjudged int `json:"unjudged"`
	// Same are pairs of one and the same answer, for which no call is made.
	Same int `json:"same"`
	// Contradicted are ties of different answers where the judge chose another answer in each order.
	Contradicted int `json:"contradicted"`
	// FirstPlace is how often the answer that stood first was chosen; its interval has the level of a comparison, 90 %.
	FirstPlace FirstPlace    `json:"firstPlace"`
	Why        []PairProblem `json:"why,omitempty"` // of unjudged pairs, and of how many
}

// Preferences are the counts without the sides, which differ from pair to pair of arms.
func (c *PairCounts) Preferences() PreferenceCounts {
	return PreferenceCounts{c.Pairs, c.Ties, c.Unjudged, c.Same, c.Contradicted, c.FirstPlace, c.Why}
}

// SuitePreferences rank the arms of a suite.
type SuitePreferences struct {
	Suite string `json:"suite"`
	// Verdict is `invalid` when the choices say nothing about the answers, "" when they do; Invalid says why.
	Verdict eval.Verdict     `json:"verdict,omitempty"`
	Invalid string           `json:"invalid,omitempty"`
	Counts  PreferenceCounts `json:"counts"`
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
