package stats

import (
	"cmp"
	"slices"
)

// Holm returns the adjusted p-values, in the order of p. Rejecting those of at most alpha bounds the
// probability of any false rejection by alpha, under any dependence. NaN counts as 1. Source: Holm,
// Scandinavian Journal of Statistics 6, 1979.
func Holm(p []float64) []float64 {
	adjusted, order := ascending(p)
	running := 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(p)-rank)*adjusted[i]))
		adjusted[i] = running
	}
	return adjusted
}

// BenjaminiHochberg returns the adjusted p-values, in the order of p. Rejecting those of at most q bounds
// the expected share of false rejections by q, for independent or positively dependent tests. NaN counts as
// 1. Source: Benjamini & Hochberg, JRSS B 57, 1995.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted, order := ascending(p)
	running := 1.0
	for rank, i := range slices.Backward(order) {
		running = min(running, adjusted[i]*float64(len(p))/float64(rank+1))
		adjusted[i] = running
	}
	return adjusted
}

func ascending(p []float64) (clean []float64, order []int) {
	clean = make([]float64, len(p))
	order = make([]int, len(p))
	for i, v := range p {
		clean[i], order[i] = probability(v), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(clean[i], clean[j]) })
	return clean, order
}
