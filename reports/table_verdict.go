package reports

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/journal"
)

// verdictOfRun is what people need first: whether the run is good enough, the counts, the rules that do not hold, and what a
// comparison says.
func (t *tableReport) verdictOfRun() {
	t.verdictLine()
	c := t.d.Summary.Counts
	trials := diag.Count(c.Total(), "trial")
	if planned := t.d.Run.Plan.Trials; planned > c.Total() {
		trials = fmt.Sprintf("%d of %s", c.Total(), diag.Count(planned, "trial"))
	}
	t.line("%s: %s, %s, %s, %s", trials,
		t.tally(eval.Pass, c.Pass), t.tally(eval.Fail, c.Fail), t.tally(eval.Err, c.Error), t.tally(eval.Skip, c.Skip))
	if words := overview.CutAnswers(&t.d.Summary); words != "" {
		t.wrapped("", words)
	}
	t.gate()
	switch c := t.d.Gate.Comparison; {
	case c == nil:
	case c.NotCompared:
		t.comparison(c)
	case c.Verdict != "":
		t.line("compared with %s: %s", diag.CleanLine(sideName(&c.Base)), t.verdict(c.Verdict))
	}
	t.out.WriteString("\n")
}

// verdictLine says what the exit code means.
func (t *tableReport) verdictLine() {
	word, why, outcome := verdictOn(t.d)
	if len(word)+2+len(why) > t.o.Width {
		t.line("%s:", t.strong(outcome, word))
		t.wrapped("  ", why)
		return
	}
	t.line("%s: %s", t.strong(outcome, word), why)
}

// Verdict is that on a run in one line.
func Verdict(d *journal.Document) string {
	word, why, _ := verdictOn(d)
	return word + ": " + why
}

// verdictOn says what the exit code of a run means, in a word and in a line, and the outcome whose colour that has.
func verdictOn(d *journal.Document) (word, why string, outcome eval.Outcome) {
	g, c := &d.Gate, d.Summary.Counts
	broken := false
	for _, r := range g.Rules {
		broken = broken || !r.Holds
	}
	word, outcome = "FAILED", eval.Fail
	switch {
	case d.Running:
		return "NO VERDICT YET", "the run still goes on", eval.Skip
	case d.Run.Plan.Shard != nil && g.Exit == 0:
		word, why, outcome = "NO VERDICT", "a shard applies no gate", eval.Skip
	case g.Exit == 0:
		word, why, outcome = "PASSED", "nothing that counts failed", eval.Pass
		if len(g.Rules) > 0 {
			why = "the gate holds"
		}
	case g.Exit == 3:
		word, why, outcome = "CANNOT TELL YET", "there are too few cases for a verdict, and the gate says that this fails", eval.Skip
	case g.Exit == 130 || g.Exit == 143:
		word, why, outcome = "INTERRUPTED", "not every trial of the plan was judged", eval.Err
	case g.Exit == 4 && d.Partial():
		word, why, outcome = "INCOMPLETE", "not every trial of the plan was judged", eval.Err
	case g.Exit == 4 && broken:
		word, why, outcome = "NOT JUDGED", "the gate does not hold", eval.Err
	case g.Exit == 4:
		word, why, outcome = "NOT JUDGED", diag.Count(c.Error, "trial")+" could not be judged", eval.Err
	case broken:
		why = "the gate does not hold"
	default:
		why = diag.Count(c.Fail, "trial") + " failed"
	}
	return word, fmt.Sprintf("%s (exit %d)", why, g.Exit), outcome
}

// strong is paint in bold.
func (t *tableReport) strong(outcome eval.Outcome, s string) string {
	if !t.o.Color {
		return s
	}
	return "\x1b[1m" + t.paint(outcome, s)
}

// tally is a number of outcomes, in colour when there are any.
func (t *tableReport) tally(outcome eval.Outcome, n int) string {
	text := fmt.Sprintf("%d %s", n, outcome)
	if n == 0 {
		return text
	}
	return t.paint(outcome, text)
}

// gate tells the rules that do not hold, and counts the others.
func (t *tableReport) gate() {
	held, n := 0, len(t.d.Gate.Rules)
	for _, r := range t.d.Gate.Rules {
		if r.Holds {
			held++
		}
	}
	if t.d.Partial() && t.d.Gate.Exit != 0 {
		t.wrapped("", fmt.Sprintf("gate: not every trial of the plan was judged, so nothing holds for the whole (exit %d)", t.d.Gate.Exit))
	}
	for _, r := range t.d.Gate.Rules {
		if !r.Holds {
			t.rule(r)
		}
	}
	for _, r := range t.d.Gate.Rules {
		if r.Holds && r.Warned {
			t.line("gate: warning, which counts as holding:")
			t.rule(r)
		}
	}
	switch {
	case n == 0 || t.d.Partial():
	case held == n:
		t.line("gate: %s", t.paint(eval.Pass, allHold(n)))
	case held == 1:
		t.line("gate: the other rule holds")
	case held > 0:
		t.line("gate: the other %s", allHold(held))
	}
}

func allHold(n int) string {
	if n == 1 {
		return "1 rule holds"
	}
	return fmt.Sprintf("%d rules hold", n)
}

// rule tells a rule that does not hold.
func (t *tableReport) rule(r eval.GateRule) { t.wrapped("     ", ruleWords(r)) }

// ruleWords are a rule that was applied, with what was found.
func ruleWords(r eval.GateRule) string {
	bound := "at most"
	if r.Name == "passRate" || strings.HasPrefix(r.Name, "mean ") {
		bound = "at least"
	}
	where := r.Suite
	if r.Arm != "" {
		where += " on " + r.Arm
	}
	if r.Verdict != "" {
		text := fmt.Sprintf("%s: %s against the baseline", where, verdictWords[r.Verdict])
		if r.Why != "" {
			text += ": " + r.Why
		}
		return text
	}
	found := "nothing could be judged"
	if r.Value != nil {
		found = fmt.Sprintf("it is %.4g", *r.Value)
	}
	return fmt.Sprintf("%s: %s %s %.4g; %s", where, r.Name, bound, r.Limit, found)
}
