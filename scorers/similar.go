package scorers

import (
	"fmt"
	"math"

	"github.com/evalrun/evalrun/internal/blank"
	"github.com/evalrun/evalrun/internal/shape"
)

func similarKind() Kind {
	return Kind{
		Name: "similar", Summary: "the answer means about the same as a text, by the cosine of their embeddings",
		Version: 2,
		Doc: "Takes `to`, a text or several (the nearest counts), and `min`, the least cosine similarity from -1 to " +
			"1. The value is the cosine, 0 where that is negative; instead of `min` a `threshold` next to the kind " +
			"may say from which value it passes. The vectors come from the suite's `embedding: {model: " +
			"embedding-001}`, in batches over trials; what a text was embedded to is remembered. A zero vector, or " +
			"a service that gives no vectors, is an error and never a score. How near texts are that mean the same " +
			"depends on the model: look at the scores of good and bad answers before choosing `min`.",
		Example: "- similar: {to: \"The capital of France is Paris.\", min: 0.8}", takes: similarKeys().Shape(), compile: compileSimilar,
	}
}

// Vectors are the available embeddings while an answer is scored. A text whose vector is needed and not there is
// wanted: the caller gets it and scores again.
type Vectors struct {
	Known  map[string][]float64
	Wanted []string
	// Refused says why no more vectors can be had, "" when they can.
	Refused string
}

// of is the vector of a text, nil when it is not available.
func (v *Vectors) of(text string) []float64 {
	known := v.Known[text]
	if known == nil && v.Refused == "" {
		v.Wanted = append(v.Wanted, text)
	}
	return known
}

func similarKeys() shape.Block {
	return shape.Block{
		Need: []string{"to"},
		Keys: []shape.Key{
			{Name: "to", Is: texts(), Doc: "A text to compare with, or several."},
			{Name: "min", Is: shape.Number(-1, 1), Doc: "The least cosine that passes; or write `threshold` next to the kind."},
		},
	}
}

func compileSimilar(a args) Scorer {
	m := a.Args.Map(similarKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	for _, n := range m.Need("to").Items() {
		if text := textOf(n); blank.Is(text) {
			n.Errorf("", "a text that shows nothing has no meaning to compare with")
		} else {
			a.needs.References = append(a.needs.References, text)
		}
	}
	references := a.needs.References
	if to := m.Get("to"); to.IsSequence() && len(to.Items()) == 0 {
		to.Errorf("", "`to` needs at least one text")
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
		return unscored("the embeddings are not at hand")
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
		c, ok := Cosine(got, want)
		if !ok {
			return unscored(
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
	// The tolerance is for a cosine of 1 that comes out a little below.
	return graded(max(0, best), best >= least-1e-12, "similarity %.3f to %s%s: %s", best, quote(of), bound, quote(a.Candidate.Text))
}

// missing is why there are no embeddings.
func (v *Vectors) missing() Finding {
	if v.Refused != "" {
		return unscored("%s", v.Refused)
	}
	return unscored("the embeddings are not at hand")
}

// Cosine is the cosine of the angle between two vectors, a·b / (|a| |b|), from -1 to 1. It is false when undefined:
// for a zero vector, vectors of different length, or a value that is no number. Both are scaled by their largest
// value first, so that neither products nor sums leave the range of a float64.
func Cosine(a, b []float64) (float64, bool) {
	sa, sb := scale(a), scale(b)
	if len(a) != len(b) || !(sa > 0 && sb > 0) || math.IsInf(sa, 0) || math.IsInf(sb, 0) {
		return 0, false
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := a[i]/sa, b[i]/sb
		dot += x * y
		aa += x * x
		bb += y * y
	}
	c := dot / (math.Sqrt(aa) * math.Sqrt(bb))
	return max(-1, min(1, c)), !math.IsNaN(c)
}

// scale is the largest absolute value, NaN when one of them is.
func scale(v []float64) float64 {
	out := 0.0
	for _, x := range v {
		out = max(out, math.Abs(x))
	}
	return out
}
