package compare

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// PreferenceTotals are what a judge prefers between the answers of both sides of a comparison, over all arms.
type PreferenceTotals struct {
	Judge string `json:"judge"`
	PreferenceJudge
	PairCounts
	PreferenceCalls
}

// PreferenceJudge is a judge that prefers one of two answers.
type PreferenceJudge struct {
	Model    string `json:"model"`
	Criteria string `json:"criteria,omitempty"`
	Emulator bool   `json:"emulator"` // the judge is evalrun's emulator
}

// PreferenceCalls are the calls that preferences took.
type PreferenceCalls struct {
	Attempts int `json:"calls"`  // including retries; known preferences are not requested again
	Tokens   int `json:"tokens"` // tokens of these calls
	// Incomplete says why the judge did not see all pairs, "" if it did.
	Incomplete string `json:"incomplete,omitempty"`
}

// PairCounts counts pairs of answers, one for each repeat of a case.
type PairCounts struct {
	Pairs    int `json:"pairs"`
	Wins     int `json:"wins"`
	Losses   int `json:"losses"`
	Ties     int `json:"ties"` // includes pairs of identical answers
	Unjudged int `json:"unjudged"`
	// Same counts pairs of identical answers, for which no call is made.
	Same int `json:"same"`
	// Contradicted counts ties of different answers where the judge's preference changed with their order.
	Contradicted int `json:"contradicted"`
	// FirstPlace is how often the judge preferred the first answer, among all rulings for one of the two.
	FirstPlace FirstPlace `json:"firstPlace"`
	// Why lists why pairs are unjudged, with the number of pairs for each reason.
	Why []PairProblem `json:"why,omitempty"`
}

// FirstPlace measures position bias: an unbiased judge prefers the first answer in half of its rulings.
type FirstPlace struct {
	Preferred int `json:"chosen"`
	Of        int `json:"of"`
	// Interval is of the share over cases: repeats are averaged and a cluster counts as one case. It is nil over all
	// arms.
	Interval *[2]float64 `json:"interval,omitempty"`
}

// PairProblem is a reason why pairs were not judged, with their number.
type PairProblem struct {
	Problem string `json:"problem"`
	Pairs   int    `json:"pairs"`
}

// maxProblems bounds the number of different reasons that are listed.
const maxProblems = 20

// AddJudged counts a judged pair by its value for head: 1 when head was preferred, 0 when base was, 0.5 for a tie.
func (c *PairCounts) AddJudged(worth float64) {
	c.Pairs++
	switch worth {
	case 1:
		c.Wins++
	case 0:
		c.Losses++
	default:
		c.Ties++
	}
}

// AddPlaces counts how often the judge preferred the first and the second answer to a case.
func (c *PairCounts) AddPlaces(to *CaseTotals, firsts, seconds int) {
	c.FirstPlace.Preferred += firsts
	c.FirstPlace.Of += firsts + seconds
	to.First.Total += float64(firsts)
	to.First.N += firsts + seconds
}

// AddTurned counts a pair of different answers to a case. contradicted says that the preference changed with
// their order.
func (c *PairCounts) AddTurned(to *CaseTotals, contradicted bool) {
	if contradicted {
		c.Contradicted++
		to.Contradicted.Add(1)
	} else {
		to.Contradicted.Add(0)
	}
}

// AddUnjudged counts a pair that was not judged, and why.
func (c *PairCounts) AddUnjudged(problem string) {
	c.Pairs++
	c.Unjudged++
	c.problem(problem, 1)
}

func (c *PairCounts) problem(problem string, pairs int) {
	for i := range c.Why {
		if c.Why[i].Problem == problem {
			c.Why[i].Pairs += pairs
			return
		}
	}
	if len(c.Why) < maxProblems {
		c.Why = append(c.Why, PairProblem{problem, pairs})
	}
}

// Join adds the counts of o.
func (c *PairCounts) Join(o *PairCounts) {
	c.Pairs += o.Pairs
	c.Wins += o.Wins
	c.Losses += o.Losses
	c.Ties += o.Ties
	c.Unjudged += o.Unjudged
	c.Same += o.Same
	c.Contradicted += o.Contradicted
	c.FirstPlace.Preferred += o.FirstPlace.Preferred
	c.FirstPlace.Of += o.FirstPlace.Of
	for _, p := range o.Why {
		c.problem(p.Problem, p.Pairs)
	}
}

// ArmPreference is a judge's preference between an arm and its baseline arm.
type ArmPreference struct {
	PairCounts
	// Share is head's share of the preferences, ties counting half. Repeats are averaged, and a cluster counts as
	// one case. It is nil when no pair was judged.
	Share    *float64    `json:"preference"`
	Interval *[2]float64 `json:"interval"`
	Level    float64     `json:"level"` // of the intervals
	// Unreliable says why the preferences are no evidence about the answers, "" when they are.
	Unreliable string `json:"unreliable,omitempty"`
}

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
