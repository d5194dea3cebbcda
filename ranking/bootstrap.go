package ranking

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/internal/stats"
)

// draws is the number of resamples.
const draws = 2000

// drawnHalf is the mean of a half of the prior in a draw.
const drawnHalf = 3 * priorHalf

// bootstrap are the preferences that samples of the units give.
type bootstrap struct {
	center []float64   // angles of the preferences over the others
	drawn  [][]float64 // the same, by draw
	units  int
}

// bootstrap draws units with replacement. The halves of the prior are drawn too, with exponential weights (Newton & Raftery, JRSS B 56,
// 1994), and count three times as much: samples of cases in which an arm never lost do not show how often it may.
func (t *tally) bootstrap(f *davidson, seed uint64) *bootstrap {
	random := rand.New(rand.NewPCG(seed, uint64(len(t.members)))) //nolint:gosec // reproducible, no secret
	b := &bootstrap{center: angles(f.field()), units: len(t.units)}
	pairs, weights := slices.Clone(t.pairs), evenPrior(len(t.members))
	for range draws {
		for i := range pairs {
			pairs[i].w, pairs[i].l, pairs[i].t = 0, 0, 0
		}
		for range t.units {
			for i, unit := 0, t.units[random.IntN(len(t.units))]; i < len(unit); i++ {
				pairs[unit[i].pair].add(&unit[i].counts, 1)
			}
		}
		for i := range weights {
			weights[i] = [2]float64{drawnHalf * random.ExpFloat64(), drawnHalf * random.ExpFloat64()}
		}
		b.drawn = append(b.drawn, angles(newton(pairs, weights, f).field()))
	}
	return b
}

// angles are preferences on the scale of arcsines of roots, where errors hardly depend on the preference; log strengths have no bounds,
// and their errors grow without one near an arm that won all.
func angles(p []float64) []float64 {
	out := make([]float64, len(p))
	for i, x := range p {
		out[i] = math.Asin(math.Sqrt(x))
	}
	return out
}

// shareOf is the preference of an angle.
func shareOf(angle float64) float64 {
	s := math.Sin(min(max(angle, 0), math.Pi/2))
	return s * s
}

// wider is by how much the draws of few units vary too little: the variance of a sample, and Student's tails at a level instead of normal
// ones.
func (b *bootstrap) wider(level float64) float64 {
	n := float64(b.units)
	return math.Sqrt(n/(n-1)) * stats.StudentTQuantile(1-level, n-1) / stats.NormalQuantile(1-level)
}

// intervals are those of the preferences, all of them right at once with the probability 1-alpha: max-t on the scale of angles.
func (b *bootstrap) intervals(alpha float64) [][2]float64 {
	k := len(b.center)
	errors, largest := make([]float64, k), make([]float64, len(b.drawn))
	for i := range k {
		errors[i] = b.deviation(func(draw int) float64 { return b.drawn[draw][i] - b.center[i] })
		for draw, drawn := range b.drawn {
			largest[draw] = max(largest[draw], math.Abs(drawn[i]-b.center[i])/errors[i])
		}
	}
	c := b.wider(alpha/float64(2*k)) * quantile(largest, 1-alpha)
	out := make([][2]float64, k)
	for i, x := range b.center {
		out[i] = [2]float64{shareOf(x - c*errors[i]), shareOf(x + c*errors[i])}
	}
	return out
}

// best reports of each arm whether it cannot be ruled out as the most preferred one: no other arm is ahead by more than the largest of
// such differences varies.
func (b *bootstrap) best(alpha float64) []bool {
	out := make([]bool, len(b.center))
	for i := range out {
		seen, largest := math.Inf(-1), make([]float64, len(b.drawn))
		for j := range out {
			if j == i {
				continue
			}
			ahead := b.center[j] - b.center[i]
			err := b.deviation(func(draw int) float64 { return b.drawn[draw][j] - b.drawn[draw][i] - ahead })
			seen = max(seen, ahead/err)
			for draw, drawn := range b.drawn {
				largest[draw] = max(largest[draw], (drawn[j]-drawn[i]-ahead)/err)
			}
		}
		out[i] = seen <= b.wider(alpha/float64(len(out)-1))*quantile(largest, 1-alpha)
	}
	return out
}

// deviation is the root of the mean square over the draws.
func (b *bootstrap) deviation(of func(draw int) float64) float64 {
	sum := 0.0
	for draw := range b.drawn {
		x := of(draw)
		sum += x * x
	}
	return math.Sqrt(sum/float64(len(b.drawn))) + 1e-12
}

// quantile is the smallest of x that a share p of them does not exceed.
func quantile(x []float64, p float64) float64 {
	slices.Sort(x)
	return x[min(len(x)-1, int(math.Ceil(p*float64(len(x)))))]
}
