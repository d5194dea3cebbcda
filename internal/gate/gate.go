package gate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Apply applies the rules of the run's suites to its outcomes, compares it with its baseline if there is one, and stores
// the result in the document.
func Apply(d *journal.Document) {
	comparison, notCompared := withBaseline(d)
	var ranked []compare.Ranking
	g := journal.Gate{Rules: []journal.GateRule{}}
	var codes []int
	for i := range d.Summary.Suites {
		if d.Run.Plan.Shard != nil { // merging applies it
			break
		}
		s := &d.Summary.Suites[i]
		config := gateConfig(d, s.Name)
		if config == nil || config.Best == nil {
			ranked = append(ranked, afterRace(d, s.Name)...)
		}
		if config == nil {
			codes = append(codes, withoutGate(s.Gated))
			continue
		}
		rules := &rulings{suite: s, doc: d}
		rules.apply(config)
		if config.Baseline != nil && !notCompared {
			rules.baseline(config.Baseline, comparison)
		}
		if config.Best != nil {
			rules.best(config.Best)
		}
		ranked = append(ranked, rules.ranked...)
		g.Rules = append(g.Rules, rules.rules...)
		codes = append(codes, rules.codes...)
	}
	missing := missingRules(d, comparison, eval.Worst(codes...))
	if g.Rules = append(g.Rules, missing...); len(missing) > 0 || d.Partial() {
		codes = append(codes, eval.CodeIncomplete)
	}
	if d.End != nil && d.End.Signal != "" {
		codes = append(codes, eval.OfSignal(d.End.Signal))
	}
	g.Exit = eval.Worst(codes...)
	d.Decision = &journal.Decision{Gate: g, Comparison: comparison, Ranking: ranked, NotCompared: notCompared}
}

// missingRules are rules that no suite of the run has: about suites that only the baseline has, and about a run which would
// pass although nothing was judged.
func missingRules(d *journal.Document, c *compare.Comparison, code int) []journal.GateRule {
	if lost := lostSuites(d, c); len(lost) > 0 || code != eval.CodeOK || d.Partial() || d.Run.Plan.Shard != nil {
		return lost
	}
	return unjudged(d)
}

// lostSuites are the suites that only the baseline has; no suite of the run has a rule about them.
func lostSuites(d *journal.Document, c *compare.Comparison) (out []journal.GateRule) {
	if c == nil || d.Run.Plan.Shard != nil {
		return nil
	}
	for i := range c.Arms {
		if a := &c.Arms[i]; !hasSuite(d, a.Suite) {
			out = append(out, journal.GateRule{
				Suite: a.Suite, RuleName: journal.RuleBaseline, Arm: a.HeadArm, Found: journal.RuleVerdict(a.Verdict), Why: a.Why,
			})
		}
	}
	return out
}

// unjudged are the suites in which no trial outside of quarantine passed or failed. A suite in quarantine is one only when
// nothing else in the run was judged.
func unjudged(d *journal.Document) (out []journal.GateRule) {
	judged := func(s journal.SuiteSummary) bool { return s.Gated.Pass+s.Gated.Fail > 0 }
	nothing := !slices.ContainsFunc(d.Summary.Suites, judged)
	for _, s := range d.Summary.Suites {
		why := fmt.Sprintf("nothing was judged: %s, %d in error, outside of quarantine", diag.Count(s.Gated.Ran(), "trial"), s.Gated.Error)
		if s.Gated.Ran() == 0 {
			why = "nothing was judged: every trial is in quarantine"
		}
		if !judged(s) && (nothing || s.Gated.Ran() > 0) {
			out = append(out, journal.GateRule{Suite: s.Name, RuleName: journal.RuleJudged, Why: why})
		}
	}
	return out
}

// gateConfig are the rules of a suite of the run, nil when it states none.
func gateConfig(d *journal.Document, suite string) *eval.GateConfig {
	at := slices.IndexFunc(d.Run.Suites, func(rs eval.RunSuite) bool { return rs.Name == suite })
	if at < 0 {
		return nil
	}
	return d.Run.Suites[at].Gate
}

