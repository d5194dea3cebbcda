package jsondiff

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
)

// Within returns a function that compares JSON numbers: exactly as fractions, or within an absolute
// tolerance as floats.
func Within(tolerance float64) func(a, b json.Number) bool {
	return func(a, b json.Number) bool {
		if a == b {
			return true
		}
		fa, errA := a.Float64()
		fb, errB := b.Float64()
		if errA != nil || errB != nil {
			return false
		}
		if tolerance > 0 {
			// 0.31 is within 0.01 of 0.3, although their binary forms are not.
			slack := 1e-12 * math.Max(math.Abs(fa), math.Abs(fb))
			return math.Abs(fa-fb) <= tolerance+slack
		}
		return fa == fb && sameDigits(string(a), string(b))
	}
}

// sameDigits compares numbers whose floats are equal, which is not enough for large integers and long
// fractions. For numbers with exponents, equal floats are enough.
func sameDigits(a, b string) bool {
	if strings.ContainsAny(a+b, "eE") {
		return true
	}
	ra, okA := new(big.Rat).SetString(a)
	rb, okB := new(big.Rat).SetString(b)
	return okA && okB && ra.Cmp(rb) == 0
}
