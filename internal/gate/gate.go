// Package gate applies the rules of a gate to a run, compares two runs arm by arm, ranks arms, and decides early stops and races.
package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// Apply applies the rules of the run's suites to its outcomes, compares it with its baseline if there is one, and stores
// the result in the document.
func Apply(d *journal.Document) {
	if d.End.Waits() { // until its batches are answered
		d.Decision = &journal.Decision{Gate: journal.Gate{Exit: eval.CodeWaiting, Rules: []journal.GateRule{}}}
		d.Decision.Verdict, _ = overview.VerdictOf(d)
		return
	}
	readDrift(d)
	comparison, notCompared := withBaseline(d)
	out := &rulings{doc: d, comparison: comparison, gate: journal.Gate{Rules: []journal.GateRule{}}}
	for i := range d.Summary.Suites {
		if d.Run.Plan.Shard != nil { // merging applies it
			break
		}
		out.suite = &d.Summary.Suites[i]
		out.apply(gateConfig(d, out.suite.Name), !notCompared)
	}
	out.missing()
	if d.End != nil && d.End.Signal != "" {
		out.codes = append(out.codes, eval.SignalCode(d.End.Signal))
	}
	out.gate.Exit = eval.WorstCode(out.codes...)
	d.Decision = &journal.Decision{
		Gate: out.gate, Comparison: comparison, Ranking: out.ranked, NotCompared: notCompared,
		Standings: sync.OnceValue(func() []compare.Ranking { return standings(d) }),
	}
	d.Decision.Verdict, _ = overview.VerdictOf(d)
}

func gateConfig(d *journal.Document, suite string) *eval.GateConfig {
	if s := runSuite(d, suite); s != nil {
		return s.Gate
	}
	return nil
}

func runSuite(d *journal.Document, name string) *eval.RunSuite {
	for i := range d.Run.Suites {
		if s := &d.Run.Suites[i]; s.Name == name {
			return s
		}
	}
	return nil
}

type rulings struct {
	doc        *journal.Document
	comparison *compare.Comparison
	suite      *journal.SuiteSummary // whose rules are being applied
	gate       journal.Gate
	codes      []int
	ranked     []compare.Ranking
	sides      []*compare.Side // of all arms; nil before they are needed
}

// apply applies the rules of a suite, nil when it states none: then each failure and each error counts.
func (r *rulings) apply(g *eval.GateConfig, compares bool) {
	if g == nil || g.Best == nil {
		r.ranked = append(r.ranked, afterRace(r.doc, r.suite.Name)...)
	}
	switch c := r.suite.Gated; {
	case g != nil:
		r.values(g)
		if g.Judges != nil {
			r.judges(g.Judges)
		}
		if g.Baseline != nil && compares {
			r.baseline(g.Baseline)
			r.total(g.Baseline)
		}
		if g.Best != nil {
			r.best(g.Best)
		}
		r.drift(g.Drift)
	case c.Fail > 0:
		r.codes = append(r.codes, eval.CodeFailed)
	case c.Error > 0:
		r.codes = append(r.codes, eval.CodeIncomplete)
	}
}

// add adds a rule with its exit code, of the suite unless it names another one.
func (r *rulings) add(rule journal.GateRule, code int) {
	if rule.Suite == "" {
		rule.Suite = r.suite.Name
	}
	r.gate.Rules, r.codes = append(r.gate.Rules, rule), append(r.codes, code)
}

