package journal

import (
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Gate is what the rules of the suites of a run came to.
type Gate struct {
	Exit  int        `json:"exit"`
	Rules []GateRule `json:"rules"`
}

// GateRule is one rule applied to one arm, or to a suite as a whole when Arm is empty.
// Value is nil when there was nothing to apply it to.
type GateRule struct {
	Suite    string
	Name     string
	Arm      string
	Value    *float64
	Limit    float64
	Standing RuleStanding
	// Verdict of a comparison with a baseline, instead of Value.
	Verdict eval.Verdict
	Why     string
}

// writtenGateRule is a GateRule in JSON, which has two booleans for the standing.
type writtenGateRule struct {
	Suite   string       `json:"suite"`
	Name    string       `json:"name"`
	Arm     string       `json:"arm"`
	Value   *float64     `json:"value"`
	Limit   float64      `json:"limit"`
	Holds   bool         `json:"holds"`
	Verdict eval.Verdict `json:"verdict,omitempty"`
	Why     string       `json:"why,omitempty"`
	Warned  bool         `json:"warned,omitempty"`
}

// MarshalJSON writes the keys of all versions.
func (r GateRule) MarshalJSON() ([]byte, error) {
	return wirejson.Marshal(writtenGateRule{
		r.Suite, r.Name, r.Arm, r.Value, r.Limit, r.Standing.Holds(), r.Verdict, r.Why, r.Standing == RuleWarned,
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *GateRule) UnmarshalJSON(data []byte) error {
	var w writtenGateRule
	err := json.Unmarshal(data, &w)
	*r = GateRule{Suite: w.Suite, Name: w.Name, Arm: w.Arm, Value: w.Value, Limit: w.Limit, Verdict: w.Verdict, Why: w.Why}
	switch {
	case w.Holds && w.Warned:
		r.Standing = RuleWarned
	case w.Holds:
		r.Standing = RuleHolds
	}
	return err
}

// RuleStanding is what became of a rule of a gate.
type RuleStanding int

// The standings. The zero value is the safe one.
const (
	RuleBroken RuleStanding = iota
	RuleWarned              // it counts as holding, only because its suite wants no more than a warning
	RuleHolds
)

// Holds reports whether the rule counts as holding.
func (s RuleStanding) Holds() bool { return s != RuleBroken }
