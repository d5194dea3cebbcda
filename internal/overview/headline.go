package overview

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/journal"
)

// Headline says what the exit code of a run means, in a word and in a line.
type Headline struct {
	Word, Why string
	Tone      text.Tone // of the word
	end       string    // with the exit code, where there is one
}

// String returns the headline on one line, with the exit code.
func (h Headline) String() string { return h.Word + ": " + h.Why + h.end }

// NotGated is the word for a run to which no gate was applied.
const NotGated = "NOT GATED"

// HeadlineOf returns the headline of a run.
func HeadlineOf(d *journal.Document) Headline {
	if d.Running {
		return Headline{"IN PROGRESS", "the run is still in progress", text.Neutral, ""}
	}
	if d.Gate() == nil {
		return Headline{NotGated, NotApplied, text.Neutral, ""}
	}
	word, why, tone := headlineOf(d)
	return Headline{word, why, tone, fmt.Sprintf(" (exit %d)", d.Gate().Exit)}
}

func headlineOf(d *journal.Document) (word, why string, tone text.Tone) {
	switch d.Gate().Exit {
	case eval.CodeOK:
		return passed(d)
	case eval.CodeInconclusive:
		return "INCONCLUSIVE", "there are too few cases for a verdict, and the gate says that this fails", text.Neutral
	case eval.CodeIncomplete:
		return notJudged(d)
	case eval.CodeInterrupted, eval.CodeTerminated:
		return "INTERRUPTED", "not every trial of the plan was judged", text.Alarm
	}
	if broken(d.Gate()) {
		return "FAIL", "the gate does not hold", text.Bad
	}
	return "FAIL", diag.Count(d.Summary.Counts.Fail, "trial") + " failed", text.Bad
}

func passed(d *journal.Document) (word, why string, tone text.Tone) {
	switch {
	case d.Run.Plan.Shard != nil:
		return NotGated, "a shard applies no gate", text.Neutral
	case len(d.Gate().Rules) > 0:
		return "PASS", "the gate holds", text.Good
	}
	return "PASS", "nothing that counts failed", text.Good
}

func notJudged(d *journal.Document) (word, why string, tone text.Tone) {
	switch {
	case d.End == nil:
		return "INTERRUPTED", "the run was killed", text.Alarm
	case d.Partial():
		return "INCOMPLETE", "not every trial of the plan was judged", text.Alarm
	case broken(d.Gate()):
		return "ERROR", "the gate does not hold", text.Alarm
	}
	return "ERROR", diag.Count(d.Summary.Counts.Error, "trial") + " could not be judged", text.Alarm
}

func broken(g *journal.Gate) bool {
	return slices.ContainsFunc(g.Rules, func(r journal.GateRule) bool { return !r.Standing.Holds() })
}
