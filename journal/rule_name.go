package journal

import "strings"

// RuleName is the name of a rule of a gate, as reports write it. That of a rule about a metric ends with the metric.
type RuleName string

// The rules that are about no metric by name.
const (
	RulePassRate    RuleName = "passRate"
	RuleLatency     RuleName = "latency p95"
	RuleErrors      RuleName = "errors"
	RuleBlocked     RuleName = "blocked"
	RuleQuarantined RuleName = "maxQuarantined"
	RuleBaseline    RuleName = "baseline"
	RuleBest        RuleName = "best"
	RuleJudged      RuleName = "judged" // of every suite: something in it passed or failed
)

const (
	ruleMean           = "mean "
	ruleClassification = "classification "
)

// RuleMean names the rule about the mean of a metric.
func RuleMean(metric string) RuleName { return RuleName(ruleMean + metric) }

// RuleClassification names the rule about a metric of the classification.
func RuleClassification(metric string) RuleName { return RuleName(ruleClassification + metric) }

// IsClassification reports whether the rule is about a metric of the classification.
func (n RuleName) IsClassification() bool { return strings.HasPrefix(string(n), ruleClassification) }

// IsLeast reports whether the limit of the rule is the least value that holds, rather than the most.
func (n RuleName) IsLeast() bool {
	return n == RulePassRate || strings.HasPrefix(string(n), ruleMean) || n.IsClassification()
}
