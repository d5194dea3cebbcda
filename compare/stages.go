package compare

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// The set of the best is what stages leave. A stage tests that all arms that are left are equal, and rules out those
// that are worse than another of them; the last one rules out none. So the truly best arms all stay, together, with
// probability 1 - alpha: they are ruled out only by a stage in which one of them seems worse than an arm that is not better.
//
// A stage takes the largest of the studentised differences, against its distribution when both arms of all pairs are reversed
// in random units (max-T). Pairs of which that cannot be trusted have their own tests, at alpha over the number of all
// pairs (Holm); the others share the rest of alpha.
//
// Sources: stages: Hansen, Lunde & Nason, The model confidence set, Econometrica 79, 2011; step-down max-T: Romano &
// Wolf, JASA 100, 2005; Holm, Scandinavian Journal of Statistics 6, 1979.

// fewestDiffering is the least number of units in which two arms have to differ for max-T, and reversals how often units are reversed.
const (
	fewestDiffering = 10
	reversals       = 2048 // a multiple of 64
)

// best reports for each arm whether it may be the best.
func (k *ranker) best() []bool {
	in := make([]bool, len(k.arms))
	for i := range in {
		in[i] = true
	}
	for {
		left := slices.DeleteFunc(everyIndex(len(in)), func(i int) bool { return !in[i] })
		worse := k.ruledOut(left)
		if len(worse) == 0 {
			return in
		}
		for _, i := range worse {
			in[i] = false
		}
	}
}

