package textmetric

import (
	"math"
	"slices"
	"strings"
)

// BLEU is the sentence score of sacreBLEU: Papineni and others, "BLEU: a method for automatic evaluation of
// machine translation", 2002.
type BLEU struct {
	Tokenize, Smoothing  string
	Effective, Lowercase bool
}

// BLEUOrder is the length of the longest n-grams, in words.
const BLEUOrder = 4

// Units splits a text into words.
func (b BLEU) Units(s string) Units {
	if b.Lowercase {
		s = lower(s)
	}
	return WordUnits(tokenizer(b.Tokenize)(strings.TrimRightFunc(s, space)))
}

// Closest returns the index of the reference of the nearest length, and of two equally near the shorter
// one.
func Closest(n int, refs []Units) int {
	best, away := 0, math.MaxInt
	for i, u := range refs {
		d := max(u.Len()-n, n-u.Len())
		if d < away || d == away && u.Len() < refs[best].Len() {
			best, away = i, d
		}
	}
	return best
}

// Score returns the score of an answer, 0 to 1. shared counts the n-grams that references share, and refLen
// is the length of the closest reference.
func (b BLEU) Score(u Units, shared []float64, refLen int) float64 {
	if !slices.ContainsFunc(shared, func(n float64) bool { return n != 0 }) {
		return 0
	}
	sum := 0.0
	halved := 1.0
	order := BLEUOrder
	for n := 1; n <= BLEUOrder; n++ {
		right, all := shared[n-1], float64(u.Runs(n))
		if b.Smoothing == "add-k" && n > 1 {
			right, all = right+1, all+1
		}
		if all == 0 {
			if !b.Effective {
				return 0
			}
			break
		}
		if b.Effective {
			order = n
		}
		if right = b.smoothed(right, &halved); right == 0 {
			return 0
		}
		sum += math.Log(right / all)
	}
	brevity := min(1, math.Exp(1-float64(refLen)/float64(u.Len())))
	return brevity * math.Exp(sum/float64(order))
}

// smoothed replaces a count of 0. The method "exp" halves the replacement each time.
func (b BLEU) smoothed(right float64, halved *float64) float64 {
	switch {
	case right > 0:
		return right
	case b.Smoothing == "exp":
		*halved *= 2
		return 1 / *halved
	case b.Smoothing == "floor":
		return 0.1
	}
	return 0
}
