package stats

import (
	"math"
	"slices"
)

// RankTest is the outcome of a rank test: its statistic and p-values. Worse is the lower
// tail (B smaller), Better the upper one, ties with the statistic included in both.
type RankTest struct{ Statistic, Worse, Better, TwoSided float64 }

// Up to these numbers the distribution of the ranks, ties included, is computed exactly;
// beyond them its normal limit is used, with the variance under ties.
const (
	signedRankExact  = 200
	mannWhitneyExact = 100
)

// WilcoxonSignedRank tests differences symmetric about 0 by the sum V of the ranks of the
// positive ones, mid-ranks for ties; zeros are dropped before ranking. Exact for the ties at
// hand up to 200 units. Without non-zero units: V = 0 and every p = 1.
// Source: Wilcoxon 1945; section A2. Not a gate: it tests a pseudo-median under symmetry.
func WilcoxonSignedRank(d []float64) RankTest {
	nonZero := slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return v == 0 })
	return WilcoxonPratt(nonZero)
}

// WilcoxonPratt is WilcoxonSignedRank with Pratt's treatment of zeros: ranked with the
// others, then left out.
// Source: Pratt, JASA 54, 1959.
func WilcoxonPratt(d []float64) RankTest {
	signed := slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return !finite(v) })
	size := make([]float64, len(signed))
	for i, v := range signed {
		size[i] = math.Abs(v)
	}
	var ranks []int
	statistic := 0
	for i, r := range doubledRanks(size) {
		if signed[i] != 0 {
			ranks = append(ranks, r)
		}
		if signed[i] > 0 {
			statistic += r
		}
	}
	if len(ranks) == 0 {
		return RankTest{0, 1, 1, 1}
	}
	if len(ranks) <= signedRankExact {
		return exactTails(statistic, 0, signedRankLaw(ranks))
	}
	var mean, variance float64
	for _, r := range ranks {
		rank := float64(r) / 2
		mean += rank / 2
		variance += rank * rank / 4
	}
	return normalTails(float64(statistic)/2, mean, variance)
}

// signedRankLaw is the distribution of the sum of doubled ranks, each taken with
// probability 1/2.
func signedRankLaw(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	law := make([]float64, total+1)
	law[0] = 1
	reached := 0
	for _, r := range ranks {
		reached += r
		for s := reached; s >= 0; s-- {
			law[s] /= 2
			if s >= r {
				law[s] += law[s-r] / 2
			}
		}
	}
	return law
}

// MannWhitney tests two independent samples by U, the number of pairs in which B is larger,
// ties counting half. Exact for the ties at hand up to 100 values together. A side
// without values: U = 0 and every p = 1.
// Source: Mann & Whitney 1947; section A2, printed next to Welch.
func MannWhitney(a, b []float64) RankTest {
	keep := func(d []float64) []float64 {
		return slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return !finite(v) })
	}
	a, b = keep(a), keep(b)
	na, nb := len(a), len(b)
	if na == 0 || nb == 0 {
		return RankTest{0, 1, 1, 1}
	}
	ranks := doubledRanks(append(b, a...))
	statistic := -nb * (nb + 1)
	for _, r := range ranks[:nb] {
		statistic += r
	}
	if na+nb <= mannWhitneyExact {
		return exactTails(statistic, nb*(nb+1), rankSumLaw(ranks, nb))
	}
	n := float64(na + nb)
	var squares float64
	for _, r := range ranks {
		e := float64(r)/2 - (n+1)/2
		squares += e * e
	}
	pairs := float64(na) * float64(nb)
	return normalTails(float64(statistic)/2, pairs/2, pairs*squares/(n*(n-1)))
}

// rankSumLaw is the distribution of the sum of the doubled ranks of k values out of all, every
// choice of k being equally likely: the values are taken or left one after the other.
func rankSumLaw(ranks []int, k int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	laws := make([][]float64, k+1)
	for i := range laws {
		laws[i] = make([]float64, total+1)
	}
	laws[0][0] = 1
	n := len(ranks)
	for i, r := range ranks {
		for taken := min(i, k); taken >= 0; taken-- {
			take := float64(k-taken) / float64(n-i)
			for s, p := range laws[taken] {
				if p == 0 {
					continue
				}
				if taken < k {
					laws[taken+1][s+r] += p * take
				}
				laws[taken][s] = p * max(0, 1-take)
			}
		}
	}
	return laws[k]
}

// doubledRanks are twice the mid-ranks, whole numbers even for ties.
func doubledRanks(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	ranks := make([]int, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to
		}
		from = to
	}
	return ranks
}

// exactTails reads the tails off the law of a doubled statistic shifted by offset.
func exactTails(doubled, offset int, law []float64) RankTest {
	t := RankTest{Statistic: float64(doubled) / 2}
	for s, p := range law {
		if s <= doubled+offset {
			t.Worse += p
		}
		if s >= doubled+offset {
			t.Better += p
		}
	}
	t.Worse, t.Better = probability(t.Worse), probability(t.Better)
	t.TwoSided = min(1, 2*min(t.Worse, t.Better))
	return t
}

// normalTails is the normal limit with the continuity correction of 1/2.
func normalTails(statistic, mean, variance float64) RankTest {
	t := RankTest{Statistic: statistic, Worse: 1, Better: 1, TwoSided: 1}
	if variance > 0 {
		sd := math.Sqrt(variance)
		t.Worse = NormalCDF((t.Statistic - mean + 0.5) / sd)
		t.Better = NormalCDF((mean - t.Statistic + 0.5) / sd)
		t.TwoSided = min(1, 2*min(t.Worse, t.Better))
	}
	return t
}
