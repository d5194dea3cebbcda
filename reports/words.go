package reports

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// ruleWords describes a rule that was applied, and its result.
func ruleWords(r journal.GateRule) string {
	// bestWords are verdicts on an arm that has to be among the best.
	bestWords := map[eval.Verdict]string{
		eval.NotWorse: "among the best", eval.Regressed: "NOT THE BEST", eval.Inconclusive: "CANNOT TELL whether it is the best",
	}

	bound := "at most"
	if r.RuleName.IsLeast() {
		bound = "at least"
	}
	where := r.Suite
	if r.Arm != "" {
		where += " on " + r.Arm
	}
	switch r.RuleName {
	case journal.RuleWithin:
		return fmt.Sprintf("%s: %s: %s", where, withinVerdicts[r.Verdict()], r.Why)
	case journal.RuleTotal:
		return fmt.Sprintf("%s: %s in total: %s", where, verdictWords[r.Verdict()], r.Why)
	case journal.RuleBest:
		return fmt.Sprintf("%s: %s: %s", where, cmp.Or(bestWords[r.Verdict()], "NO RANKING"), r.Why)
	case journal.RuleJudged, journal.RuleDrift(strings.TrimPrefix(string(r.RuleName), string(journal.RuleDrift("")))):
		return where + ": " + r.Why
	case overview.RuleComplete:
		return r.Why
	}
	if share, ok := r.Found.(journal.RuleShare); ok {
		return where + ": " + shareWords(&r, &share)
	}
	if r.Verdict() != "" {
		return fmt.Sprintf("%s: %s against the baseline", where, verdictWords[r.Verdict()])
	}
	if r.RuleName.IsJudges() {
		return fmt.Sprintf("%s: %s at least %.4g, by its lower bound: %s", where, r.RuleName, r.Limit, r.Why)
	}
	found := "nothing could be judged"
	if value, ok := r.Found.(journal.RuleValue); ok {
		found = fmt.Sprintf("it is %.4g", value)
	}
	return fmt.Sprintf("%s: %s %s %.4g; %s", where, r.RuleName, bound, r.Limit, found)
}

// shareWords describes a rule about a share that has to be shown by a bound.
func shareWords(r *journal.GateRule, s *journal.RuleShare) string {
	sure := fmt.Sprintf("%.4g %% sure", 50*(1+s.Level))
	switch {
	case s.Undecided:
		return fmt.Sprintf("CANNOT TELL whether %s is at least %.4g: it is %.4g, between %.3f and %.3f (each bound %s), in %s",
			r.RuleName, r.Limit, s.Value, s.Interval[0], s.Interval[1], sure, r.Why)
	case s.Interval[0] >= r.Limit:
		return fmt.Sprintf("%s at least %.4g; it is %.4g, and %.3f or more (%s)", r.RuleName, r.Limit, s.Value, s.Interval[0], sure)
	}
	return fmt.Sprintf("%s at least %.4g; it is %.4g, and %.3f or less (%s)", r.RuleName, r.Limit, s.Value, s.Interval[1], sure)
}

// chanceWords say how often a rule about the pass rate errs.
func chanceWords(o *compare.RateOutlook) string {
	return fmt.Sprintf(
		"an arm that passes %.4g %% of such cases fails this in %.0f %% of the runs, and one that passes %.4g %% holds it in %.0f %%",
		100*o.Min, 100*o.Fails, 100*o.Lower, 100*o.Holds,
	)
}

func allHold(n int) string {
	if n == 1 {
		return "1 rule holds"
	}
	return fmt.Sprintf("%d rules hold", n)
}

// withinVerdicts are verdicts on an arm that may be a little worse than the best.
var withinVerdicts = map[eval.Verdict]string{
	eval.NotWorse: "close to the best", eval.Regressed: "NOT CLOSE TO THE BEST",
	eval.Inconclusive: "CANNOT TELL whether it is close to the best", eval.Invalid: "NO RANKING",
}

var verdictWords = map[eval.Verdict]string{
	eval.Improved: "improved", eval.NotWorse: "not worse", eval.Regressed: "REGRESSED", eval.Inconclusive: "CANNOT TELL",
	eval.Invalid: "INVALID",
}

// sideName is the user's name for a run, with its id.
func sideName(c *compare.Compared) string {
	switch {
	case c.Name == "":
		return c.Run
	case c.Run == "" || c.Run == c.Name:
		return c.Name
	}
	return c.Name + " (" + c.Run + ")"
}

// fdr is the share of false discoveries among changed cases that are said to be more than chance.
const fdr = 0.1

// flipNote says how much evidence one changed case is.
func flipNote(f *compare.Flip) string {
	switch {
	case f.SingleSample:
		return " (one sample each: no evidence by itself)"
	case f.P == nil:
		return " (few samples: weak evidence)"
	case *f.P > fdr:
		return " (can be chance)"
	}
	return " (more than chance)"
}

// verdictLines describe a rule that was applied: for a rule about a baseline its headline and notes, which cases are compared,
// and the figures of each metric. Other rules have one line, and those about judged values the judges.
func verdictLines(d *journal.Document, r *journal.GateRule) []string {
	if f := driftOf(d, r); f != nil {
		return append([]string{driftTitle(f)}, overview.DriftLines(f, false)...)
	}
	if r.RuleName != journal.RuleBaseline || d.Comparison() == nil {
		return append([]string{ruleWords(*r)}, judgesOf(d, r)...)
	}
	out := []string{cmp.Or(r.Why, ruleWords(*r))}
	for i := range d.Comparison().Arms {
		a := &d.Comparison().Arms[i]
		if a.Suite != r.Suite || a.HeadArm != r.Arm {
			continue
		}
		words := overview.ComparisonWordsOf(a)
		out = append(append(out, d.Comparison().Notes...), a.Notes...)
		if words.Changes != "" {
			out = append(out, words.Changes)
		}
		out = append(out, words.Cases...)
		for k := range a.Metrics {
			if m := &a.Metrics[k]; m.Gated {
				out = append(out, metricFigures(m))
			}
		}
		out = append(out, words.Metrics...)
	}
	return out
}

