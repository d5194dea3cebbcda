package overview

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// CutAnswers counts the answers that are not whole, "" when there are none.
func CutAnswers(s *journal.Summary) string {
	var out []string
	if s.Cut > 0 {
		out = append(out, diag.Count(s.Cut, "answer")+" cut at the token limit ("+eval.CutReason+")")
	}
	if s.PartlyBlocked > 0 {
		out = append(out, diag.Count(s.PartlyBlocked, "answer")+" blocked after some text")
	}
	return strings.Join(out, ", ")
}

// maxDamage is how many damaged places are listed; where one line is broken, often all are.
const maxDamage = 3

// Damage lists the first places where a run file is damaged, and counts the others.
func Damage(d *journal.Document) []string {
	var out []string
	for _, place := range d.Damaged[:min(maxDamage, len(d.Damaged))] {
		out = append(out, "damaged: "+place)
	}
	if more := len(d.Damaged) - maxDamage; more > 0 {
		out = append(out, fmt.Sprintf("and %d more places like these", more))
	}
	return out
}

// Progress says how far an incomplete run is; "" for a complete one.
func Progress(d *journal.Document) string {
	has, planned := d.Summary.Counts.Total(), d.Run.Plan.Trials
	switch {
	case d.Running:
		return fmt.Sprintf("the run is still in progress: %d of %d trials so far", has, planned)
	case d.End == nil:
		return fmt.Sprintf("the run was killed: it has %d of %d trials", has, planned)
	case d.End.Reason != eval.EndCompleted:
		return Incomplete(d.End)
	}
	return ""
}

// Incomplete says why a run ended early.
func Incomplete(end *eval.End) string {
	what := map[eval.EndReason]string{
		eval.EndInterrupted: "the run was interrupted",
		eval.EndBudget:      "the run stopped: its budget is spent",
		eval.EndMaxFailures: "the run stopped because of failures",
		eval.EndStopped:     "the run could not be completed", // other services may have gone on
	}[end.Reason]
	if what == "" {
		what = "the run ended: " + string(end.Reason)
	}
	if end.Message != "" {
		what += ": " + end.Message
	}
	return what
}