// values applies the rules about a value: of each arm, or of the suite.
func (r *rulings) values(g *eval.GateConfig) {
	for i := range r.suite.Arms {
		arm := &r.suite.Arms[i]
		if g.PassRateMin != nil {
			r.passRate(arm, g)
		}
		for _, m := range g.Means {
			r.value(journal.GateRule{RuleName: journal.RuleMean(m.Metric), Arm: arm.Name, Limit: m.Min}, known(arm.Mean(m.Metric)))
		}
		for _, m := range g.Classification {
			var value *float64
			if arm.Classification != nil {
				value = known(arm.Classification.Value(m.Metric))
			}
			r.value(journal.GateRule{RuleName: journal.RuleClassification(m.Metric), Arm: arm.Name, Limit: m.Min}, value)
		}
		if g.LatencyP95Ms != nil {
			p95 := known(r.doc.LatencyQuantile(r.suite.Name, arm.Name, 0.95))
			r.value(journal.GateRule{RuleName: journal.RuleLatency, Arm: arm.Name, Limit: *g.LatencyP95Ms}, p95)
		}
	}
	r.share(journal.RuleErrors, r.suite.Gated.Error, g.MostErrors(), eval.CodeIncomplete)
	if g.FailuresMax != nil && !g.JudgesOutcomes() && !r.isNight() {
		r.share(journal.RuleFailures, r.suite.Gated.Fail, *g.FailuresMax, eval.CodeFailed) // `failures: allowed` leaves it out
	}
	if g.BlockedMax != nil {
		r.share(journal.RuleBlocked, r.suite.Blocked, *g.BlockedMax, eval.CodeFailed)
	}
	if g.Integrity != "" {
		r.integrity()
	}
	if g.MaxQuarantined != nil {
		share := float64(r.suite.Quarantined) / float64(max(1, r.suite.OwnCases()))
		r.value(journal.GateRule{RuleName: journal.RuleQuarantined, Limit: *g.MaxQuarantined}, &share)
	}
}

// integrity wants every trial of a program that ran to be clean; those without a mark, such as recorded ones, are not.
func (r *rulings) integrity() {
	ran, clean := 0, 0
	for i := range r.suite.Arms {
		arm := &r.suite.Arms[i]
		name, _, _ := strings.Cut(arm.Name, "/")
		if t := r.doc.Run.Target(r.suite.Name, name); t == nil || t.App == "" || t.App == "echo" || strings.Contains(t.App, "://") {
			continue
		}
		ran += arm.Counts.Ran()
		clean += arm.Integrity.Clean
	}
	rule := journal.GateRule{RuleName: journal.RuleIntegrity, Standing: journal.RuleHolds}
	if ran == 0 || clean == ran {
		r.add(rule, eval.CodeOK)
		return
	}
	rule.Standing, rule.Found = journal.RuleBroken, journal.RuleValue(float64(ran-clean)/float64(ran))
	r.add(rule, eval.CodeFailed)
}

func known(v float64, ok bool) *float64 {
	if !ok {
		return nil
	}
	return &v
}

// slack makes 19 of 20 reach 0.95.
const slack = 1e-12

// value applies a limit to a value. Without a value there was nothing to apply it to: the run is not complete.
func (r *rulings) value(rule journal.GateRule, value *float64) {
	if value == nil {
		r.add(rule, eval.CodeIncomplete)
		return
	}
	rule.Found = journal.RuleValue(*value)
	if over := *value - rule.Limit; rule.RuleName.IsLeast() && over >= -slack || !rule.RuleName.IsLeast() && over <= slack {
		rule.Standing = journal.RuleHolds
		r.add(rule, eval.CodeOK)
		return
	}
	r.add(rule, eval.CodeFailed)
}

// share applies an upper limit to a share of the trials that ran. Without any, it holds.
func (r *rulings) share(name journal.RuleName, n int, limit float64, broken int) {
	rule, code := journal.GateRule{RuleName: name, Limit: limit, Standing: journal.RuleHolds}, eval.CodeOK
	if ran := r.suite.Gated.Ran(); ran > 0 {
		share := float64(n) / float64(ran)
		rule.Found = journal.RuleValue(share)
		if share > limit+slack {
			rule.Standing, code = journal.RuleBroken, broken
		}
	}
	r.add(rule, code)
}

// verdict adds a rule with the verdict that it found.
func (r *rulings) verdict(rule journal.GateRule, v eval.Verdict, on eval.OnInconclusive) {
	var code int
	rule.Found = journal.RuleVerdict(v)
	rule.Standing, code = decided(v, on)
	r.add(rule, code)
}

// decided is what a verdict makes of its rule, and the exit code. No verdict is like an invalid one.
func decided(v eval.Verdict, on eval.OnInconclusive) (journal.RuleStanding, int) {
	switch {
	case v == eval.Improved, v == eval.NotWorse, v == eval.Inconclusive && on == eval.OnPass:
		return journal.RuleHolds, eval.CodeOK
	case v == eval.Inconclusive && on == eval.OnWarn:
		return journal.RuleWarned, eval.CodeOK
	case v == eval.Inconclusive:
		return journal.RuleBroken, eval.CodeInconclusive
	case v == eval.Regressed:
		return journal.RuleBroken, eval.CodeFailed
	}
	return journal.RuleBroken, eval.CodeIncomplete
}

