package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// tables calls f with every paired table of n from 0 to most.
func tables(most int, f func(n, gained, regressed int)) {
	for n := range most + 1 {
		for g := range n + 1 {
			for r := range n - g + 1 {
				f(n, g, r)
			}
		}
	}
}

// logE is the evidence for non-inferiority after n cases, gains and losses first.
func logE(n, gained, regressed int, margin float64) float64 {
	b := NewBetting(margin, 0.5, 8)
	for i := range n {
		b.Add(binaryDifference(i, gained, regressed), binaryDifference(i, gained, regressed), 1)
	}
	return b.LogNI()
}

// TestACaseThatTurnsForTheWorseNeverHelps is T3: a case that turns for the worse never helps the candidate.
func TestACaseThatTurnsForTheWorseNeverHelps(t *testing.T) {
	t.Parallel()
	type ingredients struct{ ni, beyond, worse, better, log float64 }
	of := func(n, g, r int, margin float64) ingredients {
		_, ni := Pairs{n, g, r}.TangoNonInferiority(margin)
		m := Pairs{Gained: g, Regressed: r}.McNemar()
		return ingredients{ni, Pairs{n, g, r}.tangoBeyond(margin), m.MidWorse, m.MidBetter, logE(n, g, r, margin)}
	}
	const e = 1e-12
	tables(30, func(n, g, r int) {
		for _, margin := range []float64{0.02, 0.05, 0.1} {
			before := of(n, g, r, margin)
			for _, move := range [][2]int{{g - 1, r + 1}, {g, r + 1}, {g - 1, r}} {
				if !(Pairs{n, move[0], move[1]}).isTable() {
					continue
				}
				after := of(n, move[0], move[1], margin)
				if after.ni < before.ni-e || after.beyond > before.beyond+e || after.worse > before.worse+e ||
					after.better < before.better-e || after.log > before.log+e {
					t.Errorf("n %d, margin %v, gained %d and regressed %d to %v: got %+v then %+v, want nothing to move the other way",
						n, margin, g, r, move, before, after)
				}
			}
		}
	})
}

// TestExchangingTheSidesMirrorsIntervals is T4: exchanging the sides mirrors intervals and exchanges tails.
func TestExchangingTheSidesMirrorsIntervals(t *testing.T) {
	t.Parallel()
	mirrored := func(a, b Interval) {
		t.Helper()
		near(t, "mirrored bound", a.Lo, -b.Hi)
		near(t, "mirrored bound", a.Hi, -b.Lo)
	}
	tables(20, func(n, g, r int) {
		mirrored(Pairs{n, g, r}.Tango(0.9), Pairs{n, r, g}.Tango(0.9))
		a, b := Pairs{Gained: g, Regressed: r}.McNemar(), Pairs{Gained: r, Regressed: g}.McNemar()
		near(t, "tails", a.Worse, b.Better)
		near(t, "mid tails", a.MidWorse, b.MidBetter)
		near(t, "two-sided", a.MidTwoSided, b.MidTwoSided)
	})
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 30} {
		d, negative := make([]float64, n), make([]float64, n)
		for i := range d {
			d[i] = float64(random.IntN(21)-10) / 10
			negative[i] = -d[i]
		}
		near(t, "upper Gaffke", -Gaffke(negative, -1, 0.05), mirrorGaffke(d))
	}
}

// mirrorGaffke is an upper bound by the quantile of the mirrored sum.
func mirrorGaffke(d []float64) float64 {
	shifted := make([]float64, len(d))
	for i, v := range d {
		shifted[i] = 1 - v
	}
	return 1 - Gaffke(shifted, 0, 0.05)
}

