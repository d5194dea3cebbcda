package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// randomDesign draws cases, repeats, clusters, a margin and a number of comparisons.
func randomDesign(rng *rand.Rand) (p path, d *design) {
	n, repeats, size := 10+rng.IntN(140), 1+rng.IntN(4), 1
	if rng.IntN(3) == 0 {
		size = 2 + rng.IntN(3)
	}
	uneven := size > 1 && rng.IntN(2) == 0
	p = newPath(n)
	for i := range n {
		p.base[i].Ran, p.head[i].Ran = repeats, repeats
		if size > 1 && (!uneven || i%2 == 0) {
			p.base[i].Cluster, p.head[i].Cluster = caseNames[i/size], caseNames[i/size]
		}
	}
	base, head := p.sides()
	preview := NewPreview(base, head, nil)
	margin := []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
	return p, newDesign(preview.units, margin, nominal, false, 1+rng.IntN(12))
}

// decidedOf is what Compare and Decide say of answers that are drawn here: as one of several arms, of which the others
// are equal to their baselines.
func decidedOf(p path, d *design, rng *rand.Rand, flips, loss float64) eval.Verdict {
	pass := (1 + math.Sqrt(1-2*flips)) / 2
	fates := map[string][2]int{}
	for i := range p.base {
		k := p.base[i].Ran
		fate, known := fates[p.base[i].Cluster]
		if !known || p.base[i].Cluster == "" {
			fate = [2]int{}
			for range k {
				for side, rate := range []float64{pass, pass - loss} {
					if rng.Float64() < rate {
						fate[side]++
					}
				}
			}
			fates[p.base[i].Cluster] = fate
		}
		p.base[i].Passed, p.base[i].Failed = fate[0], k-fate[0]
		p.head[i].Passed, p.head[i].Failed = fate[1], k-fate[1]
	}
	v, tests := verdictOf(p, d.margin)
	if v == eval.Regressed && tests.worse > nominal/float64(d.comparisons) {
		return eval.Inconclusive
	}
	return v
}

// TestPowerIsWhatVerdictsDo compares statements of plans with verdicts on answers that are drawn independently of them.
func TestPowerIsWhatVerdictsDo(t *testing.T) {
	t.Parallel()
	designs, draws := 4, 100
	if calibrating() {
		designs, draws = 200, 500
	}
	bound := 0.03 + 2.5*math.Sqrt(0.25/float64(draws)) // of the promise, and of the draws here
	simulate(t, 750, designs, func(rng *rand.Rand) outcome {
		p, d := randomDesign(rng)
		flips := []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
		holds := d.holds(flips, 1, reportDraws)
		loss, detects := d.smallest(flips)
		var held, seen float64
		for range draws {
			if v := decidedOf(p, d, rng, flips, 0); v == eval.NotWorse || v == eval.Improved {
				held += 1 / float64(draws)
			}
			if decidedOf(p, d, rng, flips, loss) == eval.Regressed {
				seen += 1 / float64(draws)
			}
		}
		name := fmt.Sprintf("%d units of %d cases, %d repeats, margin %g, %d comparisons, %g flips",
			len(d.units), p.cases(), p.base[0].Ran, d.margin, d.comparisons, flips)
		atMost(t, fmt.Sprintf("%s: holds %.3f, really %.3f", name, holds, held), math.Abs(holds-held), bound)
		atMost(t, fmt.Sprintf("%s: sees %.3f with %.3f, really %.3f", name, loss, detects, seen), math.Abs(detects-seen), bound)
		return outcome{eval.NotWorse, 1}
	})
}

// TestControlNormalPowerIsWrong is the control: the formula by which plans once named the smallest loss promises more
// than verdicts keep.
func TestControlNormalPowerIsWrong(t *testing.T) {
	t.Parallel()
	units := make([]plannedUnit, 60)
	for i := range units {
		units[i] = plannedUnit{1, 1, 1}
	}
	d := newDesign(units, 0.05, nominal, false, 1)
	loss := (stats.NormalQuantile(1-nominal) + stats.NormalQuantile(power)) * math.Sqrt(0.05/60)
	if chance := d.detects(0.05, loss, reportDraws); chance > power-0.1 {
		t.Errorf("the loss of the formula is reported in %.3f, want much less than %g", chance, power)
	}
}

// A plan with early stops feeds millions of units.
func TestUndecidedUnitsAllocateNothing(t *testing.T) {
	s := NewEarlyStop([]eval.MetricMargin{{Name: eval.MetricPass, Margin: 0.05}}, 0.05, 1)
	none := []float64{0}
	if got := testing.AllocsPerRun(50, func() {
		if s.Feed(Unit{none, none, 0.01}) != nil {
			t.Error("a stop although nothing is known")
		}
	}); got != 0 {
		t.Errorf("%g allocations a unit, want 0", got)
	}
}

// TestSoManyCasesShowThatNothingIsWorse compares with the verdict what messages say: so many cases without a flip are not worse,
// and with one case less the verdict is open, also where the exact test takes more of them than (1-margin)^n <= alpha says.
func TestSoManyCasesShowThatNothingIsWorse(t *testing.T) {
	t.Parallel()
	verdict := func(n int, margin, alpha float64) eval.Verdict {
		p := newPath(n)
		for i := range n {
			p.base[i].Ran, p.head[i].Ran, p.base[i].Passed, p.head[i].Passed = 1, 1, 1, 1
		}
		base, head := p.sides()
		return decided(base, head, options(alpha, passMargin(margin))).Verdict
	}
	more := 0
	for _, alpha := range []float64{0.05, 0.025, 0.1} {
		for margin := 0.04; margin < 0.6; margin += 0.005 {
			n := WithoutFlip(1, margin, alpha)
			expect.Same(t, fmt.Sprintf("%d cases, margin %g, alpha %g", n, margin, alpha), verdict(n, margin, alpha), eval.NotWorse)
			if n == 1 {
				continue
			}
			if got := verdict(n-1, margin, alpha); got != eval.Inconclusive {
				t.Errorf("%d cases, margin %g, alpha %g: got %q, want %q", n-1, margin, alpha, got, eval.Inconclusive)
			}
			if n > stats.MinCasesConstant(alpha, margin) {
				more++
			}
		}
	}
	if more < 20 {
		t.Errorf("got %d margins at which the exact test takes more cases, want at least 20", more)
	}
}
