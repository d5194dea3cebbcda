package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Preferences ranks the arms of a run by a judge's preferences between their answers.
type Preferences struct {
	Run    Compared           `json:"run"`
	Suites []SuitePreferences `json:"preferences"`
	// By is the judge, and what its preferences took.
	By struct {
		Judge string `json:"name"`
		PreferenceJudge
		PreferenceCalls
	} `json:"judge"`
}

// SuitePreferences ranks the arms of a suite.
type SuitePreferences struct {
	Suite string `json:"suite"`
	// Invalid says why the preferences are no evidence about the answers, "" when they are.
	Invalid string `json:"invalid,omitempty"`
	// AnswerPairs are over all pairs of arms; the interval of the first place has the level of a comparison, 90 %.
	AnswerPairs PairCounts `json:"counts"`
	// Warnings name arms with errors: their pairs lack these cases.
	Warnings []string `json:"warnings,omitempty"`
	PreferenceRanking
}

// unsidedCounts are counts without wins and losses: the sides vary between pairs of arms.
type unsidedCounts struct {
	PairCounts
	Wins   *int `json:"wins,omitempty"`
	Losses *int `json:"losses,omitempty"`
}

type preferenceFields PreferenceRanking

// MarshalJSON writes the verdict next to the reason for it.
func (s SuitePreferences) MarshalJSON() ([]byte, error) {
	w := struct {
		Suite    string         `json:"suite"`
		Verdict  eval.Verdict   `json:"verdict,omitempty"`
		Invalid  string         `json:"invalid,omitempty"`
		Counts   unsidedCounts  `json:"counts"`
		Warnings []string       `json:"warnings,omitempty"`
		Arms     []PreferredArm `json:"arms"`
		Best     []string       `json:"best"` // after Arms
		preferenceFields
	}{
		Suite: s.Suite, Invalid: s.Invalid, Counts: unsidedCounts{PairCounts: s.AnswerPairs}, Warnings: s.Warnings,
		Arms: s.Arms, Best: s.Best(), preferenceFields: preferenceFields(s.PreferenceRanking),
	}
	if s.Invalid != "" {
		w.Verdict = eval.Invalid
	}
	return wirejson.Marshal(w)
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
