package overview

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/typeset"
	"github.com/evalrun/evalrun/journal"
)

// Headline says what the exit code of a run means, in a word and in a line.
type Headline struct {
	Word, Why string
	Tone      typeset.Tone // of the word
	end       string       // with the exit code, where there is one
}

// String returns the headline on one line, with the exit code.
func (h Headline) String() string { return h.Word + ": " + h.Why + h.end }

// NotGated is the word for a run to which no gate was applied.
const NotGated = "NOT GATED"

// HeadlineOf returns the headline of a run.
func HeadlineOf(d *journal.Document) Headline {
	if d.Running {
		return Headline{"IN PROGRESS", "the run is still in progress", typeset.Neutral, ""}
	}
	if d.Gate() == nil {
		return Headline{NotGated, NotApplied, typeset.Neutral, ""}
	}
	word, why, tone := headlineOf(d)
	return Headline{word, why, tone, fmt.Sprintf(" (exit %d)", d.Gate().Exit)}
}

func headlineOf(d *journal.Document) (word, why string, tone typeset.Tone) {
	switch d.Gate().Exit {
	case exit.CodeOK:
		return passed(d)
	case exit.CodeInconclusive:
		return "INCONCLUSIVE", "there are too few cases for a verdict, and the gate says that this fails", typeset.Neutral
	case exit.CodeIncomplete:
		return notJudged(d)
	case exit.CodeInterrupted, exit.CodeTerminated:
		return "INTERRUPTED", "not every trial of the plan was judged", typeset.Alarm
	}
	if broken(d.Gate()) {
		return "FAIL", "the gate does not hold", typeset.Bad
	}
	return "FAIL", diag.Count(d.Summary.Counts.Fail, "trial") + " failed", typeset.Bad
}

func passed(d *journal.Document) (word, why string, tone typeset.Tone) {
	switch {
	case d.Run.Plan.Shard != nil:
		return NotGated, "a shard applies no gate", typeset.Neutral
	case len(d.Gate().Rules) > 0:
		return "PASS", "the gate holds", typeset.Good
	}
	return "PASS", "nothing that counts failed", typeset.Good
}

func notJudged(d *journal.Document) (word, why string, tone typeset.Tone) {
	switch {
	case d.End == nil:
		return "INTERRUPTED", "the run was killed", typeset.Alarm
	case d.Partial():
		return "INCOMPLETE", "not every trial of the plan was judged", typeset.Alarm
	case broken(d.Gate()):
		return "ERROR", "the gate does not hold", typeset.Alarm
	}
	return "ERROR", diag.Count(d.Summary.Counts.Error, "trial") + " could not be judged", typeset.Alarm
}

func broken(g *journal.Gate) bool {
	return slices.ContainsFunc(g.Rules, func(r journal.GateRule) bool { return !r.Standing.Holds() })
}
