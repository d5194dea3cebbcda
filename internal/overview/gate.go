package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// RuleComplete is a rule about every run, for formats that have only cases.
const RuleComplete journal.RuleName = "complete"

// NotApplied says why no gate was applied to a run.
const NotApplied = "the gate was not applied"

// Rules returns the rules of the applied gate; none without a gate.
func Rules(d *journal.Document) []journal.GateRule {
	if d.Gate() == nil {
		return nil
	}
	return d.Gate().Rules
}

// HasPassed reports whether a gate was applied and its exit code is 0.
func HasPassed(d *journal.Document) bool { return d.Gate() != nil && d.Gate().Exit == eval.CodeOK }

// GateCases are broken rules that no failed case shows, such as one about latency, and all rules about drift. Formats that only
// have cases report each as one more case. An unfinished run has one too, which is skipped while it waits for its batches.
//
// If no gate was applied, each suite with a gate has such a case. Otherwise readers of cases would see only
// green ones, and take that for a pass.
type GateCases struct {
	rules []journal.GateRule
	owner [][2]string // the suite and arm of each rule; "" where the run has no such suite
	// Unapplied means that no gate was applied. The cases then are errors, not failures.
	Unapplied bool
	waits     bool // for batches
}

// NewGateCases finds the gate cases of a run.
func NewGateCases(d *journal.Document) GateCases {
	g := GateCases{Unapplied: d.Gate() == nil, waits: d.Waits() != nil}
	if d.Partial() {
		why := cmp.Or(Progress(d), "not every trial of the plan was judged")
		if command := Collect(d); command != "" {
			why += "; `" + command + "` collects the answers"
		}
		g.add(&journal.GateRule{RuleName: RuleComplete, Why: why}, &journal.SuiteSummary{})
	}
	for i := range d.Summary.Suites {
		if s := &d.Summary.Suites[i]; g.Unapplied && d.Run.Suite(s.Name).Gate != nil {
			g.add(&journal.GateRule{Suite: s.Name, Why: NotApplied}, s)
		}
	}
	for _, rule := range Rules(d) {
		if of := d.Summary.Suite(rule.Suite); rule.RuleName.IsDrift() || !rule.Standing.Holds() && !shown(&rule, of) {
			g.add(&rule, of)
		}
	}
	return g
}

// add adds a rule to the arm that it is about. A rule about a whole suite belongs to its first arm.
func (g *GateCases) add(rule *journal.GateRule, s *journal.SuiteSummary) {
	owner := [2]string{}
	if len(s.Arms) > 0 {
		owner = [2]string{s.Name, s.Arms[max(0, armAt(s, rule.Arm))].Name}
	}
	g.rules = append(g.rules, *rule)
	g.owner = append(g.owner, owner)
}

// Of returns the rules that belong to an arm, or to the run as a whole when both names are "".
func (g *GateCases) Of(suite, arm string) []journal.GateRule {
	var out []journal.GateRule
	for i, rule := range g.rules {
		if g.owner[i] == [2]string{suite, arm} {
			out = append(out, rule)
		}
	}
	return out
}

// In adds the cases of rules to the counts of cases.
func (g *GateCases) In(c journal.CaseCounts, rules []journal.GateRule) journal.CaseCounts {
	for i := range rules {
		c.Tests++
		switch {
		case g.IsSkipped(&rules[i]):
			c.Skipped++
		case g.IsError(&rules[i]):
			c.Errors++
		case !rules[i].Standing.Holds():
			c.Failures++
		}
	}
	return c
}

// IsSkipped reports whether the case of a rule is skipped: whether the run is complete is not known yet.
func (g *GateCases) IsSkipped(rule *journal.GateRule) bool {
	return g.waits && rule.RuleName == RuleComplete
}

// IsError reports whether the case of a rule is an error: something was not judged.
func (g *GateCases) IsError(rule *journal.GateRule) bool {
	return g.Unapplied || rule.RuleName == journal.RuleJudged || rule.RuleName.IsJudges() || rule.RuleName == RuleComplete ||
		rule.RuleName.IsDrift() && !rule.Standing.Holds() && strings.HasPrefix(rule.Why, cannotTell)
}

// shown reports whether failed or unscored cases of the suite already show why a rule is broken.
func shown(rule *journal.GateRule, s *journal.SuiteSummary) bool {
	var failures, errors int
	for i := range s.Arms {
		if rule.Arm == "" || rule.Arm == s.Arms[i].Name {
			failures += s.Arms[i].Cases.Failures
			errors += s.Arms[i].Cases.Errors
		}
	}
	switch rule.RuleName {
	case journal.RulePassRate:
		return failures+errors > 0
	case journal.RuleErrors, journal.RuleJudged:
		return errors > 0
	case journal.RuleBlocked, journal.RuleFailures:
		return failures > 0
	}
	return false // no case shows means, latency, quarantine or a baseline
}

func armAt(s *journal.SuiteSummary, name string) int {
	return slices.IndexFunc(s.Arms, func(a journal.ArmSummary) bool { return a.Name == name })
}

// GateCase returns the name of the case for a rule.
func GateCase(rule *journal.GateRule) string {
	switch {
	case rule.RuleName == "":
		return "gate"
	case rule.RuleName.IsDrift():
		_, metric, _ := strings.Cut(string(rule.RuleName), " ")
		return fmt.Sprintf("drift: %s %s", metric, rule.Arm)
	}
	return strings.TrimSpace(fmt.Sprintf("gate: %s %s", rule.RuleName, rule.Arm))
}
