package textmetric

import (
	"math"
	"slices"
	"strings"
)

// BLEU is sacreBLEU's sentence score: Papineni and others, "BLEU: a method for automatic evaluation of machine
// translation", 2002.
type BLEU struct {
	Tokenize, Smoothing  string
	Effective, Lowercase bool
}

// BLEUOrder is the longest run of words.
const BLEUOrder = 4

// Units cuts a text into words.
func (b BLEU) Units(s string) Units {
	if b.Lowercase {
		s = lower(s)
	}
	return WordUnits(tokenizer(b.Tokenize)(strings.TrimRightFunc(s, space)))
}

// Closest is the reference of the nearest length, the shorter of two.
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

// Score is the score of an answer, 0 to 1, by the runs that references share and the length of the closest reference.
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

// smoothed replaces a count of 0 shared n-grams; the method "exp" halves it each time.
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
