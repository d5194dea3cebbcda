package stats

import "math"

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

// Repeats splits the variance of the paired difference of case means into the part that more
// cases and the part that more repeats reduce.
type Repeats struct {
	Cases            int
	MeanDiff         float64 // B - A
	VarD             float64 // variance over cases of the difference of case means
	WithinA, WithinB float64 // mean variance within a case, over cases with two repeats or more
	Omega2           float64 // VarD without the noise within cases, at least 0
	SE               float64 // for a population of cases
	SEManyRepeats    float64 // what SE tends to with ever more repeats: no less with these cases
	SEFixedSuite     float64 // for this list of cases: noise of the model only
	HasWithin        bool    // both sides had a case with two repeats; else Within* and Omega2 say nothing
}

// RepeatsVariance takes the scores of every case, one slice per case and side in the same
// order; cases without a score on either side are left out. No cases: zero; one case: no
// variance over cases, hence SE 0 with Cases 1.
// Source: Miller, arXiv 2411.00640: var_d = omega^2 + sA^2/KA + sB^2/KB; section A2.
func RepeatsVariance(a, b [][]float64) Repeats {
	var diffs []float64
	var noiseA, noiseB, sumA, sumB, timesA, timesB float64
	for i, scores := range a[:min(len(a), len(b))] {
		sa, sb := NewSample(scores), NewSample(b[i])
		if sa.N == 0 || sb.N == 0 {
			continue
		}
		diffs = append(diffs, sb.Mean-sa.Mean)
		noiseA += sa.SE * sa.SE
		noiseB += sb.SE * sb.SE
		if sa.N > 1 {
			sumA += sa.SD * sa.SD
			timesA++
		}
		if sb.N > 1 {
			sumB += sb.SD * sb.SD
			timesB++
		}
	}
	s := NewSample(diffs)
	r := Repeats{Cases: s.N, MeanDiff: s.Mean, VarD: s.SD * s.SD, SE: s.SE, HasWithin: timesA > 0 && timesB > 0}
	if s.N == 0 {
		return r
	}
	n := float64(s.N)
	r.WithinA, r.WithinB = sumA/max(1, timesA), sumB/max(1, timesB)
	r.Omega2 = max(0, r.VarD-(noiseA+noiseB)/n)
	r.SEManyRepeats = math.Sqrt(r.Omega2 / n)
	r.SEFixedSuite = math.Sqrt((noiseA + noiseB) / (n * n))
	return r
}
