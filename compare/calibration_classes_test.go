package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// classWorld draws cases with a label and two answers. base answers right with a probability by label, and else one of
// the other classes, or none. head changes its answer in a share of the cases with some labels, always to the same wrong
// class. In a share of all cases it answers once more, as base does.
type classWorld struct {
	name     string
	prior    []float64 // by label
	right    []float64 // by label
	damaged  []bool    // labels whose right answers get lost
	noise    float64   // share of the cases that head answers for itself
	toOther  bool      // what is lost goes outside of the classes
	clusters int       // cases of a cluster; 0: none
	labels   []int     // of the cases
}

func (w *classWorld) answer(label, answer int) float64 {
	if label == answer {
		return w.right[label]
	}
	return (1 - w.right[label]) / float64(len(w.prior))
}

// fixed is the world with the mix of labels that n cases have. Labels belong to a suite, and are not drawn with the
// answers: every class has a case.
func (w classWorld) fixed(n int) classWorld {
	w.prior = slices.Clone(w.prior)
	w.labels = nil
	for label := range w.prior {
		w.labels = append(w.labels, slices.Repeat([]int{label}, max(1, int(math.Round(w.prior[label]*float64(n)))))...)
	}
	for len(w.labels) > n {
		w.labels = w.labels[1:]
	}
	for len(w.labels) < n {
		w.labels = append([]int{0}, w.labels...)
	}
	clear(w.prior)
	for _, label := range w.labels {
		w.prior[label] += 1 / float64(n)
	}
	return w
}

// margins are those of all cases there could be, when a share of the right answers to damaged labels is lost.
func (w *classWorld) margins(lost float64) *eval.Margins {
	k := len(w.prior)
	g := eval.NewMargins(k)
	for label, p := range w.prior {
		for answer := range k + 1 {
			q := p * w.answer(label, answer)
			if answer == label && w.damaged[label] {
				g.Add(label, w.wrong(label), q*lost)
				q *= 1 - lost
			}
			g.Add(label, answer, q)
		}
	}
	return &g
}

func (w *classWorld) wrong(label int) int {
	if w.toOther {
		return len(w.prior)
	}
	return (label + 1) % len(w.prior)
}

