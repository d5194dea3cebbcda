package text

import (
	"cmp"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Why is the shortest account of what became of a trial, "" when it passed.
func Why(r *eval.Result) string {
	switch r.Outcome() {
	case eval.Err:
		if r.Err() == nil { // evalrun writes no such run files
			return "the run file does not say why"
		}
		return string(r.Err().Kind) + ": " + r.Err().Error()
	case eval.Skip:
		return r.SkipReason()
	case eval.Fail:
		return cmp.Or(strings.Join(failures(r.Scores), "; "), "the weighted mean of the scores is below the threshold")
	}
	return ""
}

func failures(scores []eval.Score) []string {
	var out []string
	for _, s := range scores {
		if !s.Passed() {
			out = append(out, ScoreName(s)+": "+s.Reason)
		}
	}
	return out
}

// ScoreName is the name of a score and its scorer, or the scorer alone.
func ScoreName(s eval.Score) string {
	if s.Name != "" && s.Name != s.Scorer {
		return s.Name + " (" + s.Scorer + ")"
	}
	return s.Scorer
}

// Timed reports whether it is known how long the answer took. An echo takes no time.
func Timed(r *eval.Result) bool {
	return r.Timing != nil && (r.Timing.LatencyMs > 0 || r.Request == nil || r.Request.App == nil)
}
