package textmetric

import (
	"fmt"
	"math/bits"
	"strings"
)

const (
	// maxCommon bounds the longest common subsequence, in words of the answer times words of the reference
	// divided by 64.
	maxCommon = 200_000_000
	// maxTable bounds the tables of Lsum, in words of the answer times words of the reference.
	maxTable = 50_000_000
)

// PRF is precision, recall and their harmonic mean.
type PRF struct{ Precision, Recall, F float64 }

// Overlap computes the PRF of the units that two texts share. got and want are their numbers of units.
func Overlap(shared float64, got, want int) PRF {
	if shared == 0 {
		return PRF{}
	}
	p, r := shared/float64(got), shared/float64(want)
	return PRF{p, r, 2 * p * r / (p + r)}
}

func (s PRF) String() string {
	return fmt.Sprintf("precision %.3f, recall %.3f", s.Precision, s.Recall)
}

// Rouge is a measure of the ROUGE family: Lin, "ROUGE: a package for automatic evaluation of summaries",
// 2004.
type Rouge struct {
	Kind       string // 1 to 4: n-grams of words; L: the longest common subsequence; Lsum: L line by line
	Measure    string // f, precision or recall
	Definition string // of a word: unicode, or rouge-score
	Stem       bool   // remove English endings
}

// RougeText is a text split for ROUGE. Only Lsum needs the lines.
type RougeText struct {
	words  []string
	lines  [][]string
	counts *NgramCounts             // set for a reference
	places map[string][]bitPosition // set for a reference, for L
}

// Value returns the selected measure.
func (g Rouge) Value(s PRF) float64 {
	switch g.Measure {
	case "precision":
		return s.Precision
	case "recall":
		return s.Recall
	}
	return s.F
}

// Split splits a text into words.
func (g Rouge) Split(s string) []string {
	if g.Definition == "unicode" {
		return unicodeWords(s)
	}
	words := asciiWords(s)
	for i, w := range words {
		if g.Stem && len(w) > 3 {
			words[i] = porter(w)
		}
	}
	return words
}

// Cut splits an answer.
func (g Rouge) Cut(s string) RougeText {
	if g.Kind != "Lsum" {
		return RougeText{words: g.Split(s)}
	}
	var t RougeText
	for line := range strings.SplitSeq(s, "\n") {
		words := g.Split(line)
		t.words = append(t.words, words...)
		t.lines = append(t.lines, words)
	}
	return t
}

// Reference splits a reference and indexes its words.
func (g Rouge) Reference(s string) RougeText {
	t := g.Cut(s)
	switch g.Kind {
	case "L":
		t.places = places(t.words)
	case "Lsum":
		t.counts = NewNgramCounts(1, WordUnits(t.words))
	default:
		t.counts = NewNgramCounts(int(g.Kind[0]-'0'), WordUnits(t.words))
	}
	return t
}

// TooLong reports whether comparing an answer would take too long. words is the number of words in all
// references.
func (g Rouge) TooLong(got RougeText, refs []RougeText) (words int, tooLong bool) {
	for _, ref := range refs {
		words += len(ref.words)
	}
	total := words + 64*len(refs)
	return words, g.Kind == "L" && len(got.words)*(total/64) > maxCommon ||
		g.Kind == "Lsum" && len(got.words)*total > maxTable
}

// Len returns the number of words.
func (t *RougeText) Len() int { return len(t.words) }

// Compare compares an answer with a reference.
func (g Rouge) Compare(got, ref RougeText) PRF {
	switch g.Kind {
	case "L":
		return Overlap(float64(commonLength(ref.places, len(ref.words), got.words)), len(got.words), len(ref.words))
	case "Lsum":
		return Overlap(float64(unionHits(got, ref)), len(got.words), len(ref.words))
	}
	n := int(g.Kind[0] - '0')
	u := WordUnits(got.words)
	return Overlap(ref.counts.Shared(u)[n-1], u.Runs(n), len(ref.words)-n+1)
}

// bitPosition has the positions of a unit within a word of 64 bits, which is at an index of a row.
type bitPosition struct {
	at   int
	bits uint64
}

func places[T comparable](in []T) map[T][]bitPosition {
	out := map[T][]bitPosition{}
	for i, x := range in {
		p := out[x]
		if n := len(p); n == 0 || p[n-1].at != i/64 {
			p = append(p, bitPosition{at: i / 64})
		}
		p[len(p)-1].bits |= 1 << (i % 64)
		out[x] = p
	}
	return out
}

// commonLength returns the length of the longest common subsequence of got and the n units in places. It
// handles 64 units at a time (Crochemore and others, 2001).
func commonLength[T comparable](places map[T][]bitPosition, n int, got []T) int {
	row := make([]uint64, (n+63)/64)
	for i := range row {
		row[i] = ^uint64(0)
	}
	for _, x := range got {
		next := places[x]
		carry := uint64(0)
		for w := 0; w < len(row); w++ {
			if carry == 0 { // no change before the next position
				if len(next) == 0 {
					break
				}
				w = next[0].at
			}
			v, mask := row[w], uint64(0)
			if len(next) > 0 && next[0].at == w {
				mask, next = next[0].bits, next[1:]
			}
			var sum uint64
			sum, carry = bits.Add64(v, v&mask, carry)
			row[w] = sum | v&^mask
		}
	}
	out := n
	for i := range n {
		out -= int(row[i/64] >> (i % 64) & 1)
	}
	return out
}

// unionHits is rouge-score's count for Lsum. For each line of the reference, it takes the words in a
// longest common subsequence with any line of the answer. Each word counts at most as often as in the
// answer and in the reference.
func unionHits(got, ref RougeText) int {
	mine, theirs := counted(got.words), counted(ref.words)
	hits := 0
	for _, line := range ref.lines {
		in := make([]bool, len(line))
		for _, other := range got.lines {
			markCommon(in, line, other)
		}
		for i, w := range line {
			if in[i] && mine[w] > 0 && theirs[w] > 0 {
				mine[w]--
				theirs[w]--
				hits++
			}
		}
	}
	return hits
}

func counted(words []string) map[string]int {
	out := map[string]int{}
	for _, w := range words {
		out[w]++
	}
	return out
}

// markCommon marks the words of ref in the longest common subsequence that rouge-score finds.
func markCommon(in []bool, ref, got []string) {
	width := len(got)
	steps := commonSteps(ref, got)
	for i, j := len(ref)-1, width-1; i >= 0 && j >= 0; {
		switch steps[i*width+j] {
		case stepBoth:
			in[i] = true
			i--
			j--
		case stepLeft:
			j--
		default:
			i--
		}
	}
}

// Steps back through the table of a longest common subsequence.
const (
	stepUp byte = iota
	stepLeft
	stepBoth
)

// commonSteps fills the table of these steps.
func commonSteps(ref, got []string) []byte {
	width := len(got)
	steps := make([]byte, len(ref)*width)
	above, row := make([]int32, width+1), make([]int32, width+1)
	for i, w := range ref {
		for j, x := range got {
			step := &steps[i*width+j]
			switch {
			case w == x:
				row[j+1], *step = above[j]+1, stepBoth
			case row[j] > above[j+1]:
				row[j+1], *step = row[j], stepLeft
			default:
				row[j+1], *step = above[j+1], stepUp
			}
		}
		above, row = row, above
	}
	return steps
}
