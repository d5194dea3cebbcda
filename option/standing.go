package option

// RuleStanding is what became of a rule of a gate.
type RuleStanding int

// The standings.
const (
	RuleBroken RuleStanding = iota
	RuleWarned              // it counts as holding, only because its suite wants no more than a warning
	RuleHolds
)

// Holds reports whether the rule counts as holding.
func (s RuleStanding) Holds() bool { return s != RuleBroken }
