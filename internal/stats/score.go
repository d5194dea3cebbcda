package stats

import "math"

// sample sums up the differences (or scores) of independent units.
type sample struct {
	N        int
	Mean     float64
	SD       float64 // with N-1; 0 for fewer than two units and for constant ones
	SE       float64 // SD/sqrt(N)
	Skewness float64 // g1 = m3/m2^1.5, moments with N; 0 for constant units
}

// newSample summarises d. Values that differ by rounding only (1e-12 of the largest) count
// as constant: a standard error made of rounding would prove anything. NaN,
// infinities and sizes above 1e100 are not data: they are left out, and N counts the others.
// Source: the usual estimators; g1 as in Joanes & Gill, The Statistician 47, 1998.
func newSample(d []float64) sample {
	var s sample
	lo := math.Inf(1)
	hi := math.Inf(-1)
	sum := 0.0
	for _, v := range d {
		if finite(v) {
			s.N++
			sum += v
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if s.N == 0 {
		return s
	}
	n := float64(s.N)
	s.Mean = sum / n
	if hi-lo <= 1e-12*max(math.Abs(lo), math.Abs(hi)) {
		return s
	}
	var m2, m3 float64
	for _, v := range d {
		if finite(v) {
			e := v - s.Mean
			m2 += e * e
			m3 += e * e * e
		}
	}
	s.SD = math.Sqrt(m2 / (n - 1))
	s.SE = s.SD / math.Sqrt(n)
	s.Skewness = (m3 / n) / math.Pow(m2/n, 1.5)
	return s
}

// tTails returns t and the one-sided and two-sided p of "the parameter is 0". Without a
// standard error there is no test: 0 and 1.
func tTails(estimate, se, df float64) (t, worse, better, twoSided float64) {
	if !(se > 0) || !(df > 0) {
		return 0, 1, 1, 1
	}
	t = estimate / se
	worse, better = studentTCDF(t, df), studentTCDF(-t, df)
	return t, worse, better, min(1, 2*min(worse, better))
}

// PairedT is Student's test of mean difference 0. Fewer than two units or a standard error
// of 0: t = 0 and every p = 1.
// Source: Student 1908.
func PairedT(d []float64) (t, worse, better, twoSided float64) {
	s := newSample(d)
	return tTails(s.Mean, s.SE, float64(s.N-1))
}

// NonInferiorityT is the p value of the hypothesis that the mean difference is -margin or less. Fewer than two units or
// a standard error of 0: 1. It holds where UseT says so.
func NonInferiorityT(d []float64, margin float64) float64 {
	s := newSample(d)
	_, _, better, _ := tTails(s.Mean+margin, s.SE, float64(s.N-1))
	return better
}

// NonInferiorityHall is NonInferiorityT with Hall's correction for skewness: t is too sure of a mean whose rare large
// losses the data have hardly shown. Fewer than two units or a standard error of 0: 1. Source: Hall, JRSS B 54, 1992,
// the monotone transformation; section C, "where the t rule misses it".
func NonInferiorityHall(d []float64, margin float64) float64 {
	s := newSample(d)
	if !(s.SE > 0) {
		return 1
	}
	t, root := (s.Mean+margin)/s.SE, math.Sqrt(float64(s.N))
	a := s.Skewness / root
	t += a*t*t/3 + a*a*t*t*t/27 + a/6
	_, _, better, _ := tTails(t, 1, float64(s.N-1))
	return better
}

// skewnessCases is the number of units from which t may be trusted at skewness g1:
// 28 + 25*g1^2.
// Source: Sugden, Smith & Jones, JRSS B 62, 2000, extending Cochran.
func skewnessCases(g1 float64) float64 { return 28 + 25*g1*g1 }

// UseT says whether the t rules apply to d: enough units for their skewness and a standard
// error above 0. Otherwise Gaffke decides; with a standard error of 0 and 28 units t would
// pass 24 % of true 5-point losses.
func UseT(d []float64) bool {
	s := newSample(d)
	return s.SE > 0 && float64(s.N) >= skewnessCases(s.Skewness)
}
