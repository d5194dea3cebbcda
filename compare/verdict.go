package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Cautions of a metric's verdict.
const (
	worseWithinMargin = "worse_within_margin" // worse, but not by more than the margin
	beyondMargin      = "beyond_margin"       // worse by more than the margin
)

// Rules are the options of each suite of a run.
type Rules func(suite string) Options

// Decide sets the verdicts of every gated metric, of every arm, and of the whole comparison. An arm is not
// worse only if all its gated metrics are. Holm's correction over all metrics of all arms of all suites applies to
// "regressed" and "improved".
func Decide(arms []ArmComparison, rules Rules) eval.Verdict {
	decideMetrics(arms, rules)
	whole := eval.Verdict("")
	for i := range arms {
		a := &arms[i]
		o := rules(a.Suite)
		switch a.Verdict = ""; {
		case a.NotCompared != "" && a.Why == "":
		case len(o.Margins) > 0:
			o.decideArm(a)
		case len(a.Metrics) == 0 && a.Why != "": // nothing to show
			a.Verdict = eval.Invalid
		}
		whole = Worse(whole, a.Verdict)
	}
	return whole
}

// Verdicts is how many metrics of arms get a verdict, with those that turn out not to be comparable.
func Verdicts(arms []ArmComparison, rules Rules) (n int) {
	for i := range arms {
		n += len(rules(arms[i].Suite).Margins)
	}
	return n
}

// decideMetrics applies Holm's correction to p values divided by the error rates of their suites.
//
// Source: Holm, Scandinavian Journal of Statistics 6, 1979, with weights.
func decideMetrics(arms []ArmComparison, rules Rules) {
	type one struct {
		*MetricComparison
		alpha float64
	}
	var gated []one
	least := 1.0
	for i := range arms {
		o := rules(arms[i].Suite)
		for j := range arms[i].Metrics {
			if m := &arms[i].Metrics[j]; m.Gated && arms[i].Why == "" && arms[i].NotCompared == "" {
				gated = append(gated, one{m, o.Alpha})
				least = min(least, o.Alpha)
			}
		}
	}
	n := Verdicts(arms, rules)
	worse, better := slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
	for i, m := range gated {
		worse[i] = least / m.alpha * orOne(m.PWorse)
		better[i] = least / m.alpha * atWorst(m.MetricComparison, orOne(m.PBetter), 1)
	}
	worse, better = stats.Holm(worse), stats.Holm(better)
	for i, m := range gated {
		back := m.alpha / least
		p := tested{atWorst(m.MetricComparison, orOne(m.PNonInferior), 0), back * worse[i], back * better[i], n}
		decide(m.MetricComparison, p, m.alpha)
	}
}

func (o *Options) decideArm(a *ArmComparison) {
	if a.Why != "" {
		a.Verdict = eval.Invalid
	}
	borne := eval.Verdict("")
	for i := range a.Metrics {
		m := &a.Metrics[i]
		if !m.Gated {
			continue
		}
		switch {
		case a.Why != "":
			m.Verdict = eval.Invalid
		case a.EarlyVerdict != nil && a.Estimand != eval.OfSuite: // whose tests hold whenever a run stops
			stopped(m, a.EarlyVerdict)
		case o.Extended && a.Estimand != eval.OfSuite:
			m.Verdict, m.Cautions = eval.Inconclusive, nil
			m.Advice = "the run was extended after a look at it, so only `stopEarly` or `estimand: suite` can decide: run it again with " +
				"all cases"
		}
		g, _ := o.gatedAs(m.Name)
		m.Advisory = m.Verdict == eval.Inconclusive && m.N < m.Needs && !g.Strict
		if m.Advisory {
			borne = m.Verdict
			continue
		}
		a.Verdict = Worse(a.Verdict, m.Verdict)
	}
	if a.Verdict == "" {
		a.Verdict = borne
	}
}

// stopped sets the early verdict. It is final, whatever the tests would say about the used cases.
func stopped(m *MetricComparison, stop *eval.KnownVerdict) {
	switch {
	case stop.Verdict == eval.NotWorse:
		m.Verdict = eval.NotWorse
	case stop.Verdict == eval.Inconclusive:
		m.Verdict, m.Cautions, m.Test = eval.Inconclusive, nil, "stopped before the end: the gate's pass rate was out of reach"
		return
	case stop.Metric == m.Name:
		m.Verdict = eval.Regressed
	default:
		return
	}
	m.Test, m.Cautions = "betting e-process, with its interval, which holds whenever a run stops", nil
}

func orOne(p *float64) float64 {
	if p == nil {
		return 1
	}
	return *p
}

// atWorst combines p with the p value that counts each error and each lost case at its worst.
func atWorst(m *MetricComparison, p float64, which int) float64 {
	if m.PWithErrors == nil {
		return p
	}
	return max(p, m.PWithErrors[which])
}

// tested are the p values of a metric: not inferior, the same with each error at its worst, and worse and better,
// both corrected for the number of tests.
type tested struct {
	notInferior, worse, better float64
	tests                      int
}

