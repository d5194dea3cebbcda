package eval

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// GateConfig are the rules of a suite's gate. A rule that is nil, or empty, decides nothing, except for errors.
type GateConfig struct {
	PassRateMin *float64 `json:"passRateMin,omitempty"`
	// PassRateBound wants the pass rate to be shown; nil compares the rate seen with PassRateMin.
	PassRateBound *BoundRule `json:"passRateBound,omitempty"`
	// ErrorsMax is the largest share of errors among the trials that ran. Nil allows none, and is written as 0.
	ErrorsMax  *float64 `json:"errorsMax"`
	BlockedMax *float64 `json:"blockedMax,omitempty"` // share of the trials that ran
	// FailuresMax is the largest share of failed trials, for a gate without a rule about outcomes. Nil allows all: the
	// suite says so, or an earlier version wrote the run.
	FailuresMax *float64  `json:"failuresMax,omitempty"`
	Means       []MeanMin `json:"means,omitempty"`
	// Classification are the least values of metrics of the suite's classification.
	Classification []MeanMin `json:"classification,omitempty"`
	LatencyP95Ms   *float64  `json:"latencyP95Ms,omitempty"` // of scored trials
	// MaxQuarantined is the largest share of cases that may be in quarantine.
	MaxQuarantined *float64 `json:"maxQuarantined,omitempty"`
	// Integrity is Clean where every trial of a program has to be, else "".
	Integrity Integrity     `json:"integrity,omitempty"`
	Baseline  *BaselineRule `json:"baseline,omitempty"`
	Best      *BestRule     `json:"best,omitempty"`
	Judges    *JudgesRule   `json:"judges,omitempty"`
	Drift     []DriftRule   `json:"drift,omitempty"`
}

// DriftRule wants a metric not to have got worse over the nights, on every arm.
type DriftRule struct {
	Metric string `json:"metric"` // MetricPass, or a named scorer
	// Rate is the share of series of this many unchanged Runs in which there may be an alarm.
	Rate float64 `json:"rate"`
	Runs int     `json:"runs"`
	// Nights selects the runs that are nights, such as label:nightly.
	Nights  string         `json:"nights"`
	OnAlarm OnInconclusive `json:"onAlarm,omitempty"` // OnFail, which "" means, or OnWarn
}

// DefaultDrift is the rule of a suite that states no more than that it wants one.
func DefaultDrift() DriftRule {
	return DriftRule{Metric: MetricPass, Rate: 0.05, Runs: 90, Nights: "label:nightly"}
}

// JudgesOutcomes reports whether a rule decides which outcomes are good enough. Without one, each failed trial fails the gate.
// DriftRule does so only where the run is a night.
func (g *GateConfig) JudgesOutcomes() bool {
	return g.PassRateMin != nil || len(g.Means)+len(g.Classification) > 0 || g.Baseline != nil || g.Best != nil
}

// JudgesRule wants every judge of the suite to agree with people, on each arm: the least lower bounds, nil for none.
type JudgesRule struct {
	Sensitivity *float64 `json:"sensitivity,omitempty"`
	Specificity *float64 `json:"specificity,omitempty"`
	Kappa       *float64 `json:"kappa,omitempty"`
}

// LeastOfJudge is one figure that a JudgesRule wants, by its key.
type LeastOfJudge struct {
	Name string
	Min  *float64
}

// Least lists the figures that the rule states.
func (r *JudgesRule) Least() []LeastOfJudge {
	all := []LeastOfJudge{{"sensitivity", r.Sensitivity}, {"specificity", r.Specificity}, {"kappa", r.Kappa}}
	return slices.DeleteFunc(all, func(l LeastOfJudge) bool { return l.Min == nil })
}

// GateOrigin is the version of a suite with whose gate that of a run is compared.
type GateOrigin struct {
	Name   string   `json:"name"`             // such as origin/main, or a run
	Weaker []string `json:"weaker,omitempty"` // what is weaker in the suite's own gate, in words
	Cases  []string `json:"cases,omitempty"`  // what is weaker in its cases, in words
	Counts bool     `json:"counts,omitempty"` // the stricter rules of both are the gate
}