// withoutGate is the rule of a suite that states none.
func withoutGate(c eval.Counts) int {
	switch {
	case c.Fail > 0:
		return eval.CodeFailed
	case c.Error > 0:
		return eval.CodeIncomplete
	}
	return eval.CodeOK
}

// rulings are the rules of a suite, applied.
type rulings struct {
	doc   *journal.Document
	suite *journal.SuiteSummary
	rules []journal.GateRule
	codes []int
	// ranked is the ranking of the suite, where a rule is about it
	ranked []compare.Ranking
}

// slack makes 19 of 20 reach 0.95.
const slack = 1e-12

// rule adds one that was applied. Without a value there was nothing to apply it to: the run is not complete.
func (r *rulings) rule(name journal.RuleName, arm string, value *float64, limit float64, holds bool) {
	rule := journal.GateRule{
		Suite:    r.suite.Name,
		RuleName: name,
		Arm:      arm,
		Limit:    limit,
	}
	if value != nil {
		rule.Found = journal.RuleValue(*value)
	}
	switch {
	case value == nil:
		r.codes = append(r.codes, eval.CodeIncomplete)
	case !holds:
		r.codes = append(r.codes, eval.CodeFailed)
	default:
		rule.Standing = journal.RuleHolds
	}
	r.rules = append(r.rules, rule)
}

// atMost adds a rule with an upper limit of a share of the trials that ran. Without any, it holds.
func (r *rulings) atMost(name journal.RuleName, n int, limit float64, broken int) {
	rule := journal.GateRule{Suite: r.suite.Name, RuleName: name, Limit: limit, Standing: journal.RuleHolds}
	if answers := r.suite.Gated.Ran(); answers > 0 {
		share := float64(n) / float64(answers)
		rule.Found = journal.RuleValue(share)
		if share > limit+slack {
			rule.Standing = journal.RuleBroken
			r.codes = append(r.codes, broken)
		}
	}
	r.rules = append(r.rules, rule)
}

func (r *rulings) apply(g *eval.GateConfig) {
	for i := range r.suite.Arms {
		arm := &r.suite.Arms[i]
		if g.PassRateMin != nil {
			value, holds := optional(arm.PassRate())
			r.rule(journal.RulePassRate, arm.Name, value, *g.PassRateMin, holds(func(v float64) bool { return v >= *g.PassRateMin-slack }))
		}
		for _, m := range g.Means {
			value, holds := optional(arm.Mean(m.Metric))
			r.rule(journal.RuleMean(m.Metric), arm.Name, value, m.Min, holds(func(v float64) bool { return v >= m.Min-slack }))
		}
		for _, m := range g.Classification {
			value, holds := optional(classified(arm, m.Metric))
			r.rule(journal.RuleClassification(m.Metric), arm.Name, value, m.Min, holds(func(v float64) bool { return v >= m.Min-slack }))
		}
		if g.LatencyP95Ms != nil {
			value, holds := optional(r.doc.LatencyQuantile(r.suite.Name, arm.Name, 0.95))
			r.rule(journal.RuleLatency, arm.Name, value, *g.LatencyP95Ms, holds(func(v float64) bool { return v <= *g.LatencyP95Ms }))
		}
	}
	r.atMost(journal.RuleErrors, r.suite.Gated.Error, g.MostErrors(), eval.CodeIncomplete)
	if g.BlockedMax != nil {
		r.atMost(journal.RuleBlocked, r.suite.Blocked, *g.BlockedMax, eval.CodeFailed)
	}
	if g.MaxQuarantined != nil {
		share := float64(r.suite.Quarantined) / float64(max(1, r.suite.OwnCases()))
		r.rule(journal.RuleQuarantined, "", &share, *g.MaxQuarantined, share <= *g.MaxQuarantined+slack)
	}
}

// classified is a metric of the classification of an arm; false when it is undefined.
func classified(arm *journal.ArmSummary, metric string) (float64, bool) {
	if arm.Classification == nil {
		return 0, false
	}
	return arm.Classification.Value(metric)
}

