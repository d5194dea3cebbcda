package reports

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// remedies are what helps against the errors of a run: each is a command that would change something.
type remedies struct {
	retry     bool // retrying
	accept    bool // accepting answers
	askJudges bool // calling judges that were not called
	mend      bool // a change of the suite's scorers

	elsewhere bool // the answers come from another run: no retry changes them
	judging   bool // judges may be called again
}

func newRemedies(run *eval.Run) remedies {
	elsewhere := run.RescoredFrom != "" || run.Replay != ""
	return remedies{elsewhere: elsewhere, judging: !elsewhere || run.Options().AskJudges}
}

// unreadByJQ begins the error of a response in which an expression of the target finds nothing.
const unreadByJQ = "the jq of `"

// passing are the kinds of errors that another attempt may not have.
var passing = []eval.ErrorKind{
	eval.KindTransport, eval.KindTimeout, eval.KindStatus, eval.KindAuth, eval.KindQuota,
	eval.KindMalformed, eval.KindTruncated, eval.KindTooLarge, eval.KindNoCandidates,
	eval.KindProgram, eval.KindApp,
}

// note looks for what helps against the error of a trial.
func (r *remedies) note(a *journal.Failing) {
	if a.Error == nil {
		return
	}
	switch kind := a.Error.Kind; {
	case kind == eval.KindMalformed && strings.HasPrefix(a.Error.Message, unreadByJQ): // the response is kept
		r.mend = true
	case slices.Contains(passing, kind):
		// When there is an answer, its embedding failed.
		r.retry = r.retry || !r.elsewhere || slices.ContainsFunc(a.Scores, isUnscored)
	case kind == eval.KindUnscored || kind == eval.KindScorer:
		r.unscored(a)
	}
}

// unscored looks for what helps a trial whose answer could not be scored.
func (r *remedies) unscored(a *journal.Failing) {
	// consulting are the scorers that call judges: by themselves, or through scorers inside.
	consulting := []string{"judge", "any", "all", "not"}

	words := a.Error.Message
	for _, s := range a.Scores {
		words += "\n" + s.Unscored
	}
	useless := a.Judged && slices.ContainsFunc(a.Scores, func(s eval.Score) bool {
		return isUnscored(s) && slices.Contains(consulting, s.Scorer)
	})
	switch {
	case strings.Contains(words, eval.NothingAccepted+":"):
		r.accept = true
	case strings.Contains(words, eval.NeverCalled), useless && !r.judging:
		r.askJudges = true
	case useless:
		r.retry = true
	default:
		r.mend = true
	}
}

func isUnscored(s eval.Score) bool { return s.Unscored != "" }

// rescoring is what judging again is for, "" when it would change nothing.
func (r *remedies) rescoring(failed bool) string {
	switch {
	case r.accept:
		return "judges by what was accepted"
	case failed:
		return "after a change of scorers"
	case r.mend:
		return "after the suite is mended"
	}
	return ""
}
