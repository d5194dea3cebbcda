package flow

import (
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// readJudgements stores the replies of judges by the ids of their questions.
func (s *Recordings) readJudgements(all []eval.Judgement) {
	for i := range all {
		j := &all[i]
		if j.Error == nil {
			s.byID[j.ID] = &StoredAnswer{
				ID:       j.ID,
				Model:    j.Model,
				Repeat:   j.Repeat,
				Response: j.Response(),
				Usage:    j.Usage,
				Timing:   &ScoredTiming{LatencyMs: j.LatencyMs},
			}
		}
	}
}

// judgements returns the judgements for a recording. It removes which of several equal questions was sent:
// that depends on the order of answers, and would make recordings differ.
func judgements(all []eval.Judgement) []eval.Judgement {
	out := slices.DeleteFunc(slices.Clone(all), func(j eval.Judgement) bool { return j.Error != nil })
	for i := range out {
		out[i].Cached = false // the id is a hash of the question
		out[i].Attempts = 0
		out[i].Prompt = ""
	}
	return out
}
