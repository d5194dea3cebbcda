package scorers

import "math"

// Vectors are the embeddings that are available while an answer is scored. Missing ones are recorded as wanted:
// the caller fetches them and scores again.
type Vectors struct {
	Known  map[string][]float64
	Wanted []string
	// Unavailable says why no more vectors can be fetched, "" when they can.
	Unavailable string
}

// of is the vector of a text, nil when unavailable.
func (v *Vectors) of(text string) []float64 {
	known := v.Known[text]
	if known == nil && v.Unavailable == "" {
		v.Wanted = append(v.Wanted, text)
	}
	return known
}

func (v *Vectors) missing() Finding {
	if v.Unavailable != "" {
		return Unscored("%s", v.Unavailable)
	}
	return Unscored("the embeddings are not at hand")
}

// cosine is the cosine similarity of two vectors, a·b / (|a| |b|), from -1 to 1. It is false when undefined: for a
// zero vector, different lengths, or a NaN. Both vectors are scaled by their largest value first, so that products
// and sums stay in the range of a float64.
func cosine(a, b []float64) (float64, bool) {
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

// scale is the largest absolute value, NaN when a value is NaN.
func scale(v []float64) float64 {
	out := 0.0
	for _, x := range v {
		out = max(out, math.Abs(x))
	}
	return out
}
