package ranking

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/internal/stats"
)

// draws is how often units are drawn anew.
const draws = 1000

// bootstrap are the strengths that samples of the units give.
type bootstrap struct {
	fitted *davidson
	theta  [][]float64 // by draw
	field  [][]float64 // logits of the preference over the others, by draw
	units  int
}

// bootstrap draws units with replacement. The halves of the prior are drawn too, with exponential weights, so that an arm that won all
// has no interval of the length 0 (Newton & Raftery, JRSS B 56, 1994).
func (t *tally) bootstrap(f *davidson, seed uint64) *bootstrap {
	random := rand.New(rand.NewPCG(seed, uint64(len(t.members)))) //nolint:gosec // reproducible, no secret
	b := &bootstrap{fitted: f, units: len(t.units)}
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
			weights[i] = [2]float64{priorHalf * random.ExpFloat64(), priorHalf * random.ExpFloat64()}
		}
		one := newton(pairs, weights, f)
		b.theta = append(b.theta, one.theta)
		b.field = append(b.field, logits(one.field()))
	}
	return b
}

func logits(p []float64) []float64 {
	out := make([]float64, len(p))
	for i, x := range p {
		out[i] = math.Log(x) - math.Log1p(-x)
	}
	return out
}

// wider is by how much the draws of few units vary too little: the variance of a sample, and Student's tails at a level instead of normal
// ones.
func (b *bootstrap) wider(level float64) float64 {
	n := float64(b.units)
	return math.Sqrt(n/(n-1)) * stats.StudentTQuantile(1-level, n-1) / stats.NormalQuantile(1-level)
}

// intervals are those of the preferences, all of them right at once with the probability 1-alpha: max-t on the scale of logits.
func (b *bootstrap) intervals(alpha float64) [][2]float64 {
	center := logits(b.fitted.field())
	k := len(center)
	errors := make([]float64, k)
	for i := range k {
		errors[i] = b.deviation(func(draw int) float64 { return b.field[draw][i] - center[i] })
	}
	largest := make([]float64, len(b.field))
	for draw, field := range b.field {
		for i := range k {
			largest[draw] = max(largest[draw], math.Abs(field[i]-center[i])/errors[i])
		}
	}
	c := b.wider(alpha/float64(2*k)) * quantile(largest, 1-alpha)
	out := make([][2]float64, k)
	for i := range k {
		out[i] = [2]float64{logistic(center[i] - c*errors[i]), logistic(center[i] + c*errors[i])}
	}
	return out
}

// best reports of each arm whether it cannot be ruled out as the most preferred one: no other arm is stronger by more than the largest
// of such differences varies.
func (b *bootstrap) best(alpha float64) []bool {
	theta := b.fitted.theta
	out := make([]bool, len(theta))
	for i := range theta {
		errors := make([]float64, len(theta))
		seen := 0.0
		for j := range theta {
			if j != i {
				errors[j] = b.deviation(func(draw int) float64 { return b.theta[draw][j] - b.theta[draw][i] - (theta[j] - theta[i]) })
				seen = max(seen, (theta[j]-theta[i])/errors[j])
			}
		}
		largest := make([]float64, len(b.theta))
		for draw, drawn := range b.theta {
			largest[draw] = math.Inf(-1)
			for j := range theta {
				if j != i {
					largest[draw] = max(largest[draw], (drawn[j]-drawn[i]-(theta[j]-theta[i]))/errors[j])
				}
			}
		}
		out[i] = seen <= b.wider(alpha/float64(len(theta)-1))*quantile(largest, 1-alpha)
	}
	return out
}

// deviation is the root of the mean square over the draws.
func (b *bootstrap) deviation(of func(draw int) float64) float64 {
	sum := 0.0
	for draw := range b.theta {
		x := of(draw)
		sum += x * x
	}
	return math.Sqrt(sum/float64(len(b.theta))) + 1e-12
}

// quantile is the smallest of x that a share p of them does not exceed.
func quantile(x []float64, p float64) float64 {
	slices.Sort(x)
	return x[min(len(x)-1, int(math.Ceil(p*float64(len(x)))))]
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