// lossFor is the share to lose for which a metric falls by the margin; false when it cannot.
func (w *classWorld) lossFor(metric eval.Metric, margin float64) (float64, bool) {
	before, _ := w.margins(0).Value(metric)
	fall := func(lost float64) float64 {
		after, _ := w.margins(lost).Value(metric)
		return before - after
	}
	if fall(1) <= margin {
		return 0, false
	}
	lo, hi := 0.0, 1.0
	for range 50 {
		if mid := (lo + hi) / 2; fall(mid) < margin {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, true
}

func (w *classWorld) draw(rng *rand.Rand, from []float64) int {
	u := rng.Float64()
	for i, p := range from {
		if u -= p; u < 0 {
			return i
		}
	}
	return len(from) - 1
}

// classSide is a run without cases, with all pairs of a label and an answer.
func classSide(run string, classes []string) *Side {
	s := &Side{Run: run, Suite: "s", Arm: "t/p", Classes: classes, Metrics: []string{eval.Accuracy}}
	for _, label := range classes {
		for _, answer := range append(slices.Clone(classes), "") {
			s.ClassPairs = append(s.ClassPairs, eval.Pair{Expected: label, Answer: answer})
		}
	}
	return s
}

func classCase(i, label, answer, k int) CaseTotals {
	c := CaseTotals{Name: fmt.Sprint(i), ID: fmt.Sprint(i), Ran: 1, Classes: []ClassCount{{Pair: label*(k+1) + answer, N: 1}}}
	if answer == label {
		c.Passed, c.Metrics = 1, []eval.Sum{{Total: 1, N: 1}}
	} else {
		c.Failed, c.Metrics = 1, []eval.Sum{{Total: 0, N: 1}}
	}
	return c
}

// answers are the chances of each answer to a label, the last of none.
func (w *classWorld) answers() [][]float64 {
	rows := make([][]float64, len(w.prior))
	for label := range rows {
		for answer := range len(w.prior) + 1 {
			rows[label] = append(rows[label], w.answer(label, answer))
		}
	}
	return rows
}

func (w *classWorld) sides(rng *rand.Rand, n int, lost float64) (base, head *Side) {
	k := len(w.prior)
	var classes []string
	for i := range k {
		classes = append(classes, string(rune('a'+i)))
	}
	base, head = classSide("1", classes), classSide("2", classes)
	rows := w.answers()
	cluster := 0
	var label, first, second int
	for i := range n {
		if sameCluster := w.clusters > 0 && i%w.clusters > 0 && w.labels[i] == label; !sameCluster || rng.Float64() < 0.5 {
			if !sameCluster {
				cluster++
			}
			label = w.labels[i]
			first = w.draw(rng, rows[label])
			if second = first; rng.Float64() < w.noise {
				second = w.draw(rng, rows[label])
			}
			if second == label && w.damaged[label] && rng.Float64() < lost {
				second = w.wrong(label)
			}
		}
		for s, answer := range map[*Side]int{base: first, head: second} {
			c := classCase(i, label, answer, k)
			if w.clusters > 0 {
				c.Cluster = fmt.Sprint(cluster)
			}
			s.Cases = append(s.Cases, &c)
		}
	}
	return base, head
}

func classWorlds() []classWorld {
	even := func(k int, v float64) []float64 { return slices.Repeat([]float64{v}, k) }
	all := func(k int, of ...int) []bool {
		out := make([]bool, k)
		for i := range out {
			out[i] = len(of) == 0 || slices.Contains(of, i)
		}
		return out
	}
	return []classWorld{
		{name: "2 even, all", prior: even(2, 0.5), right: even(2, 0.9), damaged: all(2), noise: 0.1},
		{name: "2 skewed, rare", prior: []float64{0.9, 0.1}, right: even(2, 0.9), damaged: all(2, 1)},
		{name: "2 skewed, rare, noise", prior: []float64{0.9, 0.1}, right: even(2, 0.8), damaged: all(2, 1), noise: 0.3},
		{name: "2 skewed, often", prior: []float64{0.9, 0.1}, right: even(2, 0.95), damaged: all(2, 0)},
		{name: "3, all", prior: []float64{0.5, 0.3, 0.2}, right: []float64{0.9, 0.8, 0.95}, damaged: all(3), noise: 0.2},
		{name: "3, perfect", prior: []float64{0.5, 0.3, 0.2}, right: even(3, 1), damaged: all(3, 2)},
		{name: "4 rare", prior: []float64{0.6, 0.3, 0.07, 0.03}, right: even(4, 0.95), damaged: all(4, 3)},
		{name: "4 rare, other", prior: []float64{0.6, 0.3, 0.07, 0.03}, right: even(4, 0.9), damaged: all(4, 2, 3), noise: 0.1, toOther: true},
		{name: "10 even, one", prior: even(10, 0.1), right: even(10, 0.85), damaged: all(10, 0, 1), noise: 0.1},
		{name: "10 even, all", prior: even(10, 0.1), right: even(10, 0.85), damaged: all(10), noise: 0.3},
		{name: "3, clusters", prior: []float64{0.5, 0.3, 0.2}, right: even(3, 0.85), damaged: all(3), noise: 0.2, clusters: 5},
	}
}

// classRates are how often a metric is called not worse or regressed, as shares.
type classRates struct{ falseNotWorse, falseRegressed, power float64 }

// rates draws comparisons in which a metric fell by the margin, and others in which nothing changed.
func (w *classWorld) rates(name string, n int, margin, lost float64, draws int) (out classRates) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	o := Options{Alpha: nominal, Margins: []eval.MetricMargin{{Name: name, Margin: margin}}, MaxErrors: 1}
	share := 1 / float64(draws)
	for range draws {
		base, head := w.sides(rng, n, lost)
		if c := classMetricOf(base, head, o, name); orOne(c.PNonInferior) <= nominal {
			out.falseNotWorse += share
		}
		base, head = w.sides(rng, n, 0)
		c := classMetricOf(base, head, o, name)
		if orOne(c.PWorse) <= nominal {
			out.falseRegressed += share
		}
		if orOne(c.PNonInferior) <= nominal {
			out.power += share
		}
	}
	return out
}

func classMetricOf(base, head *Side, o Options, name string) MetricComparison {
	m := newMeasure(o, pairUp(base, head, nil).scored)
	m.testsOnly = true
	return m.metric(name, base, head)
}

// classDraws is how many comparisons are drawn of each: most where cases are neither few nor many, of the metrics used most.
func classDraws(n int, seldom bool) int {
	switch {
	case !calibrating():
		return 120
	case seldom:
		return 200
	case n == 120:
		return 1000
	}
	return 400
}

// TestClassRatesHoldTheirLevel draws classifications: even and rare classes, losses in all classes or in the rarest, to another class
// or outside of them, clusters. A loss as large as the margin is called not worse, and no loss regressed, in 5 % at most.
// That the tests find anything is seen where cases are many.
func TestClassRatesHoldTheirLevel(t *testing.T) {
	t.Parallel()
	sizes, names, others := []int{120}, []string{"macroF1", "kappa"}, []string{}
	if calibrating() {
		sizes = []int{40, 120, 300}
		others = []string{"weightedF1", "macroPrecision", "macroRecall", "weightedPrecision", "f1.b", "recall.b"}
	}
	for _, world := range classWorlds() {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range sizes {
				w := world.fixed(n)
				for _, name := range slices.Concat(names, others) {
					draws := classDraws(n, slices.Contains(others, name))
					metric, _ := eval.ParseMetric(name, []string{"a", "b"})
					lost, ok := w.lossFor(metric, 0.1)
					if !ok {
						continue
					}
					r, key := w.rates(name, n, 0.1, lost, draws), fmt.Sprintf("%s, %s, n=%d", w.name, name, n)
					t.Logf("%-50s %.3f %.3f power %.2f", key, r.falseNotWorse, r.falseRegressed, r.power)
					atMost(t, key+": false not_worse", r.falseNotWorse, most(draws))
					atMost(t, key+": false regressed", r.falseRegressed, most(draws))
					if even := w.prior[0] < 0.6; even && w.clusters == 0 && n >= 120 && name == "macroF1" {
						atLeast(t, key+": a test that finds nothing proves nothing: power", r.power, 0.5)
					}
				}
			}
		})
	}
}

