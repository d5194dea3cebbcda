package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/internal/stats"
)

// priorHalf is how much of a comparison with an average arm each arm won, and lost, next to the data.
const priorHalf = 0.5

type davidson struct {
	theta []float64 // natural logarithms
	delta float64   // that of the readiness to call a tie; -Inf when there are no ties
}

// prior weighs, for each arm, the half that it won and the half that it lost.
type prior [][2]float64

func evenPrior(k int) prior {
	out := make(prior, k)
	for i := range out {
		out[i] = [2]float64{priorHalf, priorHalf}
	}
	return out
}

func (t *comparisonTally) fit() *davidson {
	return newton(t.pairs, evenPrior(len(t.members)), &davidson{theta: make([]float64, len(t.members))})
}

// outcomes are the probabilities of a win, a loss and a tie at a difference of log strengths.
func outcomes(difference, delta float64) (win, loss, tie float64) {
	a, b := math.Exp(difference/2), math.Exp(-difference/2)
	v := math.Exp(delta)
	sum := a + b + v
	return a / sum, b / sum, v / sum
}

// field is, for each arm, the mean preference over the others.
func (f *davidson) field() []float64 {
	k := len(f.theta)
	out := make([]float64, k)
	for i := range k {
		for j := range k {
			if i != j {
				win, _, tie := outcomes(f.theta[i]-f.theta[j], f.delta)
				out[i] += (win + tie/2) / float64(k-1)
			}
		}
	}
	return out
}

// Newton's steps end when none moves a parameter by more than this, or after this number of steps.
const (
	smallStep = 1e-9
	mostSteps = 200
	longStep  = 2.0 // a step is cut to this, since far away the quadratic is a poor picture of the likelihood
)

// newton maximises the likelihood, which is concave. The arm of the prior has the log strength 0.
func newton(pairs []pairResults, p prior, from *davidson) *davidson {
	s := &system{k: len(from.theta), theta: append([]float64(nil), from.theta...), delta: from.delta}
	for i := range pairs {
		s.ties = s.ties || pairs[i].t > 0
	}
	if !s.ties {
		s.delta = math.Inf(-1)
	} else if math.IsInf(s.delta, -1) {
		s.delta = 0
	}
	s.reserve()
	for range mostSteps {
		if s.step(pairs, p) < smallStep {
			break
		}
	}
	mean := 0.0
	for _, x := range s.theta {
		mean += x / float64(s.k)
	}
	for i := range s.theta {
		s.theta[i] -= mean
	}
	return &davidson{s.theta, s.delta}
}

// system is a step of Newton's.
type system struct {
	k        int
	ties     bool // delta is a parameter, the last one
	theta    []float64
	delta    float64
	gradient []float64
	hessian  [][]float64 // negative, lower half
}

func (s *system) reserve() {
	n := s.k
	if s.ties {
		n++
	}
	s.gradient = make([]float64, n)
	s.hessian = make([][]float64, n)
	for i := range s.hessian {
		s.hessian[i] = make([]float64, i+1)
	}
}

// step moves the parameters, and gives the largest move.
func (s *system) step(pairs []pairResults, p prior) float64 {
	clear(s.gradient)
	for _, row := range s.hessian {
		clear(row)
	}
	for i := range pairs {
		s.add(&pairs[i])
	}
	for i, weights := range p {
		s.add(&pairResults{i, s.k, weights[0], weights[1], 0})
	}
	solve(s.hessian, s.gradient)
	largest := 0.0
	for _, x := range s.gradient {
		largest = max(largest, math.Abs(x))
	}
	scale := min(1, longStep/max(largest, longStep))
	for i := range s.theta {
		s.theta[i] += scale * s.gradient[i]
	}
	if s.ties {
		s.delta += scale * s.gradient[s.k]
	}
	return largest
}

