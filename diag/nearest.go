package diag

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// DidYouMean gives a hint naming the nearest of the known words. When none is near and they are few, it names all of
// them; else it is "".
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known, 1); len(near) > 0 {
		return fmt.Sprintf("did you mean `%s`?", near[0])
	}
	if len(known) == 0 || len(known) > 16 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}

// Nearest returns up to n of the known words that word probably misspells, nearest first.
func Nearest(word string, known []string, n int) []string {
	type near struct {
		word string
		d    int
	}
	var hits []near
	lower := strings.ToLower(word)
	for _, k := range known {
		d := distance(lower, strings.ToLower(k))
		limit := max(1, (len([]rune(k))+2)/3)
		if d <= limit || begins(lower, strings.ToLower(k)) || begins(strings.ToLower(k), lower) {
			hits = append(hits, near{k, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b near) int { return a.d - b.d })
	var out []string
	for _, h := range hits[:min(n, len(hits))] {
		out = append(out, h.word)
	}
	return out
}

// begins reports whether a word is the beginning of another one, as min is of minimum.
func begins(word, with string) bool { return len(word) >= 3 && strings.HasPrefix(with, word) }

// NearestFile names the file in a folder that name probably means, as the end of a message. It is one with another ending,
// or with a similar name and the same ending. It is "" when there is none.
func NearestFile(name string, folder []fs.DirEntry) string {
	ending := path.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	var stems []string
	for _, entry := range folder {
		switch other := entry.Name(); {
		case entry.IsDir():
		case path.Ext(other) == ending:
			stems = append(stems, strings.TrimSuffix(other, ending))
		case stem != "" && strings.TrimSuffix(other, path.Ext(other)) == stem:
			return fmt.Sprintf("; did you mean `%s`?", other)
		}
	}
	if near := Nearest(stem, stems, 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean `%s`?", near[0]+ending)
	}
	return ""
}

// distance is the optimal string alignment distance (edits and swaps of
// neighbours), capped in cost by ignoring words longer than 64.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra) > 64 || len(rb) > 64 {
		return max(len(ra), len(rb))
	}
	prev := make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	var before []int
	for i := 1; i <= len(ra); i++ {
		before, prev = prev, nextRow(ra, rb, i, before, prev)
	}
	return prev[len(rb)]
}

// nextRow is row i of the table of distances, from the two above it.
func nextRow(a, b []rune, i int, before, prev []int) []int {
	row := make([]int, len(b)+1)
	row[0] = i
	for j := 1; j <= len(b); j++ {
		cost := 1
		if a[i-1] == b[j-1] {
			cost = 0
		}
		row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
		if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] { // two swapped
			row[j] = min(row[j], before[j-2]+1)
		}
	}
	return row
}