// TestClassAdviceIsWhatVerdictsDo: the chance that advice states of a number of cases, from many cases that differ as often, is
// how often so many show that a metric of all cases is not worse.
func TestClassAdviceIsWhatVerdictsDo(t *testing.T) {
	t.Parallel()
	observed, draws, slack := 400, 80, 0.1
	if calibrating() {
		observed, draws, slack = 3000, 2000, 0.03
	}
	for i, world := range classWorlds() {
		for _, name := range []string{"macroF1", "kappa"} {
			aside := world.noise == 0 || slices.Contains(world.damaged, false) // few differ, or rare classes
			if aside || !calibrating() && (i%5 > 0 || name == "kappa") {
				continue
			}
			t.Run(world.name+" "+name, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(11, uint64(i)))
				drawn := func(n int) MetricComparison {
					w := world.fixed(n)
					base, head := w.sides(rng, n, 0)
					o := Options{Alpha: nominal, Margins: []eval.MetricMargin{{Name: name, Margin: 0.1}}, MaxErrors: 1}
					return classMetricOf(base, head, o, name)
				}
				seen := drawn(observed)
				n, chance := seen.sample.enough(0.1*seen.perMargin, nominal)
				cases := n * observed / seen.N
				really := chanceOf(draws, func(*rand.Rand) bool { m := drawn(cases); return orOne(m.PNonInferior) <= nominal })
				t.Logf("%d cases, %d units: said %.3f, really %.3f", cases, n, chance, really)
				atMost(t, "distance", math.Abs(chance-really), slack+2.5*math.Sqrt(0.25/float64(draws)))
			})
		}
	}
}
