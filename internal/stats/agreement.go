package stats

import (
	"math"
	"slices"
)

// Weight says how much a disagreement between two categories counts in CohenKappa.
type Weight int

// The weights of a disagreement between the i-th and j-th category: 1, |i-j| and (i-j)^2.
const (
	Unweighted Weight = iota
	Linear
	Quadratic
)

func (w Weight) of(i, j int) float64 {
	switch distance := math.Abs(float64(i - j)); {
	case distance == 0:
		return 0
	case w == Linear:
		return distance
	case w == Quadratic:
		return distance * distance
	}
	return 1
}

// CohenKappa is the agreement of two raters beyond chance: 1 complete, 0 as by chance. The categories are the labels
// that occur, in ascending order. For Linear and Quadratic their position is the scale (as in scikit-learn), so
// labels that do not occur take no room. False when chance alone would agree always (one category), without ratings,
// or for different numbers of them. Source: Cohen 1960; weighted: Cohen, Psychological Bulletin 70, 1968.
func CohenKappa(a, b []int, w Weight) (float64, bool) {
	if len(a) != len(b) || len(a) == 0 {
		return 0, false
	}
	labels := slices.Concat(a, b)
	slices.Sort(labels)
	labels = slices.Compact(labels)
	countA, countB := make([]float64, len(labels)), make([]float64, len(labels))
	var seen, chance float64
	for i := range a {
		ia, _ := slices.BinarySearch(labels, a[i])
		ib, _ := slices.BinarySearch(labels, b[i])
		countA[ia]++
		countB[ib]++
		seen += w.of(ia, ib)
	}
	for i, x := range countA {
		for j, y := range countB {
			chance += w.of(i, j) * x * y / float64(len(a))
		}
	}
	if chance == 0 {
		return 0, false
	}
	return 1 - seen/chance, true
}

// FleissKappa is the agreement of several raters beyond chance: 1 complete, 0 as by chance. Each row counts, for one
// subject, how often each category was chosen; every subject has the same number of ratings, two at least. False when
// chance alone would agree always (one category), without subjects, or for rows of different sums or lengths.
// Source: Fleiss, Psychological Bulletin 76, 1971.
func FleissKappa(rows [][]int) (float64, bool) {
	if len(rows) == 0 {
		return 0, false
	}
	raters := sumOf(rows[0])
	shares := make([]float64, len(rows[0]))
	seen := 0.0
	for _, row := range rows {
		if len(row) != len(shares) || sumOf(row) != raters || raters < 2 {
			return 0, false
		}
		pairs := 0
		for c, n := range row {
			if n < 0 {
				return 0, false
			}
			pairs += n * (n - 1)
			shares[c] += float64(n)
		}
		seen += float64(pairs) / float64(raters*(raters-1))
	}
	seen /= float64(len(rows))
	chance, categories := 0.0, 0
	for _, s := range shares {
		p := s / float64(raters*len(rows))
		chance += p * p
		if s > 0 {
			categories++
		}
	}
	if categories < 2 {
		return 0, false
	}
	return (seen - chance) / (1 - chance), true
}

func sumOf(row []int) int {
	total := 0
	for _, n := range row {
		total += n
	}
	return total
}
