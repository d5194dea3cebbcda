package runner

import (
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/scorers"
)

// score scores an answer. It is false when embeddings or judges are wanted first; what wants none is scored once.
func (a *scoring) score() bool {
	if a.scores == nil {
		a.scores, a.settled = make([]eval.Score, len(a.trial.scorers)), make([]bool, len(a.trial.scorers))
	}
	a.answer.Context.Vectors.Wanted, a.answer.Context.Judgements.Wanted = nil, nil
	wanted := 0
	for i, s := range a.trial.scorers {
		if a.settled[i] {
			continue
		}
		score, err := s.Score(&a.answer)
		if err != nil {
			a.result.Scores = a.scores[:i]
			a.failed(eval.Errorf(eval.KindScorer, "%s", err))
			return true
		}
		before := wanted
		wanted = len(a.answer.Context.Vectors.Wanted) + len(a.answer.Context.Judgements.Wanted)
		a.scores[i], a.settled[i] = score, wanted == before
	}
	if wanted > 0 {
		return false
	}
	a.result.Scores = a.scores
	a.result.Ending = scorers.EndingOf(a.result.Scores, a.trial.Threshold)
	a.derive()
	return true
}
