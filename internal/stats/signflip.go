package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	signFlipExact = 20     // non-zero units up to which all 2^n sign patterns are counted
	signFlipDraws = 99_999 // so that the smallest p is 1e-5
)

// SignFlip is the randomisation test of differences symmetric about 0. It gives the share of sign patterns of the
// non-zero units whose sum is at most (worse), at least (better) or in size at least (twoSided) the sum seen. Up to
// 20 non-zero units every pattern is counted; beyond that 99,999 patterns are drawn from seed and p = (b+1)/(m+1), so
// that p is valid and never 0. The order of d does not matter. No non-zero unit: 1, 1 and 1. Source: Fisher 1935;
// (b+1)/(m+1): Phipson & Smyth 2010. With clusters d are the cluster sums.
func SignFlip(d []float64, seed uint64) (worse, better, twoSided float64) {
	var size []float64
	var signed []float64
	for _, v := range d {
		if v != 0 && finite(v) {
			size, signed = append(size, math.Abs(v)), append(signed, v)
		}
	}
	if len(size) == 0 {
		return 1, 1, 1
	}
	slices.Sort(size)
	slices.Sort(signed)
	var seen, total float64
	for i := range size {
		seen += signed[i]
		total += size[i]
	}
	// Equal sums may differ by rounding, which must not split a tie.
	count := flipCount{seen: seen, tolerance: 1e-12 * total}
	if len(size) <= signFlipExact {
		count.all(size)
	} else {
		count.draws(size, total, seed)
	}
	p := func(n int) float64 { return float64(n) / float64(count.patterns) }
	return p(count.low), p(count.high), p(count.far)
}

type flipCount struct {
	seen, tolerance          float64
	low, high, far, patterns int
}

func (c *flipCount) add(sum float64) {
	c.patterns++
	if sum <= c.seen+c.tolerance {
		c.low++
	}
	if sum >= c.seen-c.tolerance {
		c.high++
	}
	if math.Abs(sum) >= math.Abs(c.seen)-c.tolerance {
		c.far++
	}
}

// all adds the sums of two halves, a thousand each, instead of a million long sums.
func (c *flipCount) all(size []float64) {
	half := len(size) / 2
	right := signedSums(size[half:])
	for _, left := range signedSums(size[:half]) {
		for _, r := range right {
			c.add(left + r)
		}
	}
}

func signedSums(size []float64) []float64 {
	sums := []float64{0}
	for _, v := range size {
		next := make([]float64, 0, 2*len(sums))
		for _, s := range sums {
			next = append(next, s-v, s+v)
		}
		sums = next
	}
	return sums
}

func (c *flipCount) draws(size []float64, total float64, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // reproducible by design
	c.low, c.high, c.far, c.patterns = 1, 1, 1, 1
	for range signFlipDraws {
		sum := -total
		var bits uint64
		for i, v := range size {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			sum += 2 * v * float64(bits&1)
			bits >>= 1
		}
		c.add(sum)
	}
}
