package scorers

import (
	"github.com/evalrun/evalrun/internal/textmetric"
)

func tokenF1Kind() Kind {
	return Kind{
		Name: "tokenF1", Summary: "the answer shares words with a short right answer (SQuAD F1)",
		Version: 2,
		Doc: referencesDoc + "The value is F1 over words, whatever their order. Both sides are normalized as SQuAD's official script " +
			"does: lower case, no ASCII punctuation, no a, an, the, split at white space. Made for English; a text " +
			"without spaces is one word.",
		Example: "- tokenF1: {to: [Andorra la Vella, the city of Andorra la Vella], min: 0.7}", takes: overlapKeys().Shape(),
		compile: compileTokenF1,
	}
}

func compileTokenF1(a args) AnswerScorer {
	m := a.Args.Map(overlapKeys().Names()...)
	r, ok := a.overlapRule(m)
	if !ok {
		return nil
	}
	type indexed struct {
		words []string
		*textmetric.NgramCounts
	}
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed {
			return indexed{textmetric.SquadWords(s), textmetric.NewNgramCounts(1, textmetric.WordUnits(textmetric.SquadWords(s)))}
		})
	}
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		words := textmetric.SquadWords(got)
		u := textmetric.WordUnits(words)
		return r.each(got, func(i int) (float64, string) {
			s := textmetric.Overlap(refs[i].Shared(u)[0], len(words), len(refs[i].words))
			if len(words)+len(refs[i].words) == 0 {
				s = textmetric.PRF{Precision: 1, Recall: 1, F: 1} // both consist of articles and punctuation
			}
			return s.F, "F1 (squad words; " + s.String() + ")"
		})
	})
}
