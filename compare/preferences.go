package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/ranking"
)

// Preferences ranks the arms of a run by a judge's choices between their answers.
type Preferences struct {
	Run    Compared           `json:"run"`
	Suites []SuitePreferences `json:"preferences"`
	Judge  PreferenceJudge    `json:"judge"`
}

// PreferenceJudge is the judge, and the cost of its choices.
type PreferenceJudge struct {
	Name     string `json:"name"`
	Model    string `json:"model"`
	Criteria string `json:"criteria,omitempty"`
	Emulator bool   `json:"emulator"` // the judge is evalrun's emulator
	Attempts int    `json:"calls"`    // including retries; known choices are not requested again
	Tokens   int    `json:"tokens"`   // tokens of these calls
	// Incomplete says why the judge did not see all pairs, "" if it did.
	Incomplete string `json:"incomplete,omitempty"`
}

// PreferenceCounts counts pairs of answers, one for each repeat of a case and pair of arms.
type PreferenceCounts struct {
	Pairs    int `json:"pairs"`
	Ties     int `json:"ties"` // includes pairs of identical answers
	Unjudged int `json:"unjudged"`
	// Same counts pairs of identical answers, for which no call is made.
	Same int `json:"same"`
	// Contradicted counts ties of different answers where the judge's choice changed with their order.
	Contradicted int `json:"contradicted"`
	// FirstPlace is how often the first answer was chosen; its interval has the level of a comparison, 90 %.
	FirstPlace FirstPlace    `json:"firstPlace"`
	Why        []PairProblem `json:"why,omitempty"` // reasons for unjudged pairs, with their numbers
}

// Preferences are the counts without the sides, which vary between pairs of arms.
func (c *PairCounts) Preferences() PreferenceCounts {
	return PreferenceCounts{c.Pairs, c.Ties, c.Unjudged, c.Same, c.Contradicted, c.FirstPlace, c.Why}
}

// SuitePreferences ranks the arms of a suite.
type SuitePreferences struct {
	Suite string `json:"suite"`
	// Verdict is `invalid` when the choices are no evidence about the answers, else ""; Invalid says why.
	Verdict eval.Verdict     `json:"verdict,omitempty"`
	Invalid string           `json:"invalid,omitempty"`
	Counts  PreferenceCounts `json:"counts"`
	// Warnings name arms with errors: their pairs lack these cases.
	Warnings []string `json:"warnings,omitempty"`
	ranking.Preference
}

// IndependentUnits numbers the independent units of cases, from 0. Each case is given on all arms: cases that
// share a cluster, or a request on any arm, depend on each other.
func IndependentUnits(cases [][]*CaseTotals) []int {
	names := make([][]string, len(cases))
	for i, onArms := range cases {
		for _, c := range onArms {
			names[i] = append(names[i], cluster(c.Cluster), request(c.Request))
		}
	}
	return connected(names)
}
