package eval

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Outcomes are which cases of an arm passed in a baseline.
type Outcomes struct {
	Suite string `json:"suite"`
	Arm   string `json:"arm"`
	// Cases is base64 of 8 bytes for each case: 6 of CaseKey, how often it passed, and how often it was scored.
	Cases string `json:"cases"`
}

// CaseOutcome is how often a case passed.
type CaseOutcome struct {
	Key            string // of CaseKey
	Passed, Scored int
}

const keySize = 6 // bytes: among 10,000 cases two are taken for one in 1 of 5 million baselines

// CaseKey is the same for the same case with the same variables and scorers.
func CaseKey(id, vars, scorers string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + vars + "\x00" + scorers))
	return string(sum[:keySize])
}

// Pack makes the outcomes those of some cases. Of more than 255 repeats the share that passed is kept.
func (o *Outcomes) Pack(cases []CaseOutcome) {
	var b []byte
	for _, c := range cases {
		if c.Scored > 255 {
			c.Passed, c.Scored = c.Passed*255/c.Scored, 255
		}
		b = append(append(b, c.Key...), byte(c.Passed), byte(c.Scored)) //nolint:gosec // at most 255
	}
	o.Cases = base64.StdEncoding.EncodeToString(b)
}

// Unpack returns the cases; none for text that Pack did not write.
func (o *Outcomes) Unpack() (cases []CaseOutcome) {
	b, err := base64.StdEncoding.DecodeString(o.Cases)
	if err != nil || len(b)%(keySize+2) != 0 {
		return nil
	}
	for ; len(b) > 0; b = b[keySize+2:] {
		cases = append(cases, CaseOutcome{string(b[:keySize]), int(b[keySize]), int(b[keySize+1])})
	}
	return cases
}

// Move is how much the pass rate of an arm changed from the first baseline of a name to the present one, over the cases that each
// step has in common.
type Move struct {
	Suite string  `json:"suite"`
	Arm   string  `json:"arm"`
	Since string  `json:"since"` // the day of the first
	Steps int     `json:"steps"`
	Sum   float64 `json:"sum"`
}

// String is the sum in words.
func (m Move) String() string {
	steps := "steps"
	if m.Steps == 1 {
		steps = "step"
	}
	return fmt.Sprintf("since %s: %+.2f in %d %s", m.Since, m.Sum, m.Steps, steps)
}

// Add adds the step from one baseline to the next. A step without a case in both counts as 0.
func (m *Move) Add(from, to *Outcomes) {
	rates := map[string]float64{}
	for _, c := range from.Unpack() {
		if c.Scored > 0 {
			rates[c.Key] = float64(c.Passed) / float64(c.Scored)
		}
	}
	var moved Sum
	for _, c := range to.Unpack() {
		if before, known := rates[c.Key]; known && c.Scored > 0 {
			moved.Add(float64(c.Passed)/float64(c.Scored) - before)
		}
	}
	mean, _ := moved.Mean()
	m.Sum += mean
	m.Steps++
}

// Past is what a named baseline was before.
type Past struct {
	Moves []Move `json:"moves,omitempty"`
	// First are the outcomes of the baseline with which TotalRule compares, and Since is the day from which it was the baseline.
	First []Outcomes `json:"first,omitempty"`
	Since string     `json:"since,omitempty"`
}

// TotalRule limits the loss since an earlier baseline of the same name.
type TotalRule struct {
	Margin float64 `json:"margin"`
	Since  string  `json:"since"` // a day, or SinceFirst
}

// SinceFirst is the first baseline of a name that is known.
const SinceFirst = "first"
