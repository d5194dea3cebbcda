package wire

import (
	"math"

	"github.com/evalrun/evalrun/eval"
)

// Vectors returns vectors of equal lengths. Pointers distinguish null from zero. data is for messages.
func Vectors(lists [][]*float64, data []byte) ([][]float64, error) {
	out := make([][]float64, len(lists))
	for i, list := range lists {
		v, ok := vector(list)
		if !ok {
			return nil, eval.Errorf(eval.KindMalformed, "embedding %d of %d is not a list of numbers: %s", i+1, len(lists),
				Excerpt(data))
		}
		if len(v) != len(lists[0]) {
			return nil, eval.Errorf(eval.KindMalformed, "embedding %d has %d values and the first one %d", i+1, len(v),
				len(lists[0]))
		}
		out[i] = v
	}
	return out, nil
}

// MaxDimensions bounds a vector. Known models have a few thousand dimensions.
const MaxDimensions = 1 << 16

func vector(list []*float64) ([]float64, bool) {
	if len(list) > MaxDimensions {
		return nil, false
	}
	v := make([]float64, len(list))
	for i, value := range list {
		if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
			return nil, false
		}
		v[i] = *value
	}
	return v, len(v) > 0
}
