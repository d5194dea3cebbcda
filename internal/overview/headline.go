package overview

import (
	"fmt"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Headline says what the exit code of a run means, in a word and in a line. Outcome gives its colour.
type Headline struct {
	Word, Why string
	Outcome   eval.Outcome
}

// String returns the headline on one line.
func (h Headline) String() string { return h.Word + ": " + h.Why }

// NoVerdict is the word for a run to which no gate was applied.
const NoVerdict = "NO VERDICT"

// HeadlineOf returns the headline of a run.
func HeadlineOf(d *journal.Document) Headline {
	if d.Running {
		return Headline{"NO VERDICT YET", "the run is still in progress", eval.Skip}
	}
	if d.Gate() == nil {
		return Headline{NoVerdict, NotApplied, eval.Skip}
	}
	f := headlineOf(d)
	f.Why += fmt.Sprintf(" (exit %d)", d.Gate().Exit)
	return f
}

func headlineOf(d *journal.Document) Headline {
	switch d.Gate().Exit {
	case 0:
		return passed(d)
	case 3:
		return Headline{"INCONCLUSIVE", "there are too few cases for a verdict, and the gate says that this fails", eval.Skip}
	case 4:
		return notJudged(d)
	case 130, 143:
		return Headline{"INTERRUPTED", "not every trial of the plan was judged", eval.Err}
	}
	if broken(d.Gate()) {
		return Headline{"FAIL", "the gate does not hold", eval.Fail}
	}
	return Headline{"FAIL", diag.Count(d.Summary.Counts.Fail, "trial") + " failed", eval.Fail}
}

func passed(d *journal.Document) Headline {
	switch {
	case d.Run.Plan.Shard != nil:
		return Headline{NoVerdict, "a shard applies no gate", eval.Skip}
	case len(d.Gate().Rules) > 0:
		return Headline{"PASS", "the gate holds", eval.Pass}
	}
	return Headline{"PASS", "nothing that counts failed", eval.Pass}
}

func notJudged(d *journal.Document) Headline {
	switch {
	case d.Partial():
		return Headline{"INCOMPLETE", "not every trial of the plan was judged", eval.Err}
	case broken(d.Gate()):
		return Headline{"ERROR", "the gate does not hold", eval.Err}
	}
	return Headline{"ERROR", diag.Count(d.Summary.Counts.Error, "trial") + " could not be judged", eval.Err}
}

func broken(g *journal.Gate) bool {
	return slices.ContainsFunc(g.Rules, func(r journal.GateRule) bool { return !r.Standing.Holds() })
}
