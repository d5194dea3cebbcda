package scorers

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/textmetric"
)

func compileTokenF1(a args) Scorer {
	m := a.Args.Map(overlapKeys().Names()...)
	r, ok := a.overlapRule(m)
	if !ok {
		return nil
	}
	type indexed struct {
		words []string
		*textmetric.Counts
	}
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed {
			return indexed{textmetric.SquadWords(s), textmetric.NewCounts(1, textmetric.WordUnits(textmetric.SquadWords(s)))}
		})
	}
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		words := textmetric.SquadWords(got)
		u := textmetric.WordUnits(words)
		return r.each(got, func(i int) (float64, string) {
			s := textmetric.Overlap(refs[i].Shared(u)[0], len(words), len(refs[i].words))
			if len(words)+len(refs[i].words) == 0 {
				s = textmetric.PRF{Precision: 1, Recall: 1, F: 1} // both are nothing but articles and punctuation
			}
			return s.F, "F1 (squad words; " + s.String() + ")"
		})
	})
}

func compileExactMatch(a args) Scorer {
	if a.Args.IsMapping() {
		a.Args.Errorf("", "`exactMatch` takes a text or a list of texts, found a mapping")
		return nil
	}
	want := a.references(a.Args)
	normal := mapped(want, func(s string) string { return strings.Join(textmetric.SquadWords(s), " ") })
	return onText(fold{normalize: "none"}, func(got, _ string) Finding {
		if i := slices.Index(normal, strings.Join(textmetric.SquadWords(got), " ")); i >= 0 {
			return yes("the answer is %s (squad): %s", quote(want[i]), quote(got))
		}
		return no("expected %s (squad), got %s", quoteAny(want), quote(got))
	})
}
