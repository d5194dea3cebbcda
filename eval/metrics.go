package eval

// DefaultAlpha is the one-sided error rate of a decision when none is given.
const DefaultAlpha = 0.05

// The metrics that every comparison has, in addition to the named ones of scorers.
const (
	MetricPass    = "pass"
	MetricBlocked = "blocked"
	MetricLatency = "latency"
	MetricTokens  = "tokens"
	// MetricPreference is a judge's preference for the answers of head. Only comparisons by a judge have it.
	MetricPreference = "choose"
)

// IsRatio reports whether a metric is compared as a ratio, head to base.
func IsRatio(metric string) bool { return metric == MetricLatency || metric == MetricTokens }

// MaxRatio is the largest ratio of latency or tokens that a gate may allow.
const MaxRatio = 100

// OnInconclusive is what an inconclusive comparison makes of the gate.
type OnInconclusive string

// The values of OnInconclusive; "" is not set.
const (
	OnFail OnInconclusive = "fail"
	OnWarn OnInconclusive = "warn"
	OnPass OnInconclusive = "pass"
)
