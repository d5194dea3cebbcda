package reports

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// remedies are the commands that would help against a run's errors.
type remedies struct {
	retry     bool // retry the errors
	accept    bool // accept new answers
	askJudges bool // call judges that were not called
	mend      bool // change the suite's scorers

	elsewhere bool // answers come from another run, so retrying does not change them
	judging   bool // judges may be called again
}

func newRemedies(run *eval.Run) remedies {
	elsewhere := run.RescoredFrom != "" || run.Replay != ""
	return remedies{elsewhere: elsewhere, judging: !elsewhere || run.Options().AskJudges}
}

// passing are kinds of errors that may disappear on retry.
var passing = []eval.ErrorKind{
	eval.KindTransport, eval.KindTimeout, eval.KindStatus, eval.KindAuth, eval.KindQuota,
	eval.KindMalformed, eval.KindTruncated, eval.KindTooLarge, eval.KindNoCandidates,
	eval.KindProgram, eval.KindApp,
}

// note records what helps against the error of a trial.
func (r *remedies) note(a *journal.Failing) {
	if a.Error == nil {
		return
	}
	switch kind := a.Error.Kind; {
	case a.Error.Cause == eval.UnreadByJQ: // the response is stored
		r.mend = true
	case slices.Contains(passing, kind):
		// The trial has an answer, so its embedding failed.
		r.retry = r.retry || !r.elsewhere || slices.ContainsFunc(a.Scores, isUnscored)
	case kind == eval.KindUnscored || kind == eval.KindScorer:
		r.unscored(a)
	}
}

// unscored records what helps a trial whose answer could not be scored.
func (r *remedies) unscored(a *journal.Failing) {
	// consulting are the scorers that call judges, directly or through nested scorers.
	consulting := []string{"judge", "any", "all", "not"}

	causes := []eval.Cause{a.Error.Cause}
	for _, s := range a.Scores {
		if grade, ok := s.Grade.(eval.Unscored); ok {
			causes = append(causes, grade.Cause)
		}
	}
	useless := a.HasReplies && slices.ContainsFunc(a.Scores, func(s eval.Score) bool {
		return isUnscored(s) && slices.Contains(consulting, s.Scorer)
	})
	switch {
	case slices.Contains(causes, eval.NothingAccepted):
		r.accept = true
	case slices.Contains(causes, eval.NeverCalled), useless && !r.judging:
		r.askJudges = true
	case useless:
		r.retry = true
	default:
		r.mend = true
	}
}

func isUnscored(s eval.Score) bool { return s.Unscored() != "" }

// rescoring is the purpose of rescoring, "" when it would change nothing.
func (r *remedies) rescoring(failed bool) string {
	switch {
	case r.accept:
		return "scores by what was accepted"
	case failed:
		return "after a change of scorers"
	case r.mend:
		return "after the suite is mended"
	}
	return ""
}
