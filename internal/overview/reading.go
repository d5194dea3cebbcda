package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
)

// Bounds of the names of cases on a line; the rest is counted. More names are listed of cases that passed
// before, because readers look for those.
const (
	maxNames  = 5
	maxPassed = 20
)

// ComparisonWords describes the comparison of an arm for people. Every report shows it next to the verdict.
type ComparisonWords struct {
	// Changes counts the cases with another outcome, and the cases that can no longer be compared; "" if no
	// cases were paired.
	Changes string   `json:"changes,omitempty"`
	Cases   []string `json:"cases"`   // which cases are compared, and which are not
	Metrics []string `json:"metrics"` // margins, and what a reader must know of a metric
	Tests   []string `json:"tests"`   // the tests of each metric with a margin
}

// ComparisonWordsOf describes the comparison of an arm.
func ComparisonWordsOf(a *compare.ArmComparison) ComparisonWords {
	r := ComparisonWords{Cases: []string{}, Metrics: []string{}, Tests: []string{}}
	if p := &a.Cases; p.Of+p.Paired+len(p.Added) > 0 {
		r.Changes = changes(a)
		r.Cases = casesOf(a)
	}
	for i := range a.Metrics {
		if words := metricWords(&a.Metrics[i]); words != "" {
			r.Metrics = append(r.Metrics, words)
		}
		if words := testWords(&a.Metrics[i]); words != "" {
			r.Tests = append(r.Tests, words)
		}
	}
	if words := intervals(a.Metrics); words != "" {
		r.Tests = append(r.Tests, words)
	}
	return r
}

// changes counts the cases with another outcome, and those lost from the comparison.
func changes(a *compare.ArmComparison) string {
	failing := 0
	for i := range a.Flips {
		if a.Flips[i].Worse() {
			failing++
		}
	}
	p := &a.Cases
	out := fmt.Sprintf("%d newly failing, %d newly passing, %s", failing, len(a.Flips)-failing, lost(p, p.Removed, "removed"))
	if len(p.Changed) > 0 {
		out += ", " + lost(p, p.Changed, "changed")
	}
	if len(p.Quarantined) > 0 {
		out += ", " + lost(p, p.Quarantined, "in quarantine")
	}
	return out
}

// lost counts cases, and how many of them passed before.
func lost(p *compare.Pairing, names []string, what string) string {
	out := fmt.Sprintf("%d %s", len(names), what)
	if passed, _ := passedBefore(p, names); len(passed) > 0 {
		out += fmt.Sprintf(" (%d passed before)", len(passed))
	}
	return out
}

// passedBefore separates the cases that passed in the baseline from the others.
func passedBefore(p *compare.Pairing, names []string) (passed, others []string) {
	before := map[string]bool{}
	for _, name := range p.PassedBefore {
		before[name] = true
	}
	for _, name := range names {
		if before[name] {
			passed = append(passed, name)
		} else {
			others = append(others, name)
		}
	}
	return passed, others
}

func casesOf(a *compare.ArmComparison) []string {
	p := &a.Cases
	out := []string{compared(a)}
	if words := stopWords(a, p.Unused); words != "" {
		out = append(out, words)
	}
	for _, left := range []struct {
		names []string
		what  string
	}{
		{p.Removed, "removed"},
		{p.Changed, "changed (other variables or scorers)"},
		{p.Quarantined, "in quarantine"},
		{p.NotRun, "not run by the baseline"},
		{p.Added, "added"},
		{p.Unscored, "without a scored answer on both sides"},
	} {
		if len(left.names) > 0 {
			out = append(out, named(p, left.names, left.what))
		}
	}
	if p.Unselected > 0 {
		out = append(out, diag.Count(p.Unselected, "case")+" of the baseline not selected")
	}
	if p.Questions > 0 {
		out = append(out, fmt.Sprintf(
			"warning: %s ask %s; white space, letter case or a number at the end of the prompt is all that differs, but each counts",
			diag.Count(p.Paired-len(p.Unscored), "case"), diag.Count(p.Questions, "question"),
		))
	}
	return append(out, duplicates(p)...)
}

// duplicates warns about cases that send the same request.
func duplicates(p *compare.Pairing) (out []string) {
	for i, same := range p.Duplicates {
		if i == maxNames {
			return append(out, "warning: "+diag.Count(len(p.Duplicates)-i, "more group")+" of cases that ask the same")
		}
		names := text.SomeNames(same, maxNames)
		out = append(out, fmt.Sprintf("warning: %s ask the same: counted once (%s)", diag.Count(len(same), "case"), names))
	}
	return out
}

// compared says how many cases are compared, and which rule allows so few.
func compared(a *compare.ArmComparison) string {
	p := &a.Cases
	scored := p.Paired - len(p.Unscored)
	text := cmp.Or(p.Coverage(), fmt.Sprintf("%d of %s of the baseline compared", p.Compared, diag.Count(p.Of, "case")))
	gated := slices.ContainsFunc(a.Metrics, func(m compare.MetricComparison) bool { return m.Gated })
	if gated && p.MinPaired != new(eval.BaselineRule).LeastPaired() {
		text += fmt.Sprintf(" (--min-paired %g)", p.MinPaired)
	}
	if scored != p.Compared {
		text += fmt.Sprintf(", %d scored on both sides", scored)
	}
	if p.Units != scored && p.Units > 0 {
		text += ", " + diag.Count(p.Units, "independent unit")
	}
	return text
}

