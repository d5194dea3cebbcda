package journal

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Gate is what the rules of the suites of a run came to.
type Gate struct {
	Exit  int        `json:"exit"`
	Rules []GateRule `json:"rules"`
}

// GateRule is one rule applied to one arm, or to a suite as a whole when Arm is empty.
type GateRule struct {
	Suite    string
	RuleName RuleName
	Arm      string
	Found    RuleFinding // nil when there was nothing to apply the rule to
	Limit    float64
	Standing RuleStanding
	Why      string
	// Outlook is how often runs like this one fail a rule about the pass rate by chance; nil for other rules.
	Outlook *compare.RateOutlook
}

// RuleFinding is what a rule was applied to: a RuleValue or a RuleVerdict.
type RuleFinding interface{ isRuleFinding() }

// RuleValue is the value that a rule limits, such as a pass rate.
type RuleValue float64

// RuleShare is a share with the bounds by which its limit is judged.
type RuleShare struct {
	Value     float64
	Interval  [2]float64
	Level     float64 // of the interval
	Undecided bool    // the limit lies in the interval
}

// RuleVerdict is the verdict of a comparison or a ranking.
type RuleVerdict eval.Verdict

func (RuleValue) isRuleFinding()   {}
func (RuleShare) isRuleFinding()   {}
func (RuleVerdict) isRuleFinding() {}

// Verdict is that of a comparison or a ranking, "" for a rule about a value. A share that is undecided is inconclusive.
func (r *GateRule) Verdict() eval.Verdict {
	if share, ok := r.Found.(RuleShare); ok && share.Undecided {
		return eval.Inconclusive
	}
	verdict, _ := r.Found.(RuleVerdict)
	return eval.Verdict(verdict)
}

// writtenGateRule is a GateRule in JSON, which has two booleans for the standing.
type writtenGateRule struct {
	Suite   string       `json:"suite"`
	Name    RuleName     `json:"name"`
	Arm     string       `json:"arm"`
	Value   *float64     `json:"value"`
	Limit   float64      `json:"limit"`
	Holds   bool         `json:"holds"`
	Verdict eval.Verdict `json:"verdict,omitempty"`
	Why     string       `json:"why,omitempty"`
	Warned  bool         `json:"warned,omitempty"`

	Interval *[2]float64          `json:"interval,omitempty"`
	Level    float64              `json:"level,omitempty"`
	Outlook  *compare.RateOutlook `json:"unchanged,omitempty"`
}