// TestTangoAgreesWithBisection is T5: the constrained estimate by bisection of the likelihood's
// slope in place of the quadratic, and the statistic from it.
func TestTangoAgreesWithBisection(t *testing.T) {
	t.Parallel()
	z := critical(0.9)
	tables(30, func(n, g, r int) {
		if n == 0 {
			return
		}
		for _, margin := range []float64{0.02, 0.05, 0.1, 0.5} {
			got, _ := Pairs{n, g, r}.TangoNonInferiority(margin)
			check(t, fmt.Sprint("z of ", n, g, r, margin), got, tangoByLikelihood(n, g, r, -margin), 1e-7)
		}
		i := Pairs{n, g, r}.Tango(0.9)
		estimate := float64(g-r) / float64(n)
		if i.Lo > estimate || i.Hi < estimate {
			t.Errorf("%d %d %d: got %v, want it inside %v", n, g, r, estimate, i)
		}
		if i.Lo > -1 {
			check(t, fmt.Sprint("lo of ", n, g, r), tangoByLikelihood(n, g, r, i.Lo), z, 1e-6)
		}
		if i.Hi < 1 {
			check(t, fmt.Sprint("hi of ", n, g, r), tangoByLikelihood(n, g, r, i.Hi), -z, 1e-6)
		}
		if r == n && i.Lo != -1 || g == n && i.Hi != 1 {
			t.Errorf("%d %d %d: %v, want an end at -1 where all regressed, at 1 where all gained", n, g, r, i)
		}
	})
}

func tangoByLikelihood(n, g, r int, d float64) float64 {
	part := func(count int, p float64) float64 {
		if count == 0 {
			return 0
		}
		return float64(count) / p
	}
	lo, hi := max(0, -d), (1-d)/2
	for range 200 {
		q := (lo + hi) / 2
		if part(g, q+d)+part(r, q)-2*part(n-g-r, 1-2*q-d) > 0 {
			lo = q
		} else {
			hi = q
		}
	}
	q := (lo + hi) / 2
	return (float64(g-r) - float64(n)*d) / math.Sqrt(float64(n)*(2*q+d-d*d))
}

// TestQuantilesInvertTheirDistributions: they invert their distribution functions, in the tails too.
func TestQuantilesInvertTheirDistributions(t *testing.T) {
	t.Parallel()
	for _, p := range []float64{1e-200, 1e-15, 1e-9, 1e-4, 0.01, 0.3, 0.4999, 0.5, 0.6, 0.95, 1 - 1e-9} {
		near(t, fmt.Sprint("normal ", p), normalCDF(NormalQuantile(p))/p, 1)
		for _, df := range []float64{0.5, 1, 2.5, 9, 300, 1e5, 1e9} {
			if p > 1e-10 {
				check(t, fmt.Sprint("t ", p, df), studentTCDF(StudentTQuantile(p, df), df), p, 1e-9)
			}
		}
		check(t, "beta", regIncBeta(betaQuantile(p, 3, 40), 3, 40), p, 1e-9)
	}
	near(t, "symmetric", regIncBeta(0.3, 200, 500), 1-regIncBeta(0.7, 500, 200))
}

func oddSamples() [][]float64 {
	nan, inf := math.NaN(), math.Inf(1)
	return [][]float64{
		nil,
		{},
		{0},
		{1},
		{-1},
		{0.3},
		{0, 0},
		{1, 1},
		{-1, 1},
		{nan},
		{inf, 1},
		{1, nan, 0.5},
		slices.Repeat([]float64{0}, 50), slices.Repeat([]float64{1}, 50), slices.Repeat([]float64{-1}, 50),
		slices.Repeat([]float64{0.1 + 0.2}, 30),
		{1e308, -1e308, 1e308},
	}
}

func TestExactTestsEndOnOddTables(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 2, 30} {
		for _, x := range []int{-1, 0, 1, n, n + 1} {
			for _, p := range []float64{-1, 0, 1e-9, 0.05, 0.9, 1, 2, math.NaN(), math.Inf(1)} {
				i := Pairs{n, x, 0}.ExactInterval(p)
				tables := NewNotWorseTables(n, p, 0.05)
				for _, v := range []float64{
					Pairs{n, x, n - x}.ExactNonInferiority(p), Pairs{n, x, n - x}.ExactWorse(), i.Lo, i.Hi, tables.Probability(0, p),
				} {
					if math.IsNaN(v) || v < -1 || v > 1 {
						t.Errorf("n=%d x=%d p=%g: got %g, want a number from -1 to 1", n, x, p, v)
					}
				}
			}
		}
	}
}

