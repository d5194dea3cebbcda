package scorers

import (
	"fmt"
	"math"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/yaml"
)

func similarKind() Kind {
	return Kind{
		Name: "similar", Summary: "the answer means about the same as a text, by the cosine of their embeddings",
		Version: 2,
		Doc: "Takes `to` (a text or several; the nearest counts) and `min`, the least cosine similarity from -1 to 1, or a " +
			"`threshold` next to the kind. The value is the cosine, 0 where that is negative. The vectors come from the suite's " +
			"`embedding: {model: embedding-001}`, in batches, and each text is embedded once. A zero vector, or a service that " +
			"gives no vectors, is an error. Choose `min` by the scores of good and bad answers of your model.",
		Example: "- similar: {to: \"The capital of France is Paris.\", min: 0.8}", takes: similarKeys().Shape(), compile: compileSimilar,
	}
}

var similarKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"to"},
		Keys: []yaml.Key{
			{Name: "to", Is: texts(), Doc: "A text to compare with, or several."},
			{Name: "min", Is: yaml.Number(-1, 1), Doc: "The least cosine that passes; or write `threshold` next to the kind."},
		},
	}
})

func compileSimilar(a args) AnswerScorer {
	m := a.Args.Map(similarKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	for _, n := range m.Need("to").Items() {
		if text := textOf(n); eval.IsBlank(text) {
			n.Errorf("write a text with words", "a text that shows nothing has no meaning to compare with")
		} else {
			a.needs.References = append(a.needs.References, text)
		}
	}
	references := a.needs.References
	if to := m.Get("to"); to.IsSequence() && len(to.Items()) == 0 {
		to.Errorf("such as [Paris is the capital of France.]", "`to` needs at least one text")
	}
	least := a.least(m, -1)
	return Func(func(a *Answer) Finding {
		if f, none := noText(a); none {
			return f
		}
		return nearest(a, references, least)
	})
}

// nearest compares the answer with each reference; the most similar counts.
func nearest(a *Answer, references []string, least float64) Finding {
	if a.Context == nil {
		return Unscored("the embeddings are not at hand")
	}
	vectors := &a.Context.Vectors
	got := vectors.of(a.Candidate.Text)
	best, of := math.Inf(-1), ""
	missing := got == nil
	for _, ref := range references {
		want := vectors.of(ref)
		if missing = missing || want == nil; missing {
			continue
		}
		c, ok := cosine(got, want)
		if !ok {
			return Unscored(
				"the embeddings of %s and %s cannot be compared: one of them is zero, or they differ in length",
				quote(a.Candidate.Text), quote(ref),
			)
		}
		if c > best {
			best, of = c, ref
		}
	}
	if missing {
		return vectors.missing()
	}
	bound := ""
	if !math.IsInf(least, 0) {
		bound = fmt.Sprintf(", at least %g is expected", least)
	}
	// The tolerance is for a cosine of 1 that rounding puts below it.
	return Graded(max(0, best), best >= least-1e-12, "similarity %.3f to %s%s: %s", best, quote(of), bound, quote(a.Candidate.Text))
}
