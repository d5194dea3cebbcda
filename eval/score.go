package eval

import (
	"encoding/json"
	"strings"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Score is the result of one scorer for one answer.
type Score struct {
	Scorer   string
	Name     string
	Grade    Grade // nil: the answer is not scored, and nothing says why, as in an export
	Weight   float64
	Required bool
	Reason   string
	// Diff shows expected against actual over several lines. Optional.
	Diff string
	// Judged has the rulings of a judge; nil for other scorers.
	Judged *Judged
	// Class is the expected and the actual class in a classification; nil for other scorers.
	Class *Pair
}

// Grade says whether a scorer could score an answer: Graded or Unscored.
type Grade interface {
	written() writtenGrade
}

// Graded is the grade of an answer that could be scored.
type Graded struct {
	Value  float64 // in [0,1]
	Passed bool
}

// Unscored is the grade of an answer that the scorer could not score.
type Unscored struct {
	Why   string
	Cause Cause
}

// writtenGrade has what files say of a grade. One that contradicts itself, such as a pass without a value, is a Grade as it is.
type writtenGrade struct {
	value          float64
	scored, passed bool
	why            string
	cause          Cause // of an Unscored
}

func (g Graded) written() writtenGrade {
	return writtenGrade{value: g.Value, scored: true, passed: g.Passed}
}
func (g Unscored) written() writtenGrade     { return writtenGrade{why: g.Why, cause: g.Cause} }
func (g writtenGrade) written() writtenGrade { return g }

// grade is the grade of a file; nil when the file says nothing.
func (g writtenGrade) grade() Grade {
	switch g {
	case writtenGrade{}:
		return nil
	case writtenGrade{value: g.value, scored: true, passed: g.passed}:
		return Graded{g.value, g.passed}
	case writtenGrade{why: g.why, cause: g.cause}:
		return Unscored{g.why, g.cause}
	}
	return g
}

// withheld is the grade without words that may quote an answer. The cause goes too: what it leads to needs the answer.
func (g writtenGrade) withheld() writtenGrade {
	if g.cause = ""; g.why != "" {
		g.why = withoutContent
	}
	return g
}

func (s *Score) writtenGrade() writtenGrade {
	if s.Grade == nil {
		return writtenGrade{}
	}
	return s.Grade.written()
}

// Value is the value in [0,1]; false without one.
func (s Score) Value() (value float64, ok bool) {
	g := s.writtenGrade()
	return g.value, g.scored
}

// Passed reports whether the answer passes.
func (s Score) Passed() bool { return s.writtenGrade().passed }

// Unscored says why the scorer could not score the answer; "" when it did.
func (s Score) Unscored() string { return s.writtenGrade().why }

// Bare is the score without the texts, rulings and classes that say how it came about.
func (s Score) Bare() Score {
	g := s.writtenGrade()
	g.why, g.cause = "", ""
	return Score{Scorer: s.Scorer, Name: s.Name, Grade: g.grade(), Weight: s.Weight, Required: s.Required}
}

// The labels of a compared text, of one width.
const wantLabel, gotLabel = "expected: ", "actual:   "

// TextDiff is the Diff of a score for two texts: the expected one over the actual one.
func TextDiff(want, got string) string { return wantLabel + want + "\n" + gotLabel + got }

// CutTextDiff is the two texts of TextDiff again; false for another text. Run files keep a diff as one text, in which scorers
// write other forms too, such as the lines of a JSON diff. An expected text with the second label at the beginning of a line
// is cut there.
func CutTextDiff(text string) (want, got string, ok bool) {
	want, got, ok = strings.Cut(text, "\n"+gotLabel)
	want, labelled := strings.CutPrefix(want, wantLabel)
	if !ok || !labelled {
		return "", "", false
	}
	return want, got, true
}

type writtenScore struct {
	Scorer   string   `json:"scorer"`
	Name     string   `json:"name"`
	Value    *float64 `json:"value"` // nil when unscored
	Passed   bool     `json:"passed"`
	Weight   float64  `json:"weight"`
	Required bool     `json:"required"`
	Reason   string   `json:"reason"`
	Unscored string   `json:"unscored,omitempty"`
	Cause    Cause    `json:"cause,omitempty"`
	Diff     string   `json:"diff,omitempty"`
	Judged   *Judged  `json:"judged,omitempty"`
	Class    *Pair    `json:"class,omitempty"`
}

// written is the score in the form of files. Its value is kept in value.
func (s *Score) written(value *float64) writtenScore {
	g := s.writtenGrade()
	w := writtenScore{
		Scorer: s.Scorer, Name: s.Name, Passed: g.passed, Weight: s.Weight, Required: s.Required,
		Reason: s.Reason, Unscored: g.why, Cause: g.cause, Diff: s.Diff, Judged: s.Judged, Class: s.Class,
	}
	if g.scored {
		*value = g.value
		w.Value = value
	}
	return w
}

func (w *writtenScore) score() Score {
	g := writtenGrade{scored: w.Value != nil, passed: w.Passed, why: w.Unscored, cause: w.Cause}
	if g.scored {
		g.value = *w.Value
	}
	return Score{
		Scorer: w.Scorer, Name: w.Name, Grade: g.grade(), Weight: w.Weight, Required: w.Required,
		Reason: w.Reason, Diff: w.Diff, Judged: w.Judged, Class: w.Class,
	}
}

// MarshalJSON writes the score in the form of files.
func (s Score) MarshalJSON() ([]byte, error) { return wirejson.Marshal(s.written(new(float64))) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Score) UnmarshalJSON(data []byte) error {
	var w writtenScore
	err := json.Unmarshal(data, &w)
	*s = w.score()
	return err
}
