package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// TestGaffkeAgreesWithItsSimulation checks the integral against the definition it evaluates.
func TestGaffkeAgreesWithItsSimulation(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for _, d := range [][]float64{
		{0.3},
		{-0.5, 0.25},
		{0.1, 0.1, 0.2, -0.9},
		{-1, -1, 1, 0.5, 0, 0, 0, 0, 0, 0.01, -0.02},
		slices.Repeat([]float64{0, 0.05, -0.1, 0.2}, 15),
	} {
		for _, margin := range []float64{0.02, 0.1, 0.3} {
			const draws = 40_000
			below := 0
			for range draws {
				sum := (margin - 1) * random.ExpFloat64()
				for _, v := range d {
					sum += (v + margin) * random.ExpFloat64()
				}
				if sum <= 0 {
					below++
				}
			}
			check(t, fmt.Sprint(d, margin), GaffkeNonInferiority(d, -1, margin), float64(below)/draws, 5*0.5/math.Sqrt(draws))
		}
	}
	// The integral agrees with the closed form where there is one.
	for n := 1; n <= 400; n = 3*n + 1 {
		for losses := 0; losses <= n; losses += 1 + n/5 {
			d := make([]float64, n)
			for i := range losses {
				d[i] = -1
			}
			values := tally(d, -1)
			for _, margin := range []float64{0.005, 0.05, 0.2, 0.7} {
				closed := GaffkeNonInferiority(d, -1, margin)
				check(t, fmt.Sprint("integral for ", n, losses, margin), gaffkeBelow(values, -1, -margin), closed, 1.1e-7)
			}
		}
	}
}

// TestGaffkeNeverRisesWithALowerUnit: a lower unit never raises the bound, and order does not matter.
func TestGaffkeNeverRisesWithALowerUnit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	for range 40 {
		d := make([]float64, 3+random.IntN(40))
		for i := range d {
			d[i] = float64(random.IntN(9)-4) / 4
		}
		bound, p := Gaffke(d, -1, 0.05), GaffkeNonInferiority(d, -1, 0.05)
		shuffled := slices.Clone(d)
		random.Shuffle(len(d), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if Gaffke(shuffled, -1, 0.05) != bound {
			t.Errorf("got another bound in another order of %v, want %v", d, bound)
		}
		if (p <= 0.05) != (bound >= -0.05) {
			t.Errorf("%v: got the p value %v and the bound %v, want them to agree", d, p, bound)
		}
		lower := slices.Clone(d)
		at := random.IntN(len(d))
		lower[at] = max(-1, lower[at]-random.Float64())
		if Gaffke(lower, -1, 0.05) > bound+1e-9 || GaffkeNonInferiority(lower, -1, 0.05) < p-1e-9 {
			t.Errorf("%v: got a gain by a loss at %v, want none", d, at)
		}
	}
	for n, pass := range map[int]bool{58: false, 59: true} {
		expect.Same(t, fmt.Sprintf("%d constant scores pass", n), GaffkeNonInferiority(make([]float64, n), -1, 0.05) <= 0.05, pass)
	}
	expect.Same(t, "cases that constant scores need", MinCasesConstant(0.05, 0.05), 59)
}

func BenchmarkGaffke(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	d := make([]float64, 500)
	for i := range d {
		d[i] = random.NormFloat64() / 4
	}
	b.Run("bound", func(b *testing.B) {
		for b.Loop() {
			Gaffke(d, -1, 0.05)
		}
	})
	b.Run("test", func(b *testing.B) {
		for b.Loop() {
			GaffkeNonInferiority(d, -1, 0.05)
		}
	})
}