// BoundRule wants a limit to be shown by a bound, and not only seen.
type BoundRule struct {
	Alpha          float64        `json:"alpha"` // one-sided error rate of each bound
	OnInconclusive OnInconclusive `json:"onInconclusive"`
}

// GateLimit is a rule that limits one share.
type GateLimit struct {
	Name  string // the key of the suite, and the name in reports
	Bound string // the key of the share: min or max; "" for a share without a key, at most
	Doc   string
	Share func(*GateConfig) **float64
}

// GateLimits lists the rules that limit one share. A new one is a field, a line here, and its value in internal/gate.
func GateLimits() []GateLimit {
	return []GateLimit{
		{"passRate", "min", "The least share of cases that pass, on every arm.", func(g *GateConfig) **float64 { return &g.PassRateMin }},
		{
			"errors", "max", "The largest share of trials that could not be judged; 0 when not given.",
			func(g *GateConfig) **float64 { return &g.ErrorsMax },
		},
		{"blocked", "max", "The largest share of answers that were blocked.", func(g *GateConfig) **float64 { return &g.BlockedMax }},
		{"maxQuarantined", "", "The largest share of cases in quarantine.", func(g *GateConfig) **float64 { return &g.MaxQuarantined }},
	}
}

// MostErrors is ErrorsMax, or the default.
func (g *GateConfig) MostErrors() float64 {
	if g.ErrorsMax == nil {
		return 0
	}
	return *g.ErrorsMax
}

// MarshalJSON writes the share of errors in any case, as every version has done.
func (g GateConfig) MarshalJSON() ([]byte, error) {
	type plain GateConfig
	g.ErrorsMax = new(g.MostErrors())
	return wirejson.Marshal(plain(g))
}

// UnmarshalJSON reads the share 0 as nil, which means the same: files do not say whether a suite states it.
func (g *GateConfig) UnmarshalJSON(data []byte) error {
	type plain GateConfig
	err := json.Unmarshal(data, (*plain)(g))
	if g.MostErrors() == 0 {
		g.ErrorsMax = nil
	}
	return err
}

// BestRule wants an arm in the set of the best, the arms that cannot be ruled out as the best of the suite, or shown to be
// hardly worse.
type BestRule struct {
	Arm    string  `json:"arm"`
	Sole   bool    `json:"sole,omitempty"` // it has to be alone in the set
	Metric string  `json:"metric"`
	Alpha  float64 `json:"alpha"` // error rate of the set
	// Within is how much worse than the best the arm may be; 0: it has to be in the set.
	Within float64 `json:"within,omitempty"`
}

// RaceBy returns the metric on which the arms of a suite race, and the error rate of the race. By default
// both come from the gate's rule about the best arm, so that the arms that stay are its set. Without a race
// the metric is "". The receiver is nil for a suite without a gate.
func (g *GateConfig) RaceBy(o *Options) (metric string, alpha float64) {
	metric, alpha = o.Race, o.Rule.Alpha
	if g != nil && g.Best != nil && metric != "" {
		if alpha == 0 {
			alpha = g.Best.Alpha
		}
		if metric == MetricPass {
			metric = g.Best.Metric
		}
	}
	if alpha == 0 {
		alpha = DefaultAlpha
	}
	return metric, alpha
}

// MeanMin is the least mean of a named metric.
type MeanMin struct {
	Metric string  `json:"metric"`
	Min    float64 `json:"min"`
}

// BaselineRule compares a run with a baseline.
type BaselineRule struct {
	Against Base `json:"-"` // nil where the arms to compare are named elsewhere
	// Alpha is the one-sided error rate of a decision.
	Alpha          float64        `json:"alpha"`
	OnInconclusive OnInconclusive `json:"onInconclusive"`
	Metrics        []MetricMargin `json:"metrics"`
	StopEarly      bool           `json:"stopEarly,omitempty"`
	// Estimand says which cases the verdict is about; "" is OfPopulation.
	Estimand Estimand `json:"estimand,omitempty"`
	// MinPaired is the least share of the baseline's cases that a verdict takes; nil is 0.9.
	MinPaired *float64 `json:"minPaired,omitempty"`
	// AllowRemoved are patterns of suites and arms that the baseline may have alone: the old spelling of Accepted.Removed.
	AllowRemoved []string `json:"allowRemoved,omitempty"`
	Accepted     Accepted `json:"accepted,omitzero"`
	// Looks is how often a candidate may be compared with the baseline; each look has an equal part of Alpha. 0: Alpha is
	// for one look, and later ones only count.
	Looks int `json:"looks,omitempty"`
	// Total limits the loss since an earlier baseline of the same name; nil does not.
	Total *TotalRule `json:"total,omitempty"`
	// Past is what the baseline was before, in a run file; nil for a baseline without a name.
	Past *Past `json:"past,omitempty"`
}

