package stats

import "math"

// Ratio is the estimate of a ratio B/A of paired positive amounts, 1 being no change.
type Ratio struct {
	N        int // pairs
	Estimate float64
	SE       float64 // of the estimate, or of its logarithm when Log
	Log      bool
	Interval Interval // within [0, MaxFloat64]; all of that when nothing is known
}

// LogRatioT is the geometric mean of the ratios b[i]/a[i], t on their logarithms: for
// latencies. Fewer than two pairs, slices of different lengths, an amount that is not
// positive, or ratios that are all the same: N as given, SE 0 and no interval.
// Source: section A2, latency; bioequivalence practice (Schuirmann 1987).
func LogRatioT(a, b []float64, conf float64) Ratio {
	logs := make([]float64, 0, len(a))
	if len(a) != len(b) {
		return unknownRatio(0, true)
	}
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) || !finite(a[i]) || !finite(b[i]) {
			return unknownRatio(len(a), true)
		}
		logs = append(logs, math.Log(b[i])-math.Log(a[i]))
	}
	s := NewSample(logs)
	out := unknownRatio(s.N, true)
	if s.N == 0 {
		return out
	}
	out.Estimate, out.SE = math.Exp(s.Mean), s.SE
	if i := MeanT(logs, conf); i.Bounded() {
		out.Interval = Interval{math.Exp(i.Lo), min(math.Exp(i.Hi), math.MaxFloat64)}
	}
	return out
}

// RatioOfSums is sum(b)/sum(a) with the standard error of the residuals b - R*a: for tokens
// and money, where single amounts may be zero. With clusters a and b are the cluster sums.
// Fewer than two pairs, slices of different lengths, a sum of a that is not positive, or
// residuals that are all zero: SE 0 and no interval.
// Source: Cochran, Sampling Techniques, 1977, section 6.3; section A2, tokens and cost.
func RatioOfSums(a, b []float64, conf float64) Ratio {
	if len(a) != len(b) {
		return unknownRatio(0, false)
	}
	out := unknownRatio(len(a), false)
	n := float64(len(a))
	var sumA, sumB float64
	for i := range a {
		sumA += a[i]
		sumB += b[i]
	}
	if !(sumA > 0) || !finite(sumA) || !finite(sumB) {
		return out
	}
	out.Estimate = sumB / sumA
	var squares float64
	for i := range a {
		e := b[i] - out.Estimate*a[i]
		squares += e * e
	}
	meanA := sumA / n
	// Residuals made of rounding would prove any ratio.
	if se := math.Sqrt(squares/(n-1)/n) / meanA; len(a) > 1 && se > 1e-14*out.Estimate {
		out.SE = se
		i := tInterval(out.Estimate, se, n-1, conf)
		out.Interval = Interval{max(i.Lo, 0), i.Hi}
	}
	return out
}

func unknownRatio(n int, log bool) Ratio {
	return Ratio{N: n, Log: log, Interval: Interval{0, math.MaxFloat64}}
}

// NonInferiority is the p of the hypothesis that the ratio is limit (say 1.10) or more,
// larger being worse. Without a standard error: 1.
// Source: section A2.
func (r Ratio) NonInferiority(limit float64) float64 {
	below, _ := r.tails(limit)
	return below
}

// Worse is the p of the hypothesis that the ratio is at most 1. Without a standard error: 1.
func (r Ratio) Worse() float64 {
	_, above := r.tails(1)
	return above
}

// Better is the p of the hypothesis that the ratio is at least 1. Without a standard error: 1.
func (r Ratio) Better() float64 { return r.NonInferiority(1) }

// tails are the p-values of "at least limit" and "at most limit".
func (r Ratio) tails(limit float64) (below, above float64) {
	excess := r.Estimate - limit
	if r.Log {
		if !(limit > 0) || !(r.Estimate > 0) {
			return 1, 1
		}
		excess = math.Log(r.Estimate / limit)
	}
	_, below, above, _ = tTails(excess, r.SE, float64(r.N-1))
	return below, above
}
