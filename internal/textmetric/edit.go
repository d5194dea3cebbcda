package textmetric

import (
	"slices"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Distance returns the Levenshtein distance, and 1 - distance / the longer length.
func Distance(a, b string) (int, float64) {
	longer := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	if longer == 0 {
		return 0, 1
	}
	d := levenshtein.ComputeDistance(a, b)
	return d, 1 - float64(d)/float64(longer)
}

// IndelRatio is python-Levenshtein's ratio, which only knows insertions and deletions: 2 lcs / (both
// lengths).
func IndelRatio(a, b string) float64 {
	x, y := []rune(a), []rune(b)
	if len(x)+len(y) == 0 {
		return 1
	}
	return 2 * float64(commonLength(places(y), len(y), x)) / float64(len(x)+len(y))
}

// JaroWinkler returns the Jaro-Winkler similarity, with a prefix of at most 4 weighted by 0.1: Winkler,
// "String comparator metrics", 1990.
func JaroWinkler(a, b []rune) float64 {
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	j := jaro(a, b)
	return j + float64(prefix)*0.1*(1-j)
}

// jaro returns the Jaro similarity: 0 without a common character, 1 for equal texts.
func jaro(a, b []rune) float64 {
	if slices.Equal(a, b) {
		return 1
	}
	matched, taken := matches(a, b)
	if len(matched) == 0 {
		return 0
	}
	swapped, k := 0, 0
	for j, r := range b {
		if !taken[j] {
			continue
		}
		if matched[k] != r {
			swapped++
		}
		k++
	}
	n := float64(len(matched))
	return (n/float64(len(a)) + n/float64(len(b)) + (n-float64(swapped/2))/n) / 3
}

// matches returns the characters of a that b has nearby, in the order of a, and which of b they are.
func matches(a, b []rune) (matched []rune, taken []bool) {
	window := max(0, max(len(a), len(b))/2-1)
	taken = make([]bool, len(b))
	for i, r := range a {
		for j := max(0, i-window); j < min(len(b), i+window+1); j++ {
			if !taken[j] && b[j] == r {
				taken[j] = true
				matched = append(matched, r)
				break
			}
		}
	}
	return matched, taken
}
