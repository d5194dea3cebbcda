package journal

import (
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// fillCauses derives missing causes of the error and the scores of a line from their texts: run files of evalrun 0.1 have no
// key for them. Nothing else reads a state out of the texts of a run file, and these texts are fixed, because the
// files are. A later error without a cause may quote one of them. Then a report suggests a command that does not help;
// nothing else depends on a cause.
func (a *Failing) fillCauses() {
	if e := a.Error; e != nil && e.Cause == "" && (e.Kind == eval.KindMalformed || e.Kind.IsUnscored()) {
		e.Cause = causeOf(e.Message)
	}
	for i := range a.Scores {
		if u, ok := a.Scores[i].Grade.(eval.Unscored); ok && u.Cause == "" {
			u.Cause = causeOf(u.Why)
			a.Scores[i].Grade = u
		}
	}
}

// causeOf is the cause that a text of evalrun 0.1 means.
func causeOf(text string) eval.Cause {
	switch {
	case strings.HasPrefix(text, "the jq of `"):
		return eval.UnreadByJQ
	case strings.Contains(text, "there is no expected answer yet:"): // with a comma the answer cannot become it
		return eval.NothingAccepted
	case strings.Contains(text, "the judge `") && strings.Contains(text, "never asked"):
		return eval.NeverCalled
	}
	return ""
}