// optional is a value that may not be there, and a test of it.
func optional(v float64, ok bool) (*float64, func(func(float64) bool) bool) {
	if !ok {
		return nil, func(func(float64) bool) bool { return false }
	}
	return &v, func(test func(float64) bool) bool { return test(v) }
}

// baseline adds the verdicts of the comparison, one for each arm.
func (r *rulings) baseline(rule *eval.BaselineRule, c *compare.Comparison) {
	add := func(arm string, v eval.Verdict, why string, onInconclusive eval.OnInconclusive) {
		r.rules = append(r.rules, journal.GateRule{
			Suite: r.suite.Name, RuleName: journal.RuleBaseline, Arm: arm, Limit: rule.Metrics[0].Margin,
			Found: journal.RuleVerdict(v), Why: why, Standing: standingOf(v, onInconclusive),
		})
		r.codes = append(r.codes, verdictExit(v, onInconclusive))
	}
	if c == nil {
		add("", eval.Invalid, "there is nothing to compare with", rule.OnInconclusive)
		return
	}
	compared := false
	for i := range c.Arms {
		if a := &c.Arms[i]; a.Suite == r.suite.Name {
			onInconclusive := rule.OnInconclusive
			if advisory(a) {
				onInconclusive = eval.OnWarn
			}
			add(a.HeadArm, a.Verdict, cmp.Or(a.Why, decisive(a)), onInconclusive)
			compared = true
		}
	}
	if !compared {
		add("", eval.Invalid, cmp.Or(c.Why, "no arm of the suite is in the baseline"), rule.OnInconclusive)
	}
}

// standingOf is what a verdict makes of its rule.
func standingOf(v eval.Verdict, onInconclusive eval.OnInconclusive) journal.RuleStanding {
	switch {
	case !holdsUp(v, onInconclusive):
		return journal.RuleBroken
	case v == eval.Inconclusive && onInconclusive == eval.OnWarn:
		return journal.RuleWarned
	}
	return journal.RuleHolds
}

// advisory reports whether an arm is undecided for nothing but too few cases for a ratio, which the gate accepts.
func advisory(a *compare.ArmComparison) bool {
	return a.Why == "" && !slices.ContainsFunc(a.Metrics, func(m compare.MetricComparison) bool {
		return m.Gated && m.Verdict == eval.Inconclusive && !m.Advisory
	})
}

// decisive says which metric of an arm its verdict comes from, with how much it changed; "" when nothing is wrong with any.
func decisive(a *compare.ArmComparison) string {
	for i := range a.Metrics {
		m := &a.Metrics[i]
		switch {
		case !m.Gated || m.Verdict != a.Verdict || m.Margin == nil || holdsUp(m.Verdict, eval.OnFail):
		case m.N == 0:
			return m.Name + ": " + m.Advice
		case eval.IsRatio(m.Name):
			return fmt.Sprintf("%s x %.3f, at most x %g", m.Name, m.Estimate, *m.Margin)
		default:
			return fmt.Sprintf("%s %+.3f, margin %g", m.Name, m.Estimate, *m.Margin)
		}
	}
	return ""
}

// holdsUp reports whether a verdict is one that a gate lets through.
func holdsUp(v eval.Verdict, onInconclusive eval.OnInconclusive) bool {
	return verdictExit(v, onInconclusive) == eval.CodeOK
}

// verdictExit is the exit code that a verdict means. Where a rule wants one, none is as good as an invalid one.
func verdictExit(v eval.Verdict, onInconclusive eval.OnInconclusive) int {
	switch v {
	case eval.Improved, eval.NotWorse:
		return eval.CodeOK
	case eval.Regressed:
		return eval.CodeFailed
	case eval.Inconclusive:
		if cmp.Or(onInconclusive, eval.OnFail) == eval.OnFail {
			return eval.CodeInconclusive
		}
		return eval.CodeOK
	}
	return eval.CodeIncomplete
}