// baseline applies the verdicts of the comparison, one for each arm.
func (r *rulings) baseline(rule *eval.BaselineRule) {
	found := journal.GateRule{RuleName: journal.RuleBaseline, Limit: rule.Metrics[0].Margin}
	c := r.comparison
	if c == nil {
		found.Why = "there is nothing to compare with"
		r.verdict(found, eval.Invalid, rule.OnInconclusive)
		return
	}
	for i := range c.Arms {
		a := &c.Arms[i]
		if a.Suite != r.suite.Name {
			continue
		}
		on := rule.OnInconclusive
		if advisory(a) {
			on = eval.OnWarn
		}
		if found.Arm, found.Why = a.HeadArm, a.Headline; !notCompared(a) {
			r.verdict(found, a.Verdict, on)
		}
	}
	if found.Arm == "" {
		found.Why = cmp.Or(c.Why, "no arm of the suite is in the baseline")
		r.verdict(found, eval.Invalid, rule.OnInconclusive)
	}
}

// notCompared reports whether an arm has no verdict for a reason that leaves the gate to its other rules.
func notCompared(a *compare.ArmComparison) bool { return a.NotCompared != "" && a.Verdict == "" }

// advisory reports whether an arm is undecided for nothing but too few cases for a ratio, which the gate accepts.
func advisory(a *compare.ArmComparison) bool {
	return a.Why == "" && !slices.ContainsFunc(a.Metrics, func(m compare.MetricComparison) bool {
		return m.Gated && m.Verdict == eval.Inconclusive && !m.Advisory
	})
}

// missing adds rules that no suite of the run has: about suites that only the baseline has, and about a run which would
// pass although nothing was judged.
func (r *rulings) missing() {
	if r.doc.Partial() {
		r.codes = append(r.codes, eval.CodeIncomplete)
	}
	if r.doc.Run.Plan.Shard != nil {
		return
	}
	if r.comparison != nil {
		for i := range r.comparison.Arms {
			if a := &r.comparison.Arms[i]; runSuite(r.doc, a.Suite) == nil {
				lost := journal.GateRule{Suite: a.Suite, RuleName: journal.RuleBaseline, Arm: a.HeadArm, Why: a.Headline}
				r.verdict(lost, a.Verdict, eval.OnFail)
			}
		}
	}
	if eval.WorstCode(r.codes...) == eval.CodeOK {
		r.unjudged()
	}
}

// unjudged adds the suites in which no trial outside of quarantine passed or failed. A suite in quarantine is one only when
// nothing else in the run was judged.
func (r *rulings) unjudged() {
	judged := func(s journal.SuiteSummary) bool { return s.Gated.Judged() > 0 }
	nothing := !slices.ContainsFunc(r.doc.Summary.Suites, judged)
	for _, s := range r.doc.Summary.Suites {
		why := fmt.Sprintf("nothing was judged: %s, %d in error, outside of quarantine", diag.Count(s.Gated.Ran(), "trial"), s.Gated.Error)
		if s.Gated.Ran() == 0 {
			why = "nothing was judged: every trial is in quarantine"
		}
		if !judged(s) && (nothing || s.Gated.Ran() > 0) {
			r.add(journal.GateRule{Suite: s.Name, RuleName: journal.RuleJudged, Why: why}, eval.CodeIncomplete)
		}
	}
}

// Exit is the exit code of a comparison by a rule, nil for none.
func Exit(c *compare.Comparison, rule *eval.BaselineRule) int {
	var codes []int
	add := func(v eval.Verdict, on eval.OnInconclusive) {
		_, code := decided(v, on)
		codes = append(codes, code)
	}
	if c.Preferences != nil && c.Preferences.Incomplete != "" {
		codes = append(codes, eval.CodeIncomplete)
	}
	switch {
	case rule != nil:
		for i := range c.Arms {
			if !notCompared(&c.Arms[i]) {
				add(c.Arms[i].Verdict, rule.OnInconclusive)
			}
		}
		if c.Why != "" {
			codes = append(codes, eval.CodeIncomplete)
		}
	case c.Verdict != "": // invalid: without a rule there are estimates, and no verdict
		add(c.Verdict, eval.OnFail)
	}
	return eval.WorstCode(codes...)
}
