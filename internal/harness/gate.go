package harness

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// ApplyGate applies the rules of the run's suites to its outcomes and stores the result in the
// document.
func ApplyGate(d *journal.Document) {
	g := eval.Gate{Rules: []eval.GateRule{}}
	var codes []int
	for i := range d.Summary.Suites {
		if d.Run.Plan.Shard != nil { // merging applies it
			break
		}
		s := &d.Summary.Suites[i]
		at := slices.IndexFunc(d.Run.Suites, func(rs eval.RunSuite) bool { return rs.Name == s.Name })
		if at < 0 || d.Run.Suites[at].Gate == nil {
			codes = append(codes, withoutGate(s.Counts))
			continue
		}
		rules, code := gateOf(d.Run.Suites[at].Gate, s)
		g.Rules = append(g.Rules, rules...)
		codes = append(codes, code)
	}
	if d.Partial() {
		codes = append(codes, ExitIncomplete)
	}
	if d.End != nil && d.End.Signal != "" {
		codes = append(codes, ExitOfSignal(d.End.Signal))
	}
	g.Exit = Worst(codes...)
	d.Gate = g
}

// withoutGate is the rule of a suite that states none.
func withoutGate(c eval.Counts) int {
	switch {
	case c.Fail > 0:
		return ExitFailed
	case c.Error > 0:
		return ExitIncomplete
	}
	return ExitOK
}

func gateOf(g *eval.GateConfig, s *journal.SuiteSummary) (rules []eval.GateRule, code int) {
	var codes []int
	if g.PassRateMin != nil {
		for i := range s.Arms {
			rule := eval.GateRule{Suite: s.Name, Name: "passRate", Arm: s.Arms[i].Name, Limit: *g.PassRateMin}
			if rate, ok := s.Arms[i].PassRate(); ok {
				rule.Value = &rate
				rule.Holds = rate >= *g.PassRateMin-1e-12 // 19 of 20 is 0.95
				if !rule.Holds {
					codes = append(codes, ExitFailed)
				}
			} else {
				codes = append(codes, ExitIncomplete)
			}
			rules = append(rules, rule)
		}
	}
	rule := eval.GateRule{Suite: s.Name, Name: "errors", Limit: g.ErrorsMax, Holds: true}
	if asked := s.Counts.Asked(); asked > 0 {
		share := float64(s.Counts.Error) / float64(asked)
		rule.Value = &share
		if rule.Holds = share <= g.ErrorsMax+1e-12; !rule.Holds {
			codes = append(codes, ExitIncomplete)
		}
	}
	return append(rules, rule), Worst(codes...)
}

// severity orders the exit codes: where several hold, the first of these counts.
var severity = []int{ExitInterrupted, ExitTerminated, ExitFailed, ExitIncomplete, ExitInconclusive, ExitOK}

// Worst is the exit code that counts where several hold.
func Worst(codes ...int) int {
	for _, code := range severity {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return ExitOK
}
