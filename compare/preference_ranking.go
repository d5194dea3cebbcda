package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/ranking"
)

// Preferences ranks the arms of a run by a judge's preferences between their answers.
type Preferences struct {
	Run    Compared           `json:"run"`
	Suites []SuitePreferences `json:"preferences"`
	By     RankingJudge       `json:"judge"`
}

// RankingJudge is the judge of a ranking, and what its preferences took.
type RankingJudge struct {
	Judge string `json:"name"`
	PreferenceJudge
	PreferenceCalls
}

// RankedCounts counts pairs of answers of several arms, one for each repeat of a case and pair of arms. The sides vary
// between pairs of arms, so wins are counted by arm only.
type RankedCounts struct {
	Pairs int `json:"pairs"`
	// PreferenceCounts has the first place with an interval at the level of a comparison, 90 %.
	PreferenceCounts
}

// Ranked are the counts without the sides.
func (c *PairCounts) Ranked() RankedCounts { return RankedCounts{c.Pairs, c.PreferenceCounts} }

// SuitePreferences ranks the arms of a suite.
type SuitePreferences struct {
	Suite string `json:"suite"`
	// Invalid says why the preferences are no evidence about the answers, "" when they are.
	Invalid     string       `json:"invalid,omitempty"`
	AnswerPairs RankedCounts `json:"counts"`
	// Warnings name arms with errors: their pairs lack these cases.
	Warnings []string `json:"warnings,omitempty"`
	ranking.PreferenceRanking
}

type plainSuitePreferences SuitePreferences

// MarshalJSON writes the verdict next to the reason for it.
func (s SuitePreferences) MarshalJSON() ([]byte, error) {
	w := struct {
		Suite   string       `json:"suite"`
		Verdict eval.Verdict `json:"verdict,omitempty"`
		plainSuitePreferences
	}{Suite: s.Suite, plainSuitePreferences: plainSuitePreferences(s)}
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
