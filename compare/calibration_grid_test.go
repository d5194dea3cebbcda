package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// cell is a scenario of the grid, with the verdict that would be false.
type cell struct {
	name  string
	draw  func(rng *rand.Rand) path
	at    float64 // margin
	wrong func(tally) float64
}

// holdsItsLevel measures a cell as docs/explanation/statistics.md says: 4,000 draws; where more than 5.0 % are false,
// 100,000 fresh ones, whose lower 99 % bound must not be above 5.5 %.
func (c *cell) holdsItsLevel(t *testing.T, seed uint64, short int) {
	t.Helper()
	measure := func(seed uint64, draws int) float64 {
		return c.wrong(simulate(t, seed, draws, func(rng *rand.Rand) outcome {
			return outcome{c.draw(rng).verdict(c.at), 1}
		}))
	}
	draws := pathsFor(short)
	rate := measure(seed, draws)
	if calibrating() && rate > nominal {
		draws = 100_000
		rate = measure(seed+1_000_000, draws)
	}
	atMost(t, c.name+fmt.Sprintf(" (%.4f of %d)", rate, draws), rate-2.326*math.Sqrt(rate*(1-rate)/float64(draws)), 0.055)
}

// verdict is the verdict of Compare on a pass rate. Units that count as whole cases share the verdicts of their tables.
func (p path) verdict(margin float64) eval.Verdict {
	base, head := p.sides()
	m := newMeasure(Options{Alpha: nominal}, pairUp(base, head, nil).scored)
	u := m.units(eval.MetricPass, base, head)
	rise := newMeans(u.d, u.weights, margin)
	if rise.whole() {
		return sharedVerdict(rise.up.n, rise.up.gained, rise.up.regressed, margin, nominal)
	}
	fall := newMeans(scaledBy(-1, u.d), u.weights, margin)
	if p := rise.atMost(-margin); p <= nominal {
		return eval.NotWorse
	}
	if fall.atMost(0) <= nominal {
		return eval.Regressed
	}
	return eval.Inconclusive
}

// drawLattice draws cases of k repeats. A share of the cases is flaky; of the others, some are lost or gained wholly.
// The mean loss is that of the margin, or none.
func drawLattice(n, k int, flaky, gained, loss float64, size int) func(*rand.Rand) path {
	return func(rng *rand.Rand) path {
		p := newPath(n)
		for from := 0; from < n; from += size {
			unsteady, d := rng.Float64() < flaky, fate(rng, gained+loss, gained)
			pass := 0.5 + rng.Float64()/2
			for i := from; i < min(n, from+size); i++ {
				for range k {
					switch {
					case d != 0:
						p.flip(i, d)
					case unsteady:
						p.base[i].judge(rng.Float64() < pass)
						p.head[i].judge(rng.Float64() < pass)
					default:
						p.flip(i, 0)
					}
				}
				if size > 1 {
					p.base[i].Cluster, p.head[i].Cluster = caseNames[from], caseNames[from]
				}
			}
		}
		return p
	}
}

// TestGridHoldsItsLevel measures means of repeats and of clusters, flaky shares, and numbers of cases from few to many.
func TestGridHoldsItsLevel(t *testing.T) {
	t.Parallel()
	var cells []cell
	for _, margin := range []float64{0.02, 0.05, 0.1} {
		for _, n := range []int{12, 30, 60, 100, 180, 300} {
			for _, k := range []int{2, 3, 5} {
				flaky := []float64{0.05, 0.3}[(n+k)%2]
				size := []int{1, 1, 2}[k%3]
				name := fmt.Sprintf("D=%g n=%d, %d repeats, %g flaky, clusters of %d", margin, n, k, flaky, size)
				cells = append(cells,
					cell{name + ": false not worse", drawLattice(n, k, flaky, 0.01, margin, size), margin, falseNotWorse},
					cell{name + ": false regressed", drawLattice(n, k, flaky, 0.03, 0, size), margin, falseRegressed})
			}
		}
	}
	for i, c := range cells {
		if calibrating() || i%9 == 0 {
			c.holdsItsLevel(t, uint64(2000+i), 40)
		}
	}
}

// TestTwelveUnchangedSuitesHold measures whole runs: some suite of twelve regressed, or improved, in 5 % at most.
func TestTwelveUnchangedSuitesHold(t *testing.T) {
	t.Parallel()
	const suites, n, margin = 12, 60, 0.1
	for i, wanted := range []eval.Verdict{eval.Improved, eval.Regressed} {
		paths := pathsFor(60)
		sum := simulate(t, uint64(2500+i), paths, func(rng *rand.Rand) outcome {
			all := make([]ArmComparison, suites)
			for s := range all {
				gained, regressed, _ := drawFlips(rng, n, 0, 0.2).counts()
				all[s] = armOf(n, testCounts(n, gained, regressed, margin))
				all[s].Suite = caseNames[s]
			}
			Decide(all, everywhere(Options{Alpha: nominal, Margins: []eval.MetricMargin{passAt(margin)}}))
			if slices.ContainsFunc(all, func(a ArmComparison) bool { return a.Verdict == wanted }) {
				return outcome{wanted, 1}
			}
			return outcome{eval.NotWorse, 1}
		})
		atMost(t, fmt.Sprintf("some of %d unchanged suites %s", suites, wanted), sum.rate(wanted), most(paths))
	}
}

// TestExactSizesOfEveryNumber enumerates each number of cases that a run accepts, from 5 to 300.
func TestExactSizesOfEveryNumber(t *testing.T) {
	t.Parallel()
	step := 59
	if calibrating() {
		step = 1
	}
	for _, margin := range []float64{0.02, 0.05, 0.1} {
		for n := 5; n <= 300; n += step { // every accepted number in the long form
			notWorse, worse := stats.NewNotWorseTables(n, margin, nominal), stats.NewWorseTables(n, nominal)
			for _, flips := range []int{3, n / 15} { // the tables are those of verdicts
				for g := range flips + 1 {
					p := testCounts(n, g, flips-g, margin)
					if math.Abs(p.notInferior-nominal) > 0.001 && notWorse.Has(g, flips-g) != (p.notInferior <= nominal) ||
						math.Abs(p.worse-nominal) > 0.001 && worse.Has(flips-g, g) != (p.worse <= nominal) {
						t.Errorf("D=%g n=%d, %d gained of %d flips: the tables differ from %+v", margin, n, g, flips, p)
					}
				}
			}
			for _, psi := range []float64{0.02, 0.05, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8, 1} {
				if psi >= margin {
					name := fmt.Sprintf("D=%g n=%d psi=%g: false not worse", margin, n, psi)
					atMost(t, name, notWorse.Probability(-margin, psi), sizeBound)
				}
				atMost(t, fmt.Sprintf("n=%d psi=%g: false regressed", n, psi), worse.Probability(0, psi), sizeBound)
			}
		}
	}
}
