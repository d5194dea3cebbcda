package scorers

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func gleuKind() Kind {
	return Kind{
		Name: "gleu", Summary: "the answer shares runs of words with a text, in both directions (GLEU)",
		Doc: referencesDoc + "The value is NLTK's sentence_gleu over words between white space: shared runs of 1 to `maxOrder` (4) words " +
			"divided by those of the longer text. Case counts, and punctuation belongs to its word.",
		Example: "- gleu: {to: \"The cat sat on the mat.\", min: 0.4}", takes: gleuKeys().Shape(), compile: compileGLEU,
	}
}

var gleuKeys = sync.OnceValue(func() yaml.Block {
	return overlapKeys(yaml.Key{Name: "maxOrder", Is: yaml.Int(1, 9), Doc: "The longest run of words; 4 when not given."})
})

func compileGLEU(a args) AnswerScorer {
	m := a.Args.Map(gleuKeys().Names()...)
	r, ok := a.overlapRule(m)
	order := cmp.Or(m.Get("maxOrder").Int(1, 9), 4)
	if !ok {
		return nil
	}
	type indexed struct {
		textmetric.Units
		*textmetric.NgramCounts
	}
	split := func(s string) textmetric.Units { return textmetric.WordUnits(textmetric.Fields(s)) }
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed { return indexed{split(s), textmetric.NewNgramCounts(order, split(s))} })
	}
	what := fmt.Sprintf("GLEU (nltk, runs of 1 to %d words)", order)
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		u := split(got)
		return r.each(got, func(i int) (float64, string) {
			right, mine, theirs := 0.0, 0, 0
			for n, shared := range refs[i].Shared(u) {
				right += shared
				mine += u.Runs(n + 1)
				theirs += refs[i].Runs(n + 1)
			}
			return right / float64(max(mine, theirs)), what
		})
	})
}
