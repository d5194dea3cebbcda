package stats

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