// TestNoInputGivesNumbersThatAreNotFinite is T7: nothing that a run can produce, and no nonsense, gives NaN or an
// infinity, and no missing evidence is evidence.
func TestNoInputGivesNumbersThatAreNotFinite(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	samples := oddSamples()
	parameters := []float64{-1, 0, 0.05, 0.5, 0.9, 1, 2, nan, inf, -inf}
	var seen []any
	see := func(what string, values ...any) {
		t.Helper()
		for _, v := range values {
			if _, err := json.Marshal(v); err != nil {
				t.Errorf("%s: got %+v (%v), want numbers that JSON can hold", what, v, err)
			}
		}
		seen = append(seen, values...)
	}
	two := func(a, b float64) []float64 { return []float64{a, b} }
	for _, a := range samples {
		see("one sample", newSample(a), Holm(a), BenjaminiHochberg(a))
		for _, p := range parameters {
			see(fmt.Sprint(a, p), NonInferiorityT(a, p), Gaffke(a, -1, p), GaffkeNonInferiority(a, -1, p))
		}
	}
	for _, n := range []int{-1, 0, 1, 2, 30, 1_000_000} {
		for _, x := range []int{-1, 0, 1, n / 2, n, n + 1} {
			see("counts", Pairs{Gained: n - x, Regressed: x}.McNemar(), Pairs{n, x, 0}.Discordance())
			for _, p := range parameters {
				z, ni := Pairs{n, x, n - x}.TangoNonInferiority(p)
				z0, ni0 := Pairs{n, 0, x}.TangoNonInferiority(p)
				lo, hi := Wilson(float64(x)/float64(n), float64(n), NormalQuantile(p))
				see(fmt.Sprint("table ", n, x, p), two(z, ni), two(z0, ni0), Pairs{n, x, 0}.tangoBeyond(p), Pairs{n, x, 0}.Tango(p), two(lo, hi),
					sampleSize(p, 0.8, 0.1, p, 0),
					CasesNeeded(p, 0.05, p, p), MinCasesConstant(p, p), minCasesWithoutFlip(p, p))
			}
		}
	}
	a, b := FisherExact(0, 0, 3, 3)
	c, d := FisherExact(0, 5, 0, 5)
	see("Fisher", two(a, b), two(c, d))
	for _, p := range parameters {
		see("quantiles", NormalQuantile(p), normalCDF(p), StudentTQuantile(p, 3), StudentTQuantile(0.9, p), studentTCDF(p, p),
			betaQuantile(p, 1, 2), betaQuantile(0.5, p, p), regIncBeta(p, p, 2))
		bet := NewBetting(p, p, 0)
		for _, d := range parameters {
			bet.Add(d, d, 1)
		}
		see("bets", bet.LogNI(), bet.LogFail())
	}
	for _, v := range seen {
		if floats, ok := v.([]float64); ok && slices.ContainsFunc(floats, func(x float64) bool { return !finite(x) }) {
			t.Errorf("got %v, want finite numbers", floats)
		}
	}
	if len(seen) < 1000 {
		t.Errorf("got %d values, want 1000 or more", len(seen))
	}
}

// TestNoEvidenceGivesUnknownValues: the values that stand for "unknown".
func TestNoEvidenceGivesUnknownValues(t *testing.T) {
	t.Parallel()
	expect.Same(t, "of no flips", Pairs{}.McNemar(), mcNemar{1, 1, 1, 0.5, 0.5, 1})
	constant := slices.Repeat([]float64{0.1 + 0.2 - 0.3}, 100)
	if p := NonInferiorityT(constant, 0.05); p != 1 || UseT(constant) {
		t.Errorf("t of constant scores: got %v, want 1", p)
	}
	expect.Same(t, "Gaffke of nothing", GaffkeNonInferiority(nil, -1, 0.05), 1)
	if lo, hi := Wilson(0, 0, Z95); lo != 0 || hi != 1 {
		t.Errorf("Wilson of nothing: got %v to %v, want 0 to 1", lo, hi)
	}
	expect.Same(t, "an interval of nothing", Pairs{}.Tango(0.9), Interval{-1, 1})
}

func BenchmarkBettingAdd(b *testing.B) {
	bet := NewBetting(0.05, 0.5, 24)
	for b.Loop() {
		bet.Add(0, 0, 1)
		if ni, fail := bet.LogNI(), bet.LogFail(); ni < fail-1e9 {
			b.Fatalf("got the bets %v and %v, want them near each other", ni, fail)
		}
	}
}
