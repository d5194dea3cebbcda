package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Bootstrap is the simulated law of a statistic over resamples of n units: for advisory
// figures without a formula, like a paired ratio of p95 latencies. Its intervals are badly too
// narrow below about 100 units and have no width when no unit differs: never a gate.
// Source: Efron 1979, 1987; section A1.1 and A1.3 for its error rates.
type Bootstrap struct {
	Estimate, SE float64
	Bias         float64 // z0 of BCa
	Acceleration float64
	law          []float64 // ascending
}

// NewBootstrap resamples the units 0 to n-1 with replacement and evaluates the statistic on each
// resample; the slice it is given is reused. Values that are not finite are left out. The
// result depends on seed only. No units or draws: zero, with unbounded intervals.
func NewBootstrap(n, draws int, seed uint64, statistic func(units []int) float64) Bootstrap {
	var b Bootstrap
	if n <= 0 || draws <= 0 {
		return b
	}
	units := make([]int, n)
	for i := range units {
		units[i] = i
	}
	b.Estimate = statistic(units)
	b.Acceleration = acceleration(n, statistic)
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a reproducible simulation, no secret
	for range draws {
		for i := range units {
			units[i] = random.IntN(n)
		}
		if v := statistic(units); finite(v) {
			b.law = append(b.law, v)
		}
	}
	if !finite(b.Estimate) || len(b.law) == 0 {
		return Bootstrap{}
	}
	slices.Sort(b.law)
	s := NewSample(b.law)
	b.SE = s.SD
	// Resamples that reproduce the estimate up to rounding count half.
	tolerance := 1e-12 * max(math.Abs(b.law[0]), math.Abs(b.law[len(b.law)-1]))
	below, _ := slices.BinarySearch(b.law, b.Estimate-tolerance)
	upTo, _ := slices.BinarySearch(b.law, b.Estimate+tolerance)
	b.Bias = NormalQuantile(float64(below+upTo) / 2 / float64(len(b.law)))
	return b
}

// acceleration is a sixth of the skewness of the jackknife values, mirrored.
func acceleration(n int, statistic func([]int) float64) float64 {
	values := make([]float64, 0, n)
	units := make([]int, 0, n)
	for left := range n {
		units = units[:0]
		for i := range n {
			if i != left {
				units = append(units, i)
			}
		}
		if len(units) > 0 {
			values = append(values, statistic(units))
		}
	}
	s := NewSample(values)
	if s.N == 0 {
		return 0
	}
	return -s.Skewness / (6 * math.Sqrt(float64(s.N)))
}

// Percentile is the interval between the quantiles of the law (inverse of its distribution
// function, R's type 1).
func (b Bootstrap) Percentile(conf float64) Interval {
	return b.between(tail(conf), 1-tail(conf))
}

// BCa is the bias-corrected and accelerated interval. A law of a single value has no width.
// Source: Efron, JASA 82, 1987.
func (b Bootstrap) BCa(conf float64) Interval { return b.between(b.levels(conf)) }

func (b Bootstrap) levels(conf float64) (lo, hi float64) {
	level := func(z float64) float64 {
		shifted := b.Bias + z
		return NormalCDF(b.Bias + shifted/max(1e-12, 1-b.Acceleration*shifted))
	}
	z := critical(conf)
	return level(-z), level(z)
}

func (b Bootstrap) between(lo, hi float64) Interval {
	if len(b.law) == 0 {
		return unbounded()
	}
	at := func(p float64) float64 {
		i := int(math.Ceil(p*float64(len(b.law)))) - 1
		return b.law[min(max(i, 0), len(b.law)-1)]
	}
	return Interval{at(lo), at(hi)}
}
