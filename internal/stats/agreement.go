package stats

// kappaAgreement is the agreement of two raters beyond chance.
type kappaAgreement struct {
	Value  float64 // 1 complete, 0 as by chance
	chance float64 // the agreement by chance
}

// Of is the kappa of another share of agreement, such as a bound of an interval. The agreement by chance is taken as known.
func (k kappaAgreement) Of(agreement float64) float64 {
	return max(-1, (agreement-k.chance)/(1-k.chance))
}

// CohenKappa compares the labels that two raters gave. It is false when chance alone would agree always (one label),
// without ratings, or for different numbers of them. Source: Cohen 1960.
func CohenKappa(a, b []int) (kappaAgreement, bool) {
	if len(a) != len(b) || len(a) == 0 {
		return kappaAgreement{}, false
	}
	countA, countB, agree := map[int]int{}, map[int]int{}, 0
	for i := range a {
		countA[a[i]]++
		countB[b[i]]++
		if a[i] == b[i] {
			agree++
		}
	}
	pairs, equal := len(a)*len(a), 0
	for label, n := range countA {
		equal += n * countB[label]
	}
	if equal == pairs {
		return kappaAgreement{}, false
	}
	n, chance := float64(len(a)), float64(equal)/float64(pairs)
	return kappaAgreement{1 - (n-float64(agree))/(n*(1-chance)), chance}, true
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

// KrippendorffAlpha is the agreement of several raters beyond chance, for categories without an order: 1 complete, 0 as by
// chance. Each row counts, for one subject, how often each category was chosen. Subjects may have different numbers of
// ratings; those with one do not count. False when there is nothing to compare, or one category.
// Source: Krippendorff, Content Analysis, chapter 12.
func KrippendorffAlpha(rows [][]int) (float64, bool) {
	var total, agreed float64
	categories := map[int]float64{}
	for _, row := range rows {
		n := float64(sumOf(row))
		if n < 2 {
			continue
		}
		total += n
		for c, k := range row {
			categories[c] += float64(k)
			agreed += float64(k*(k-1)) / (n - 1)
		}
	}
	pairs := total * (total - 1)
	byChance := 0.0
	for _, k := range categories {
		byChance += k * (k - 1)
	}
	if total == 0 || byChance == pairs {
		return 0, false
	}
	return 1 - (1-agreed/total)/(1-byChance/pairs), true
}

func sumOf(row []int) int {
	total := 0
	for _, n := range row {
		total += n
	}
	return total
}
