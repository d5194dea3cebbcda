package textmetric

import (
	"strings"
	"unicode/utf8"
)

// Units are the words or characters of a text. Runs of them are n-grams.
type Units struct {
	text     string
	from, to []int32 // offsets of each unit
}

// WordUnits joins words by spaces, so that each n-gram is a substring. The words must not contain spaces.
func WordUnits(tokens []string) Units {
	u := Units{text: strings.Join(tokens, " "), from: make([]int32, len(tokens)), to: make([]int32, len(tokens))}
	at := int32(0)
	for i, t := range tokens {
		u.from[i], u.to[i] = at, at+int32(len(t)) //nolint:gosec // bounded by what scorers compare
		at = u.to[i] + 1
	}
	return u
}

func charUnits(s string) Units {
	n := utf8.RuneCountInString(s)
	u := Units{text: s, from: make([]int32, 0, n), to: make([]int32, 0, n)}
	for i := range s {
		u.from = append(u.from, int32(i)) //nolint:gosec // bounded by what scorers compare
		if i > 0 {
			u.to = append(u.to, int32(i)) //nolint:gosec // bounded by what scorers compare
		}
	}
	if n > 0 {
		u.to = append(u.to, int32(len(s))) //nolint:gosec // bounded by what scorers compare
	}
	return u
}

// Len returns the number of units.
func (u Units) Len() int { return len(u.from) }

// Runs returns the number of n-grams.
func (u Units) Runs(n int) int { return max(0, u.Len()-n+1) }

func (u Units) run(i, n int) string { return u.text[u.from[i]:u.to[i+n-1]] }

// NgramCounts has, for each n-gram, its count in a reference, or its highest count in several references.
// N-grams of different lengths are different texts.
type NgramCounts struct {
	slots map[string]int32
	most  []int32
	order int
}

// NewNgramCounts counts the n-grams of up to order units in references.
func NewNgramCounts(order int, refs ...Units) *NgramCounts {
	c := &NgramCounts{slots: map[string]int32{}, order: order}
	for _, u := range refs {
		here := make([]int32, len(c.most))
		for n := 1; n <= order; n++ {
			for i := range u.Runs(n) {
				g := u.run(i, n)
				slot, known := c.slots[g]
				if !known {
					slot = int32(len(c.most)) //nolint:gosec // bounded by what scorers compare
					c.slots[g] = slot
					c.most, here = append(c.most, 0), append(here, 0)
				}
				here[slot]++
			}
		}
		for slot, n := range here {
			c.most[slot] = max(c.most[slot], n)
		}
	}
	return c
}

// Shared returns, for each n from 1, how many n-grams of the answer are in the reference. Each counts at
// most as often as there.
func (c *NgramCounts) Shared(u Units) []float64 {
	left := append([]int32(nil), c.most...)
	out := make([]float64, c.order)
	for n := 1; n <= c.order; n++ {
		for i := range u.Runs(n) {
			if slot, ok := c.slots[u.run(i, n)]; ok && left[slot] > 0 {
				left[slot]--
				out[n-1]++
			}
		}
	}
	return out
}
