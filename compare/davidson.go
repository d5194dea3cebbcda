package compare

import "math"

// priorHalf is how much of a comparison with an average arm each arm won, and lost, next to the data.
const priorHalf = 0.5

// davidson are fitted strengths, whose mean is 0.
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