// decide is the rule for one metric. Each of its tests has error rate alpha.
func decide(m *MetricComparison, p tested, alpha float64) {
	cautions := m.Cautions
	m.Cautions = nil
	switch {
	case m.N == 0:
		m.Verdict = eval.Invalid
	case p.notInferior <= alpha && p.better <= alpha:
		m.Verdict = eval.Improved
	case p.notInferior <= alpha:
		m.Verdict = eval.NotWorse
		if orOne(m.PWorse) <= alpha {
			m.Cautions = []string{worseWithinMargin}
		}
	case orOne(m.PNonInferior) <= alpha:
		m.Verdict = eval.Inconclusive
		m.Advice = m.unseen
	case p.worse <= alpha:
		m.Verdict = eval.Regressed
		if slices.Contains(cautions, beyondMargin) {
			m.Cautions = []string{beyondMargin}
		}
	default:
		m.Verdict = eval.Inconclusive
		switch {
		case orOne(m.PWorse) <= alpha:
			m.Advice = fmt.Sprintf("worse by itself, but not when adjusted for %d comparisons of this run", p.tests)
		case p.better <= alpha:
			m.adviseBetter(alpha)
		}
	}
}

// adviseBetter says what it takes to call a metric improved that is better, but has too few cases to rule out a loss.
func (m *MetricComparison) adviseBetter(alpha float64) {
	if m.Margin == nil || eval.IsRatio(m.Name) {
		return
	}
	need := WithoutFlip(m.N, *m.Margin, alpha)
	if m.MoreCases = need - m.N; m.MoreCases == 0 {
		return
	}
	m.Advice = fmt.Sprintf(
		"it is better, but %s can miss a loss of %g: it takes %d (%d more), or a margin of %g",
		diag.Count(m.N, "case"), *m.Margin, need, m.MoreCases, LeastMargin(m.N, alpha),
	)
}

// order sorts verdicts from best to worst.
var order = []eval.Verdict{"", eval.Improved, eval.NotWorse, eval.Inconclusive, eval.Regressed, eval.Invalid}

// Worse returns the worse of two verdicts.
func Worse(a, b eval.Verdict) eval.Verdict {
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// power is the probability, for which suites are sized, that an equal candidate is called not worse.
const power = 0.8

// Advise adds, to each metric that Decide left open, what a decision would take.
func Advise(arms []ArmComparison, rules Rules) {
	for i := range arms {
		a := &arms[i]
		o := rules(a.Suite)
		for j := range a.Metrics {
			if m := &a.Metrics[j]; m.Gated {
				advise(m, a, o.Alpha)
			}
		}
	}
}

func advise(m *MetricComparison, a *ArmComparison, alpha float64) {
	switch {
	case m.Verdict != eval.Inconclusive || m.Margin == nil || a.EarlyVerdict != nil || m.Advice != "":
	case eval.IsRatio(m.Name):
		m.Advice = fmt.Sprintf("the interval reaches beyond %g: more cases would shorten it", *m.Margin)
		if m.N < m.Needs {
			m.MoreCases = m.Needs - m.N
			m.Advice = fmt.Sprintf("a ratio of %g at most takes %d cases even if none differs", *m.Margin, m.Needs)
		}
	case a.Estimand == eval.OfSuite:
		m.adviseRounds(a, alpha)
	default:
		adviseCases(m, a, alpha)
	}
}

// adviseCases says how many more cases are needed, always with the condition. When the observed loss uses up the margin, more cases
// may show that it is one.
func adviseCases(m *MetricComparison, a *ArmComparison, alpha float64) {
	loss := -m.Estimate
	if m.Name == eval.MetricBlocked {
		loss = m.Estimate
	}
	if loss >= *m.Margin {
		m.Advice = fmt.Sprintf("the loss seen, %.3f, is not smaller than the margin: look at the cases that got worse", loss)
		if m.sample == nil {
			return
		}
		if need, chance := m.sample.regressing(loss, *m.Margin*cmp.Or(m.perMargin, 1), alpha); need > m.N {
			m.Advice += fmt.Sprintf(
				"; with about %d cases, decided on beforehand, a loss of this size is shown as regressed with a chance of %.0f %%",
				need, 100*chance,
			)
		}
		return
	}
	if m.sample == nil {
		return
	}
	need, chance := m.sample.enough(*m.Margin*cmp.Or(m.perMargin, 1), alpha)
	if m.MoreCases = max(0, need-m.N); m.MoreCases == 0 {
		m.Advice = fmt.Sprintf("the suite is large enough if nothing changed; the candidate looks worse by %.3f", loss)
		return
	}
	more, of := float64(m.MoreCases), ""
	if a.BaseArm != a.HeadArm { // the arms may cost different amounts, so name the one meant
		of = " of " + a.HeadArm
	}
	m.Advice = fmt.Sprintf(
		"with about %d cases, decided on beforehand (%d more: about %.0f calls and %.0f tokens%s), ",
		need, m.MoreCases, more*a.Cases.CallsPerCase, more*a.Cases.TokensPerCase, of,
	)
	if chance > 0 {
		m.Advice += fmt.Sprintf("there is a chance of %.0f %% to show \"not worse\" if nothing changed and as many differ as here", 100*chance)
	} else {
		m.Advice += "\"not worse\" may be shown if nothing changed and as many differ as here; they are too many for a chance to be computed"
	}
	if n := m.Repeats; n > 0 {
		m.Advice += fmt.Sprintf("; with %d repeats of each case it is %.0f %%", n, 100*m.repeatsChance)
	} else if n == noRepeatsEnough {
		m.Advice += "; more repeats cannot resolve this, more cases can"
	}
}