// add adds a pair to the gradient and the negative Hessian; j = k is the arm of the prior. The statistics of an
// outcome are (1, 0, 0) for a win, (0, 1, 0) for a loss and (1/2, 1/2, 1) for a tie; the Hessian is their covariance.
func (s *system) add(c *pairResults) {
	n := c.w + c.l + c.t
	if n == 0 {
		return
	}
	other := 0.0
	if c.j < s.k {
		other = s.theta[c.j]
	}
	win, loss, tie := outcomes(s.theta[c.i]-other, s.delta)
	mi, mj := win+tie/2, loss+tie/2
	s.gradient[c.i] += c.w + c.t/2 - n*mi
	s.hessian[c.i][c.i] += n * (win + tie/4 - mi*mi)
	if s.ties {
		s.gradient[s.k] += c.t - n*tie
		s.hessian[s.k][s.k] += n * tie * (1 - tie)
		s.hessian[s.k][c.i] += n * tie * (0.5 - mi)
	}
	if c.j == s.k {
		return
	}
	s.gradient[c.j] += c.l + c.t/2 - n*mj
	s.hessian[c.j][c.j] += n * (loss + tie/4 - mj*mj)
	s.hessian[max(c.i, c.j)][min(c.i, c.j)] += n * (tie/4 - mi*mj)
	if s.ties {
		s.hessian[s.k][c.j] += n * tie * (0.5 - mj)
	}
}

