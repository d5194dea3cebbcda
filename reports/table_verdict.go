package reports

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// notices are what a reader must know before trusting a number.
func (t *table) notices() {
	for _, line := range overview.Origins(&t.d.Run, func(s string) string { return s }) {
		t.wrapped("", line)
	}
	if id := t.d.Run.RescoredFrom; id != "" {
		t.wrapped("", "rescored: the answers are those of the run "+id)
	}
	if line := overview.Progress(t.d); line != "" && !t.interrupted() {
		t.wrapped("", line)
	}
	if shard := t.d.Run.Plan.Shard; shard != nil {
		t.wrapped("", fmt.Sprintf(
			"shard %d of %d: %d of %s; the gate is applied when all are merged", shard.Index, shard.Of,
			t.d.Run.Plan.Trials, diag.Count(shard.Trials, "trial"),
		))
	}
	for _, line := range overview.Damage(t.d) {
		t.line("%s", line)
	}
}

// findings shows the counts of a run, broken rules, and the comparison.
func (t *table) findings() {
	c := t.d.Summary.Counts
	t.line("%s: %s, %s, %s, %s", overview.Trials(t.d),
		t.tally(eval.Pass, c.Pass), t.tally(eval.Fail, c.Fail), t.tally(eval.Err, c.Error), t.tally(eval.Skip, c.Skip))
	t.failingTags()
	t.cutAnswers()
	t.gate()
	t.held()
	t.compared()
	t.rankings(t.d.Ranking())
	t.out.WriteString("\n")
}

// failingTags names the tags whose cases fail out of proportion.
func (t *table) failingTags() {
	for _, tag := range overview.FailingTags(t.d) {
		t.wrapped("", tag.String())
	}
}

func (t *table) cutAnswers() {
	if words := overview.CutAnswers(&t.d.Summary); words != "" {
		t.wrapped("", words)
	}
}

const notCompared = "not compared with the baseline (--no-baseline)"

// compared shows a comparison in short.
func (t *table) compared() {
	switch c := t.d.Comparison(); {
	case t.d.NotCompared():
		t.line("%s", notCompared)
	case c == nil:
	case c.Verdict != "" || slices.ContainsFunc(c.Arms, func(a compare.ArmComparison) bool { return a.NotCompared != "" }):
		t.line("compared with %s", diag.CleanLine(sideName(&c.Base)))
		t.headline(c)
		for _, line := range briefs(c) {
			t.paragraph(line)
		}
	}
}

// briefs say next to a comparison's verdict how many cases it rests on. Each text occurs once: arms of a suite
// share cases.
func briefs(c *compare.Comparison) []string {
	var out []string
	for i := range c.Arms {
		r := overview.ComparisonWordsOf(&c.Arms[i])
		if len(r.Cases) == 0 {
			continue
		}
		if line := r.Cases[0] + "; " + r.Changes; !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if more := len(out) - maxBriefs; more > 0 {
		out = append(out[:maxBriefs], fmt.Sprintf("and %d more like these", more))
	}
	return out
}

// maxBriefs is the most arms next to the headline; all of them are listed below.
const maxBriefs = 3

func (t *table) strong(tone text.Tone, s string) string {
	if !t.o.Color {
		return s
	}
	return "\x1b[1m" + t.paint(tone, s)
}

// tally is the number of an outcome, coloured unless 0.
func (t *table) tally(outcome eval.Outcome, n int) string {
	body := fmt.Sprintf("%d %s", n, outcome)
	if n == 0 {
		return body
	}
	return t.paint(text.ToneOf(outcome), body)
}

// interrupted reports whether a signal ended the run, which the headline says.
func (t *table) interrupted() bool {
	return t.d.End != nil && t.d.End.Reason == eval.EndInterrupted && t.d.End.Message == ""
}

// gate shows that no gate was applied, or the broken rules and the rules that hold with a warning.
func (t *table) gate() {
	if t.d.Gate() == nil {
		t.line("gate: %s", overview.NotApplied)
		return
	}
	if t.d.End.Waits() { // it is said above
		return
	}
	if t.d.Partial() && t.d.Gate().Exit != eval.CodeOK && !t.interrupted() {
		t.wrapped("", fmt.Sprintf(
			"gate: not every trial of the plan was judged, so nothing holds for the whole (exit %d)", t.d.Gate().Exit,
		))
	}
	t.drift()
	for _, r := range t.d.Gate().Rules {
		if r.RuleName.IsDrift() {
			continue
		}
		switch r.Standing {
		case journal.RuleBroken:
			t.wrapped("", "gate: "+t.ruleWords(&r))
		case journal.RuleWarned:
			t.line("gate: warning, which counts as holding:")
			t.wrapped("     ", t.ruleWords(&r))
		case journal.RuleHolds:
			if t.o.Verbose && r.RuleName == journal.RulePassRate {
				t.wrapped("", "gate: "+t.ruleWords(&r))
			}
		}
	}
	for _, line := range overview.GateNotes(t.d) {
		t.wrapped("", line)
	}
}

// drift says what the nights say, whatever it is.
func (t *table) drift() {
	for i := range t.d.Drift {
		t.nights(&t.d.Drift[i])
	}
}

// ruleWords adds, if verbose, how often a rule fails by chance.
func (t *table) ruleWords(r *journal.GateRule) string {
	if t.o.Verbose && r.Outlook != nil {
		return ruleWords(*r) + "; " + chanceWords(r.Outlook)
	}
	return ruleWords(*r)
}

// held counts the rules that hold.
func (t *table) held() {
	held, of := t.rules()
	switch {
	case of == 0 || t.d.Partial():
	case held == of:
		t.line("gate: %s", t.paint(text.Good, allHold(of)))
	case held == 1:
		t.line("gate: the other rule holds")
	case held > 0:
		t.line("gate: the other %s", allHold(held))
	}
}

// rules counts the rules of the gate, and how many of them hold.
func (t *table) rules() (held, of int) {
	rules := overview.Rules(t.d)
	for _, r := range rules {
		if r.Standing.Holds() {
			held++
		}
	}
	return held, len(rules)
}
