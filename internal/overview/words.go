package overview

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// CutAnswers counts the answers that are not whole, and the trials of programs by their integrity; "" when there are none.
func CutAnswers(s *journal.Summary) string {
	var out []string
	if s.Cut > 0 {
		out = append(out, diag.Count(s.Cut, "answer")+" cut at the token limit ("+eval.CutReason+")")
	}
	if s.PartlyBlocked > 0 {
		out = append(out, diag.Count(s.PartlyBlocked, "answer")+" blocked after some text")
	}
	if s.Late > 0 {
		out = append(out, diag.Count(s.Late, "trial")+" scored when the time was up")
	}
	if s.Limited > 0 {
		out = append(out, diag.Count(s.Limited, "trial")+" scored at a limit of steps, tokens or money")
	}
	if words := IntegrityOf(s.Integrity); words != "" {
		out = append(out, "integrity: "+words)
	}
	return strings.Join(out, ", ")
}

// IntegrityOf counts trials of programs by their integrity; "" when there are none.
func IntegrityOf(c journal.IntegrityCounts) string {
	if c == (journal.IntegrityCounts{}) {
		return ""
	}
	return fmt.Sprintf("%d clean, %d open, %d tainted", c.Clean, c.Open, c.Tainted)
}

// maxDamage bounds the listed places of damage, because damage often affects many lines.
const maxDamage = 3

// Damage lists the first damaged places of a run file, and counts the others.
func Damage(d *journal.Document) []string {
	var out []string
	for _, place := range d.Damaged[:min(maxDamage, len(d.Damaged))] {
		out = append(out, "damaged: "+place)
	}
	if more := len(d.Damaged) - maxDamage; more > 0 {
		out = append(out, "and "+diag.Count(more, "more place")+" like these")
	}
	return out
}

// Trials counts the trials of a run, out of those planned: "3 of 4 trials".
func Trials(d *journal.Document) string {
	has := d.Summary.Counts.Total()
	if planned := d.Run.Plan.Trials; planned > has {
		return fmt.Sprintf("%d of %s", has, diag.Count(planned, "trial"))
	}
	return diag.Count(has, "trial")
}

// Progress says how far an incomplete run got, "" for a complete one.
func Progress(d *journal.Document) string {
	has, planned := d.Summary.Counts.Total(), d.Run.Plan.Trials
	switch {
	case d.Running:
		return fmt.Sprintf("the run is still in progress: %d of %s so far", has, diag.Count(planned, "trial"))
	case d.End == nil:
		return fmt.Sprintf("the run was killed: it has %d of %s", has, diag.Count(planned, "trial"))
	case d.End.Reason != eval.EndCompleted:
		return incomplete(d.End)
	}
	return ""
}

// Collect says how to continue a run that waits for its batches; "" for other runs.
func Collect(d *journal.Document) string {
	if d.Waits() == nil {
		return ""
	}
	run := d.Run.ID
	if filepath.IsLocal(d.Dir) && filepath.Base(d.Dir) != run { // it is not below .evalrun/runs, where the id finds it
		run = d.Dir
	}
	return "evalrun resume " + text.ShellWord(run)
}

// incomplete says why a run ended early.
func incomplete(end *eval.End) string {
	what := map[eval.EndReason]string{
		eval.EndInterrupted: "the run was interrupted",
		eval.EndBudget:      "the run stopped: its budget is spent",
		eval.EndMaxFailures: "the run stopped because of failures",
		eval.EndWaiting:     "the run waits for its batches",
		eval.EndStopped:     "the run could not be completed", // parts with other services may have finished
	}[end.Reason]
	if what == "" {
		what = "the run ended: " + string(end.Reason)
	}
	if end.Message != "" {
		what += ": " + end.Message
	}
	return what
}