// LookAlpha is the one-sided error rate of one look.
func (b *BaselineRule) LookAlpha() float64 {
	return cmp.Or(b.Alpha, DefaultAlpha) / float64(max(1, b.Looks))
}

// Accepted are patterns of names of the baseline's cases that a change takes out of the comparison on purpose.
type Accepted struct {
	Removed     []string `json:"removed,omitempty"` // cases, arms and suites
	Changed     []string `json:"changed,omitempty"`
	Quarantined []string `json:"quarantined,omitempty"`
}

// LeastPaired is MinPaired, or the default.
func (b *BaselineRule) LeastPaired() float64 {
	if b.MinPaired == nil {
		return 0.9
	}
	return *b.MinPaired
}

// RunID is the id of the other run with which a run is compared, "" for none.
func (b *BaselineRule) RunID() string {
	run, _ := b.Against.(BaseRun)
	return run.ID
}

// plainRule is a rule without its methods.
type plainRule BaselineRule

// writtenRule is a rule in run files, where the kind of Against is known by its key.
type writtenRule struct {
	Run    string `json:"run,omitempty"`
	Arm    string `json:"arm,omitempty"`
	Suffix string `json:"suffix,omitempty"`
	Path   string `json:"path,omitempty"`
	RunID  string `json:"runId,omitempty"`
	plainRule
}

// MarshalJSON writes the base of the rule under the keys of its kind.
func (b BaselineRule) MarshalJSON() ([]byte, error) {
	w := writtenRule{plainRule: plainRule(b)}
	switch base := b.Against.(type) {
	case BaseRun:
		w.Run, w.Path, w.RunID = base.Name, base.Path, base.ID
	case BaseArm:
		w.Arm = base.Name
	case BaseVersion:
		w.Suffix = base.Suffix
	}
	return wirejson.Marshal(w)
}

// UnmarshalJSON reads a rule of a run file. Without a base it is about a run without a name.
func (b *BaselineRule) UnmarshalJSON(data []byte) error {
	w := writtenRule{plainRule: plainRule(*b)}
	err := json.Unmarshal(data, &w)
	*b = BaselineRule(w.plainRule)
	switch {
	case w.Suffix != "":
		b.Against = BaseVersion{Suffix: w.Suffix}
	case w.Arm != "":
		b.Against = BaseArm{Name: w.Arm}
	default:
		b.Against = BaseRun{Name: w.Run, Path: w.Path, ID: w.RunID}
	}
	return err
}

// MetricMargin is a metric that is not to get worse, with how much worse still counts as not worse: a difference, or
// of latency and tokens the largest ratio.
type MetricMargin struct {
	Name   string  `json:"name"`
	Margin float64 `json:"margin"`
	// Cap bounds the value of a case, in milliseconds or tokens; 0: five times the baseline's median.
	Cap float64 `json:"cap,omitempty"`
	// Strict makes a ratio with too few cases inconclusive instead of advisory.
	Strict bool `json:"strict,omitempty"`
}

// Verdict is the result of comparing a metric. The zero Verdict is none: the suite has no margin.
type Verdict string

// The verdicts.
const (
	Improved     Verdict = "improved"     // better than the baseline
	NotWorse     Verdict = "not_worse"    // by less than the margin worse, if at all
	Regressed    Verdict = "regressed"    // worse than the baseline
	Inconclusive Verdict = "inconclusive" // too few cases to tell
	Invalid      Verdict = "invalid"      // not comparable
)

// Estimand says what a comparison is about.
type Estimand string

// The estimands.
const (
	OfPopulation Estimand = "population" // cases like these, of which the suite is a sample
	OfSuite      Estimand = "suite"      // the cases of the suite and no others
)