// MarshalJSON writes the keys of all versions.
func (r GateRule) MarshalJSON() ([]byte, error) {
	w := writtenGateRule{
		Suite: r.Suite, Name: r.RuleName, Arm: r.Arm, Limit: r.Limit, Why: r.Why,
		Verdict: r.Verdict(), Holds: r.Standing.Holds(), Warned: r.Standing == RuleWarned, Outlook: r.Outlook,
	}
	if share, ok := r.Found.(RuleShare); ok {
		w.Value, w.Interval, w.Level = &share.Value, &share.Interval, share.Level
	}
	if value, ok := r.Found.(RuleValue); ok {
		w.Value = new(float64(value))
	}
	return wirejson.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *GateRule) UnmarshalJSON(data []byte) error {
	var w writtenGateRule
	err := json.Unmarshal(data, &w)
	*r = GateRule{Suite: w.Suite, RuleName: w.Name, Arm: w.Arm, Limit: w.Limit, Why: w.Why, Outlook: w.Outlook}
	switch {
	case w.Interval != nil && w.Value != nil:
		r.Found = RuleShare{*w.Value, *w.Interval, w.Level, w.Verdict == eval.Inconclusive}
	case w.Verdict != "":
		r.Found = RuleVerdict(w.Verdict)
	case w.Value != nil:
		r.Found = RuleValue(*w.Value)
	}
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

// RuleName is the name of a rule of a gate, as reports write it. That of a rule about a metric ends with the metric.
type RuleName string

// The rules that are about no metric by name.
const (
	RulePassRate    RuleName = "passRate"
	RuleLatency     RuleName = "latency p95"
	RuleErrors      RuleName = "errors"
	RuleFailures    RuleName = "failures" // of a gate without a rule about outcomes
	RuleBlocked     RuleName = "blocked"
	RuleIntegrity   RuleName = "integrity" // the share of trials of programs that are not clean
	RuleQuarantined RuleName = "maxQuarantined"
	RuleBaseline    RuleName = "baseline"
	RuleTotal       RuleName = "baseline total" // the loss since an earlier baseline of the same name
	RuleBest        RuleName = "best"
	RuleWithin      RuleName = "best within"
	RuleJudged      RuleName = "judged" // of every suite: something in it passed or failed
)

const (
	ruleMean           = "mean "
	ruleClassification = "classification "
	ruleJudges         = "judges "
	ruleDrift          = "drift "
)

// RuleDrift names the rule about a metric over the nights.
func RuleDrift(metric string) RuleName { return RuleName(ruleDrift + metric) }

// IsDrift reports whether the rule is about a metric over the nights.
func (n RuleName) IsDrift() bool { return strings.HasPrefix(string(n), ruleDrift) }

// RuleMean names the rule about the mean of a metric.
func RuleMean(metric string) RuleName { return RuleName(ruleMean + metric) }

// RuleClassification names the rule about a metric of the classification.
func RuleClassification(metric string) RuleName { return RuleName(ruleClassification + metric) }

// RuleJudges names the rule about a figure of the judges.
func RuleJudges(figure string) RuleName { return RuleName(ruleJudges + figure) }

// IsJudges reports whether the rule is about a figure of the judges.
func (n RuleName) IsJudges() bool { return strings.HasPrefix(string(n), ruleJudges) }

// IsClassification reports whether the rule is about a metric of the classification.
func (n RuleName) IsClassification() bool { return strings.HasPrefix(string(n), ruleClassification) }

// IsLeast reports whether the limit of the rule is the least value that holds, rather than the most.
func (n RuleName) IsLeast() bool {
	return strings.HasPrefix(string(n), ruleMean) || n.IsClassification() || n.IsJudges() ||
		slices.ContainsFunc(eval.GateLimits(), func(l eval.GateLimit) bool { return l.Name == string(n) && l.Bound == "min" })
}

// Decision is what a run came to by the rules of its suites.
type Decision struct {
	Verdict    string              // in a word, as lists of runs say it
	Gate       Gate                // what the rules came to
	Comparison *compare.Comparison // with the baseline of the gate; nil when there is none
	Ranking    []compare.Ranking   // of the arms of suites whose gate or race is about the best arm
	// NotCompared says that a gate has a baseline, and that --no-baseline was given. There is no Comparison then.
	NotCompared bool
	// Standings ranks the arms where no verdict or rule says which is the best. It may take long.
	Standings func() []compare.Ranking
}

// Gate is what the rules came to; nil when no gate was applied.
func (d *Document) Gate() *Gate {
	if d.Decision == nil {
		return nil
	}
	return &d.Decision.Gate
}

// Comparison compares the run with the baseline of its gate; nil when there is none, or no gate was applied.
func (d *Document) Comparison() *compare.Comparison {
	if d.Decision == nil {
		return nil
	}
	return d.Decision.Comparison
}

// NotCompared reports whether the gate has a baseline with which --no-baseline kept the run from being compared.
func (d *Document) NotCompared() bool { return d.Decision != nil && d.Decision.NotCompared }

// Ranking orders the arms of the suites whose gate or race is about the best arm; nil when no gate was applied.
func (d *Document) Ranking() []compare.Ranking {
	if d.Decision == nil {
		return nil
	}
	return d.Decision.Ranking
}

// Standings orders the arms where no verdict or rule says which is the best; nil when no gate was applied.
func (d *Document) Standings() []compare.Ranking {
	if d.Decision == nil || d.Decision.Standings == nil {
		return nil
	}
	return d.Decision.Standings()
}
