package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// TestChancesAreThoseMeasured: the chance by a suite's own results is that of a suite with known rates.
func TestChancesAreThoseMeasured(t *testing.T) {
	t.Parallel()
	const suites, off = 3, 0.1
	for nights, figure := range map[int]float64{10: 0.427, 20: 0.857, 40: 0.985} {
		found := 0.0
		for i := range uint64(suites) {
			found += FindDrift(nightsWorld{n: 100, flaky: 0.2}.series(rand.New(rand.NewPCG(1000+i, 1)), nights)).Chance().Found / suites
		}
		t.Logf("after %d nights: %.3f, elsewhere %.3f", nights, found, figure)
		atMost(t, "chance, from the figure", math.Abs(found-figure), off)
	}
}

// TestChancesWithMoreRepeats: where fewer than half of the losses are found, more repeats are tried.
func TestChancesWithMoreRepeats(t *testing.T) {
	t.Parallel()
	c := FindDrift(nightsWorld{n: 100, flaky: 0.2}.series(rand.New(rand.NewPCG(1000, 2)), 10)).Chance()
	expect.Same(t, "repeats", c.Repeats, 3)
	atMost(t, "chance", c.Found, 0.5)
	atLeast(t, "chance with more repeats", c.Then, 0.85)
	c = FindDrift(DriftSeries{Results: stableNights(10, 20, 20, 1, 10)}).Chance()
	expect.Same(t, "nothing is left to lose", c, DriftChance{Points: 3, Nights: 30, Repeats: 3})
}

// BenchmarkDriftChance is the cost of a chance, the second of a large suite.
func BenchmarkDriftChance(b *testing.B) {
	for _, w := range []struct {
		cases, nights int
		flaky         float64
	}{{100, 10, 0.5}, {100, 43, 0.2}, {500, 10, 0.5}, {500, 90, 0.5}, {500, 730, 0.5}, {5000, 90, 0.2}} {
		b.Run("", func(b *testing.B) {
			s := nightsWorld{n: w.cases, flaky: w.flaky}.series(rand.New(rand.NewPCG(1, 1)), w.nights)
			for b.Loop() {
				b.Log(w, FindDrift(s).Chance())
			}
		})
	}
}