// One-sided error rates of decisions: when none is given, and the least, which no realistic number of cases could undercut.
const (
	DefaultAlpha = 0.05
	MinAlpha     = 1e-6
)

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

// Base is what the arms of a run are compared with: a BaseRun, a BaseArm or a BaseVersion.
type Base interface {
	// Title is the base as the user named it.
	Title() string
	// ArmFor is the arm of the run itself with which an arm is compared, "" for a base in another run.
	ArmFor(arm string) string
	// Includes reports whether an arm of the run itself is there to be compared with.
	Includes(arm string) bool
	sealed()
}

// BaseRun is another run.
type BaseRun struct {
	Name string // a named baseline, a run, or a file that was exported
	// Path is where the run was found when this one began, and ID is its id. Both are "" before that.
	Path string
	ID   string
}

// BaseArm is an arm of the run itself.
type BaseArm struct{ Name string }

// BaseVersion is an earlier version of the suite, whose arms run next to the suite's own.
type BaseVersion struct {
	Suffix string // of the names of its arms: @ and the version as git names it
}

// Title is the name.
func (b BaseRun) Title() string { return b.Name }

// Title is the arm.
func (b BaseArm) Title() string { return b.Name }

// Title is the version as git names it.
func (b BaseVersion) Title() string { return strings.TrimPrefix(b.Suffix, "@") }

// ArmFor is "": the arm is in the other run.
func (BaseRun) ArmFor(string) string { return "" }

// ArmFor is the same arm for all others.
func (b BaseArm) ArmFor(string) string { return b.Name }

// ArmFor is the arm in its earlier version.
func (b BaseVersion) ArmFor(arm string) string { return arm + b.Suffix }

// Includes is false: no arm of this run is in another one.
func (BaseRun) Includes(string) bool { return false }

// Includes reports whether the arm is this one.
func (b BaseArm) Includes(arm string) bool { return arm == b.Name }

// Includes reports whether the arm is one of the earlier version.
func (b BaseVersion) Includes(arm string) bool { return strings.HasSuffix(arm, b.Suffix) }

// Current is the name that an arm of the earlier version has in the suite.
func (b BaseVersion) Current(arm string) string { return strings.TrimSuffix(arm, b.Suffix) }

func (BaseRun) sealed()     {}
func (BaseArm) sealed()     {}
func (BaseVersion) sealed() {}

// BaselineOption is what options say of the baseline: a NamedBaseline or NoBaseline. Nil leaves it to the suites.
type BaselineOption interface{ baseline() }

// NamedBaseline is the name of a baseline, a run, or an exported file.
type NamedBaseline string

// NoBaseline compares nothing, whatever the suites say.
type NoBaseline struct{}

func (NamedBaseline) baseline() {}
func (NoBaseline) baseline()    {}

// BaselineName is the baseline that the options name, "" for none.
func (o *GateOptions) BaselineName() string {
	name, _ := o.Baseline.(NamedBaseline)
	return string(name)
}

// NoBaseline reports whether the options leave out the comparison.
func (o *GateOptions) NoBaseline() bool {
	_, none := o.Baseline.(NoBaseline)
	return none
}

type writtenBaseline struct {
	Name string `json:"baseline,omitempty"`
	None bool   `json:"noBaseline,omitempty"`
}

func (o *GateOptions) writtenBaseline() writtenBaseline {
	return writtenBaseline{o.BaselineName(), o.NoBaseline()}
}

// read is the baseline of a run file. None wins, as in version 0.1, which wrote both.
func (w writtenBaseline) read() BaselineOption {
	switch {
	case w.None:
		return NoBaseline{}
	case w.Name != "":
		return NamedBaseline(w.Name)
	}
	return nil
}

// AcknowledgedAs is what an alarm was.
type AcknowledgedAs string

// What an alarm can be acknowledged as.
const (
	AsLevel   AcknowledgedAs = "level"   // the level is another one: the series starts again at the start
	AsOutage  AcknowledgedAs = "outage"  // the nights from the start to the run say nothing about the level
	AsNothing AcknowledgedAs = "nothing" // chance: no alarm looks back on nights up to the run, all stay in the series
)