// solve solves a x = b for a positive definite a, given by its lower half, by Cholesky's factors; b becomes x.
func solve(a [][]float64, b []float64) {
	for i := range a {
		for j := range a[i] {
			sum := a[i][j]
			for m := range j {
				sum -= a[i][m] * a[j][m]
			}
			if i == j {
				a[i][i] = math.Sqrt(max(sum, 1e-12))
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	for i := range b {
		for m := range i {
			b[i] -= a[i][m] * b[m]
		}
		b[i] /= a[i][i]
	}
	for i := len(b) - 1; i >= 0; i-- {
		for m := i + 1; m < len(b); m++ {
			b[i] -= a[m][i] * b[m]
		}
		b[i] /= a[i][i]
	}
}

// draws is the number of resamples.
const draws = 2000

// drawnHalf is the mean of a half of the prior in a draw.
const drawnHalf = 3 * priorHalf

// mostParts is the most parts of the units for the jackknife.
const mostParts = 400

type bootstrap struct {
	center  []float64   // angles of the preferences over the others
	drawn   [][]float64 // angles by draw
	partial [][]float64 // angles by left-out part of the units (jackknife)
	units   int
}

// bootstrap draws units with replacement. The halves of the prior are drawn too, with exponential weights (Newton &
// Raftery, JRSS B 56, 1994), and count three times as much. Otherwise cases in which an arm never lost would not show
// how often it may.
func (t *comparisonTally) bootstrap(f *davidson, seed uint64) *bootstrap {
	random := rand.New(rand.NewPCG(seed, uint64(len(t.members)))) //nolint:gosec // reproducible, no secret
	b := &bootstrap{center: angles(f.field()), units: len(t.units)}
	pairs, weights := slices.Clone(t.pairs), evenPrior(len(t.members))
	for range draws {
		for i := range pairs {
			pairs[i].w, pairs[i].l, pairs[i].t = 0, 0, 0
		}
		for range t.units {
			for i, unit := 0, t.units[random.IntN(len(t.units))]; i < len(unit); i++ {
				pairs[unit[i].pair].add(&unit[i].pairResults, 1)
			}
		}
		for i := range weights {
			weights[i] = [2]float64{drawnHalf * random.ExpFloat64(), drawnHalf * random.ExpFloat64()}
		}
		b.drawn = append(b.drawn, angles(newton(pairs, weights, f).field()))
	}
	b.partial = t.leavingOut(f)
	return b
}

// leavingOut refits the strengths without each part of the units: without single units while these are few.
func (t *comparisonTally) leavingOut(f *davidson) (out [][]float64) {
	pairs, even := slices.Clone(t.pairs), evenPrior(len(t.members))
	parts := min(len(t.units), mostParts)
	for part := range parts {
		copy(pairs, t.pairs)
		for u := part; u < len(t.units); u += parts {
			for i := range t.units[u] {
				pairs[t.units[u][i].pair].add(&t.units[u][i].pairResults, -1)
			}
		}
		for i := range pairs { // 0 except for rounding
			pairs[i].w, pairs[i].l, pairs[i].t = atLeast0(pairs[i].w), atLeast0(pairs[i].l), atLeast0(pairs[i].t)
		}
		out = append(out, angles(newton(pairs, even, f).field()))
	}
	return out
}

func atLeast0(x float64) float64 {
	if x < 1e-9 {
		return 0
	}
	return x
}

// angles are preferences on the scale of arcsines of roots, where errors hardly depend on the preference. Log
// strengths have no bounds, and their errors grow without one near an arm that won all.
func angles(p []float64) []float64 {
	out := make([]float64, len(p))
	for i, x := range p {
		out[i] = math.Asin(math.Sqrt(x))
	}
	return out
}

func shareOf(angle float64) float64 {
	s := math.Sin(min(max(angle, 0), math.Pi/2))
	return s * s
}

// critical is by how many standard errors the statistics vary at most, but for the probability alpha. It is the
// quantile of the largest over the draws, with Student's tails, because errors are estimated from few units. It is at
// least Student's quantile for this number of independent statistics, because few units that are drawn again vary
// less than new ones. tails is 2 when both directions count.
func (b *bootstrap) critical(largest []float64, alpha float64, statistics, tails int) float64 {
	df := float64(b.units - 1)
	each := alpha / float64(statistics*tails)
	student := stats.StudentTQuantile(1-each, df)
	few := (df + 2) / (df + 1) // scores of cases have lighter tails than normal ones, so that few of them vary too little too often
	return few * max(student, student/stats.NormalQuantile(1-each)*quantile(largest, 1-alpha))
}

// intervals returns the intervals of the preferences, which hold together with probability 1-alpha: max-t
// on the scale of angles.
func (b *bootstrap) intervals(alpha float64) [][2]float64 {
	k := len(b.center)
	errors, largest := make([]float64, k), make([]float64, len(b.drawn))
	for i := range k {
		drawn, err := b.errors(func(x []float64) float64 { return x[i] })
		errors[i] = err
		for draw, x := range b.drawn {
			largest[draw] = max(largest[draw], math.Abs(x[i]-b.center[i])/drawn)
		}
	}
	statistics := k
	if k == 2 {
		statistics = 1 // one preference is 1 less the other
	}
	c := b.critical(largest, alpha, statistics, 2)
	out := make([][2]float64, k)
	for i, x := range b.center {
		out[i] = [2]float64{shareOf(x - c*errors[i]), shareOf(x + c*errors[i])}
	}
	return out
}

// best reports of each arm whether it cannot be ruled out as the most preferred one: no other arm is ahead by more
// than the largest of such differences varies.
func (b *bootstrap) best(alpha float64) []bool {
	out := make([]bool, len(b.center))
	for i := range out {
		seen, largest := math.Inf(-1), make([]float64, len(b.drawn))
		for j := range out {
			if j == i {
				continue
			}
			ahead := b.center[j] - b.center[i]
			drawn, err := b.errors(func(x []float64) float64 { return x[j] - x[i] })
			seen = max(seen, ahead/err)
			for draw, x := range b.drawn {
				largest[draw] = max(largest[draw], (x[j]-x[i]-ahead)/drawn)
			}
		}
		out[i] = seen <= b.critical(largest, alpha, len(out)-1, 1)
	}
	return out
}

// errors are the standard errors of a statistic: over the draws, and the larger one of that and the jackknife's. The
// heavier prior of the draws, which shows how often an arm that never lost may lose, makes the others a little too
// even.
func (b *bootstrap) errors(of func(x []float64) float64) (drawn, err float64) {
	n, center := float64(b.units), of(b.center)
	drawn = b.deviation(func(draw int) float64 { return of(b.drawn[draw]) - center })
	mean := 0.0
	sum := 0.0
	parts := float64(len(b.partial))
	for _, x := range b.partial {
		mean += of(x) / parts
	}
	for _, x := range b.partial {
		sum += (of(x) - mean) * (of(x) - mean)
	}
	return drawn, max(math.Sqrt(n/(n-1))*drawn, math.Sqrt(sum*(parts-1)/parts))
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

func quantile(x []float64, p float64) float64 {
	slices.Sort(x)
	return x[min(len(x)-1, int(math.Ceil(p*float64(len(x)))))]
}