// stopWords says why not all units of a schedule are compared, "" if all are.
func stopWords(a *compare.ArmComparison, unused int) string {
	stop := a.EarlyVerdict
	switch {
	case stop == nil:
		return ""
	case a.Estimand == eval.OfSuite:
		return fmt.Sprintf("the verdict was known after %d of %s; the others did not run, or are not used", stop.Units,
			diag.Count(stop.Of, "round"))
	}
	what := "the verdict was known"
	if stop.Verdict == eval.Inconclusive {
		what = "the pass rate could not reach the gate's any more"
	}
	return fmt.Sprintf(
		"%s after %d of %d units, in the order of the schedule; %s did not run, or are not used", what, stop.Units, stop.Of,
		diag.Count(unused, "case"),
	)
}

// named lists cases that are not compared. Cases that passed before come first.
func named(p *compare.Pairing, names []string, what string) string {
	body := diag.Count(len(names), "case") + " " + what
	passed, others := passedBefore(p, names)
	if len(passed) == 0 {
		return body + ": " + text.SomeNames(others, maxNames)
	}
	body += "; passed before: " + text.SomeNames(passed, maxPassed)
	if len(others) > 0 {
		body += "; others: " + text.SomeNames(others, maxNames)
	}
	return body
}

var flagWords = map[string]string{
	"worse_within_margin": "worse, but within the margin",
	"beyond_margin":       "worse by more than the margin",
}

// metricWords says what a reader must know of a metric: its margin, how many cases got worse, and what bounds its values; ""
// when there is nothing.
func metricWords(m *compare.MetricComparison) string {
	var parts []string
	if words := Margin(m); m.Gated && words != "" {
		parts = append(parts, words)
	}
	switch {
	case m.Pairs > 0:
		parts = append(parts, fmt.Sprintf("%s of repeats: %d better, %d worse", diag.Count(m.Pairs, "pair"), m.PairsBetter, m.PairsWorse))
	case m.Gated && m.N > 0 && !eval.IsRatio(m.Name):
		parts = append(parts, fmt.Sprintf("%d got worse, %d better", m.Regressed, m.Gained))
	}
	if m.Cap != nil {
		parts = append(parts, "each case at most "+amount(m.Name, *m.Cap))
	}
	if m.Anytime {
		parts = append(parts, fmt.Sprintf("anytime-valid interval (%s), the estimate is biased away from zero", Level(m)))
	}
	for _, flag := range m.Cautions {
		parts = append(parts, cmp.Or(flagWords[flag], strings.ReplaceAll(flag, "_", " ")))
	}
	if len(parts) == 0 {
		return ""
	}
	return m.Name + ": " + strings.Join(parts, ", ") + advisory(m)
}

// advisory explains why a ratio is shown but does not decide.
func advisory(m *compare.MetricComparison) string {
	if !m.Advisory || m.Margin == nil {
		return ""
	}
	return fmt.Sprintf("; too few cases for a ratio of %g: takes %d; the gate bears it", *m.Margin, m.Needs)
}

// testWords names the tests of a metric with a margin, and their p values; "" when there are none.
func testWords(m *compare.MetricComparison) string {
	var parts []string
	if m.Test != "" {
		parts = append(parts, m.Test)
	}
	if m.PNonInferior != nil && m.Margin != nil {
		parts = append(parts, fmt.Sprintf("p %.3g if it were %s", *m.PNonInferior, atMargin(m)))
	}
	if m.PNonInferior != nil && m.PWithErrors != nil {
		parts = append(parts, fmt.Sprintf("p %.3g with each of %s at its worst", m.PWithErrors[0], unseen(m)))
	}
	if m.PWorse != nil {
		parts = append(parts, fmt.Sprintf("p %.3g if it were no worse", *m.PWorse))
	}
	if !m.Gated || len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: n %d, %s", m.Name, m.N, strings.Join(parts, ", "))
}

// atMargin is the loss that the test of "not worse" supposes.
func atMargin(m *compare.MetricComparison) string {
	if eval.IsRatio(m.Name) {
		return fmt.Sprintf("x %g", *m.Margin)
	}
	return fmt.Sprintf("worse by %g", *m.Margin)
}

func unseen(m *compare.MetricComparison) string {
	switch {
	case m.Lost == 0:
		return diag.Count(m.HeadErrors, "head error")
	case m.HeadErrors == 0:
		return diag.Count(m.Lost, "lost case")
	}
	return diag.Count(m.Lost, "lost case") + " and " + diag.Count(m.HeadErrors, "head error")
}

// Margin says how much worse still counts as not worse, "" if there is no margin.
func Margin(m *compare.MetricComparison) string {
	switch {
	case m.Margin == nil:
		return ""
	case eval.IsRatio(m.Name):
		return fmt.Sprintf("at most x %g", *m.Margin)
	}
	return fmt.Sprintf("margin %g", *m.Margin)
}

func amount(metric string, x float64) string {
	switch metric {
	case eval.MetricLatency:
		return text.Duration(x)
	case eval.MetricTokens:
		return fmt.Sprintf("%.4g tokens", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// Level returns the level of a metric's interval in percent.
func Level(m *compare.MetricComparison) string { return fmt.Sprintf("%.3g %%", 100*m.Level) }