func everyIndex(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (k *ranker) ruledOut(left []int) (out []int) {
	each := level(len(left), k.Alpha)
	limit := k.limit(left)
	for _, i := range left {
		if slices.ContainsFunc(left, func(j int) bool {
			switch d := &k.duels[i][j]; {
			case i == j:
				return false
			case d.steady:
				return d.z > limit && k.missed(i, j) <= k.Alpha/float64(len(left))
			default:
				return k.worse(i, j) <= each
			}
		}) {
			out = append(out, i)
		}
	}
	return out
}

// missed is the probability that arm j seems better than arm i because rare large losses are missing in the data. Shares
// of a few repeats vary enough to show by themselves how far they can fall.
func (k *ranker) missed(i, j int) float64 {
	d := &k.duels[i][j]
	if d.missed == 0 || k.Metric == eval.MetricPass || k.Metric == eval.MetricBlocked {
		return d.missed
	}
	return k.worse(i, j)
}

// limit is what the largest studentised difference of all steady pairs has to exceed, at the share of alpha that these
// pairs have in all. The data count as one more draw.
func (k *ranker) limit(left []int) float64 {
	most, steady, all := make([]float32, reversals), 0, 0
	for at, i := range left {
		for _, j := range left[at+1:] {
			if all++; !k.duels[i][j].steady {
				continue
			}
			steady++
			for b, z := range k.duels[i][j].flips {
				most[b] = max(most[b], z)
			}
		}
	}
	beyond := int(k.Alpha*float64(steady)/float64(max(1, all))*(reversals+1)) - 1
	if beyond < 0 {
		return math.Inf(1)
	}
	slices.Sort(most)
	return float64(most[reversals-1-beyond]) + 1e-6 // equal values may differ by rounding
}

// spreads is the difference of two arms in standard errors.
type spreads struct {
	// z is the sum of the differences over the root of the sum of their squares. Unlike Student's t it does not grow
	// beyond bounds where all units differ alike, and reversing units leaves the root as it is.
	z       float64
	flips   []float32 // sizes of z with both arms reversed in random units
	steady  bool      // enough units differ for flips
	missed  float64   // probability that the data missed losses that make both arms equal; 0 for differences of -1, 0 and 1
	varies  float64   // mean of the squared differences, never 0
	counted bool      // differences are -1, 0 or 1
}

func (e *evidence) spreads() spreads {
	var sum, squares float64
	differing := 0
	for _, s := range e.sums {
		if s != 0 {
			differing++
		}
		sum, squares = sum+s, squares+s*s
	}
	s := spreads{varies: 1, steady: differing >= fewestDiffering}
	if differing > 0 {
		s.z = sum / math.Sqrt(squares)
	}
	for i, d := range e.d {
		s.varies += e.weights[i] * d * d
	}
	s.varies /= float64(e.n) + 2
	if e.n == 0 {
		return s
	}
	if t := newMeans(e.d, e.weights, 0); t.whole() {
		s.counted = true
	} else {
		s.missed = math.Pow(1/(1+max(0, e.mean(e.d))), effective(e.weights))
	}
	return s
}

// reversedUnits says for a draw of eight units, by bits, in which ones both arms are reversed.
type reversedUnits [reversals]byte

// mostSigns bounds what is kept of them: 8 MB.
const mostSigns = 4096

// reversed are the draws of the units 8*at to 8*at+7, the same ones for all pairs of arms.
func (k *ranker) reversed(at int) *reversedUnits {
	if at < len(k.signs) && k.signs[at] != nil {
		return k.signs[at]
	}
	out := new(reversedUnits)
	for bit := range 8 {
		random := rand.New(rand.NewPCG(k.Seed, uint64(8*at+bit))) //nolint:gosec // reproducible by design
		for from := 0; from < reversals; from += 64 {
			word := random.Uint64()
			for b := range 64 {
				out[from+b] |= byte(word>>b&1) << bit
			}
		}
	}
	if at < len(k.signs) {
		k.signs[at] = out
	}
	return out
}

// signed are the sums of values of units, with their signs reversed in random units.
func (k *ranker) signed(values []float64) *[reversals]float64 {
	out := new([reversals]float64)
	for at := 0; 8*at < len(values); at++ {
		eight := values[8*at : min(8*at+8, len(values))]
		var all [256]float64 // sums of the eight, by which ones are reversed
		for _, v := range eight {
			all[0] += v
		}
		for i := 1; i < len(all); i++ {
			all[i] = all[i&(i-1)]
			if lowest := bits.TrailingZeros(uint(i)); lowest < len(eight) {
				all[i] -= 2 * eight[lowest]
			}
		}
		for b, which := range k.reversed(at) {
			out[b] += all[which]
		}
	}
	return out
}

// flips are sizes of z with both arms reversed in random units, given the differences of the units. Those are mostly
// the differences of what each arm has by itself, whose sums serve all of its pairs.
func (k *ranker) flips(i, j int, sums []float64) []float32 {
	squares, byArm := 0.0, true
	for unit, s := range sums {
		squares += s * s
		byArm = byArm && math.Abs(k.totals[j][unit]-k.totals[i][unit]-s) < rounding/float64(len(sums))
	}
	more, less := k.drawn[j], k.drawn[i]
	if !byArm {
		more, less = k.signed(sums), new([reversals]float64)
	}
	out, root := make([]float32, reversals), math.Sqrt(squares)
	for b := range out {
		out[b] = float32(math.Abs(more[b]-less[b]) / root)
	}
	return out
}

// unitSums is what a bound of the mean difference by max-T takes: with the differences from the mean as residuals, their squares
// and those of the units' sizes, and the products of both.
type unitSums struct{ n, mean, residuals, sizes, products float64 }

func (e *evidence) unitSums() (u unitSums) {
	for unit, size := range e.sizes {
		u.n += size
		u.mean += e.sums[unit]
	}
	u.mean /= max(1, u.n)
	for unit, size := range e.sizes {
		r := e.sums[unit] - u.mean*size
		u.residuals, u.sizes, u.products = u.residuals+r*r, u.sizes+size*size, u.products+r*size
	}
	return u
}

// lower is the least mean whose z is not beyond the limit: at a distance of x from the mean the z is x*n over the root of
// residuals + 2*x*products + x*x*sizes.
func (u *unitSums) lower(limit float64) float64 {
	a := u.n*u.n - limit*limit*u.sizes
	if !(a > 0) {
		return -1
	}
	b, c := limit*limit*u.products, limit*limit*u.residuals
	return max(-1, u.mean-(b+math.Sqrt(b*b+a*c))/a)
}

// bounds are lower bounds of the mean of arm i less that of arm j, for all arms together.
func (k *ranker) bounds() func(i, j int) float64 {
	limit, each := k.limit(everyIndex(len(k.arms))), level(len(k.arms), k.Alpha)
	out := make([][]float64, len(k.arms))
	for i := range out {
		out[i] = make([]float64, len(k.arms))
		for j := range out {
			if i == j {
				continue
			}
			d := &k.duels[j][i]
			out[i][j] = 1
			if d.steady {
				for _, u := range d.bounds {
					out[i][j] = min(out[i][j], u.lower(limit))
				}
				continue
			}
			for _, e := range k.evidence(j, i) {
				out[i][j] = min(out[i][j], k.atLeast(&e.units, each))
			}
		}
	}
	return func(i, j int) float64 { return out[i][j] }
}
