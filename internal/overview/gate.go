package overview

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// GateCases are the rules that do not hold although no failed case shows it, such as one of latency. For readers of
// cases alone, each of them is one more failed case.
type GateCases struct {
	rules []eval.GateRule
	arms  []string // of each rule
}

// NewGateCases finds them in a run to which the gate was applied.
func NewGateCases(d *journal.Document) GateCases {
	var g GateCases
	for _, s := range d.Summary.Suites {
		for _, rule := range d.Gate.Rules {
			if rule.Suite == s.Name && !rule.Holds && len(s.Arms) > 0 && !shown(&rule, &s) {
				g.rules = append(g.rules, rule)
				g.arms = append(g.arms, s.Arms[max(0, armAt(&s, rule.Arm))].Name) // a rule of a whole suite is with its first arm
			}
		}
	}
	return g
}

// Of lists the rules that are with an arm.
func (g *GateCases) Of(suite, arm string) []eval.GateRule {
	var out []eval.GateRule
	for i, rule := range g.rules {
		if rule.Suite == suite && g.arms[i] == arm {
			out = append(out, rule)
		}
	}
	return out
}

// in adds them to the counts of cases.
func (g *GateCases) in(c journal.CaseCounts) journal.CaseCounts {
	c.Tests += len(g.rules)
	c.Failures += len(g.rules)
	return c
}

// shown reports whether cases of a suite that failed, or could not be judged, show why a rule does not hold.
func shown(rule *eval.GateRule, s *journal.SuiteSummary) bool {
	var failures, errors int
	for i := range s.Arms {
		if rule.Arm == "" || rule.Arm == s.Arms[i].Name {
			failures += s.Arms[i].Cases.Failures
			errors += s.Arms[i].Cases.Errors
		}
	}
	switch rule.Name {
	case "passRate":
		return failures+errors > 0
	case "errors":
		return errors > 0
	case "blocked":
		return failures > 0
	}
	return false // no case shows means, latency, quarantine or a baseline
}

func armAt(s *journal.SuiteSummary, name string) int {
	return slices.IndexFunc(s.Arms, func(a journal.Arm) bool { return a.Name == name })
}

// GateCase names the case of a rule.
func GateCase(rule *eval.GateRule) string {
	return strings.TrimSpace("gate: " + rule.Name + " " + rule.Arm)
}
