package scorers

import "math"

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

// missing is why there are no embeddings.
func (v *Vectors) missing() Finding {
	if v.Refused != "" {
		return unscored("%s", v.Refused)
	}
	return unscored("the embeddings are not at hand")
}

// cosine is the cosine of the angle between two vectors, a·b / (|a| |b|), from -1 to 1. It is false when undefined:
// for a zero vector, vectors of different length, or a value that is no number. Both are scaled by their largest
// value first, so that neither products nor sums leave the range of a float64.
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

// scale is the largest absolute value, NaN when one of them is.
func scale(v []float64) float64 {
	out := 0.0
	for _, x := range v {
		out = max(out, math.Abs(x))
	}
	return out
}