// judgesOf says who judged the values of a rule about the answers of an arm.
func judgesOf(d *journal.Document, r *journal.GateRule) (out []string) {
	if r.RuleName != journal.RulePassRate && !strings.HasPrefix(string(r.RuleName), string(journal.RuleMean(""))) {
		return nil
	}
	for i := range d.Judges {
		if m := &d.Judges[i]; m.Suite == r.Suite && m.Arm == r.Arm {
			out = append(out, m.Words())
		}
	}
	return out
}

// metricFigures are base, head and difference of a metric on one line.
func metricFigures(m *compare.MetricComparison) string {
	row := metricRow(m) // metric, base, head, difference, interval, n, verdict
	return fmt.Sprintf(
		"%s: base %s, head %s, difference %s, %s interval %s: %s", row[0], row[1], row[2], row[3], overview.Level(m), row[4], row[6],
	)
}

// onArms yields a case on each arm that ran it, with the name of the arm.
func onArms(d *journal.Document, row journal.Row) iter.Seq2[journal.Row, string] {
	return func(yield func(journal.Row, string) bool) {
		for _, arm := range d.Summary.Suite(row.Suite).Arms {
			if cell, ok := row.On(arm.Name); ok && !yield(cell, arm.Name) {
				return
			}
		}
	}
}

// tally describes the outcomes of a case's repeats: "2 of 3 passed, 1 failed".
func tally(c eval.Counts) string {
	return strings.Join(append([]string{fmt.Sprintf("%d of %d passed", c.Pass, c.Total())}, unpassed(c)...), ", ")
}

// unpassed counts each outcome that occurs, except passes.
func unpassed(c eval.Counts) (out []string) {
	for _, part := range []struct {
		n    int
		what string
	}{{c.Fail, "failed"}, {c.Error, "could not be judged"}, {c.Skip, "skipped"}} {
		if part.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return out
}

// account describes one trial with its answer.
func account(b *strings.Builder, r *eval.Result, repeats int) {
	if repeats > 1 {
		fmt.Fprintf(b, "repeat %d\n", r.Repeat)
	}
	if r.Err() != nil {
		fmt.Fprintf(b, "%s: %s\n", r.Err().Kind, r.Err())
	}
	for _, lead := range leads(r) {
		fmt.Fprintf(b, "%s\n", lead)
	}
	for i := range r.Scores {
		accountScore(b, &r.Scores[i])
	}
	earlier := r.Calls
	if r.Response != nil { // the response of the last turn
		earlier = earlier[:max(0, len(earlier)-1)]
	}
	names := turnNames(r)
	for i := range earlier {
		accountTurn(b, names[i], &earlier[i])
	}
	for i, call := range r.ModelCalls() {
		if call.Response != nil {
			accountTurn(b, fmt.Sprintf("call %d of %s", i+1, call.Model), &eval.AnsweredCall{Response: *call.Response, Results: call.Results})
		}
	}
	if r.Response != nil {
		accountAnswer(b, r.Response)
	}
	b.WriteString("\n")
}

// accountTurn describes the answer of a turn of a chat, or of a step with its tool results.
func accountTurn(b *strings.Builder, name string, t *eval.AnsweredCall) {
	fmt.Fprintf(b, "answer in %s:\n%s\n", name, text.Answer(&t.Response))
	for i := range t.Results {
		one := &t.Results[i]
		mark := "result of"
		if one.Failed {
			mark = "FAILED"
		}
		fmt.Fprintf(b, "%s %s\n", mark, shorten(text.Result(one), maxResult))
	}
}

// maxResult bounds the result of a tool call, in code points.
const maxResult = 300

func accountScore(b *strings.Builder, s *eval.Score) {
	mark := "passed"
	_, scored := s.Value()
	switch {
	case !scored:
		mark = "unscored"
	case !s.Passed():
		mark = "FAILED"
	}
	fmt.Fprintf(b, "%-8s %s: %s\n", mark, text.ScoreName(*s), s.Reason)
	if s.Diff != "" {
		fmt.Fprintf(b, "%s\n", s.Diff)
	}
}

func accountAnswer(b *strings.Builder, r *eval.Response) {
	for i, c := range r.Candidates {
		fmt.Fprintf(b, "answer %d (%s):\n%s\n", i, c.FinishReason, text.Candidate(&c))
	}
	if reason := r.PromptBlock(); reason != "" {
		fmt.Fprintf(b, "the prompt was blocked: %s\n", reason)
	}
}

// shorten cuts a text to n code points, with a note.
func shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n]) + "\n... " + diag.Count(len(runes)-n, "more character")
}

// appOf describes the application of an arm's target, "" for a model.
func appOf(run *eval.Run, suite, target string) string {
	if t := run.Target(suite, target); t != nil {
		return t.App
	}
	return ""
}

// driftOf finds what the nights say by a rule; nil for other rules.
func driftOf(d *journal.Document, r *journal.GateRule) *journal.Drift {
	for i := range d.Drift {
		if f := &d.Drift[i]; f.Suite == r.Suite && f.Arm == r.Arm && journal.RuleDrift(f.Metric) == r.RuleName {
			return f
		}
	}
	return nil
}
