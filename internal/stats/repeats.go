package stats

// PassAtK is the unbiased estimate of the probability that at least one of k tries passes,
// from c passes in n scored tries: 1 - C(n-c,k)/C(n,k). False when fewer than k were scored, or
// for counts that are none: unknown is not 1.
// Source: Chen et al., arXiv 2107.03374; section A2.
func PassAtK(n, c, k int) (float64, bool) {
	if !triesKnown(n, c, k) {
		return 0, false
	}
	return 1 - chooseRatio(n-c, n, k), true
}

// PassHatK is the unbiased estimate of the probability that all of k tries pass (pass^k):
// C(c,k)/C(n,k). False as for PassAtK.
// Source: tau-bench, arXiv 2406.12045; section A2.
func PassHatK(n, c, k int) (float64, bool) {
	if !triesKnown(n, c, k) {
		return 0, false
	}
	return chooseRatio(c, n, k), true
}

func triesKnown(n, c, k int) bool { return k >= 1 && n >= k && c >= 0 && c <= n }

// chooseRatio is C(m,k)/C(n,k) for m <= n, as a product of factors in [0,1].
func chooseRatio(m, n, k int) float64 {
	if m < k {
		return 0
	}
	ratio := 1.0
	for i := range k {
		ratio *= float64(m-i) / float64(n-i)
	}
	return ratio
}
