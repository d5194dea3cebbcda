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

// sizeBound is what an exact size may be: the tests keep to 5 %, but for the grid on which the worst discordance is searched.
const sizeBound = 0.0505

// exactSizes are the sizes that are enumerated: the smallest that the program accepts at each margin, with an early
// stop and without, and larger ones. The last ones are only in the long form.
func exactSizes(margin float64) []int {
	least, early := stats.MinCasesConstant(nominal, margin), stats.MinCasesConstant(nominal*(1-earlyShare), margin)
	sizes := []int{least, early}
	if margin < 0.05 && !calibrating() {
		return sizes[:1]
	}
	if calibrating() {
		for n := least + 1; n < least+12; n++ {
			sizes = append(sizes, n)
		}
		sizes = append(sizes, 200, 350, 500)
	}
	return sizes
}

// TestExactSizesHoldTheirLevel checks the exact tests without sampling: every table of n pairs has a verdict, and the probabilities are
// summed. Whatever share of the cases flips, a loss as large as the margin is called "not worse" with 5 % at most,
// and no loss "regressed" with 5 % at most.
func TestExactSizesHoldTheirLevel(t *testing.T) {
	t.Parallel()
	t.Log("   D    n   worst false not_worse, worst false regressed")
	for _, margin := range []float64{0.02, 0.05, 0.1} {
		for _, n := range exactSizes(margin) {
			r := regionOf(n, margin, nominal)
			notWorse, regressed := r.worst(margin, r.notWorse), r.worst(0, r.regressed)
			t.Logf("%.2f %4d   %.2f %%  %.2f %%", margin, n, 100*notWorse, 100*regressed)
			key := fmt.Sprintf("D=%.2f n=%d", margin, n)
			atMost(t, key+": false not_worse", notWorse, sizeBound)
			atMost(t, key+": false regressed", regressed, sizeBound)
			if n == stats.MinCasesConstant(nominal, margin) {
				atLeast(t, key+": a gate that nothing passes proves nothing: not_worse without a flip", r.probability(0, 0, r.notWorse), 1)
			}
		}
	}
}

// TestSmallSizesAreNotWorseOnlyIfCasesGetBetter: below the size that shows it without a flip, no table without a case
// that got better is "not worse".
func TestSmallSizesAreNotWorseOnlyIfCasesGetBetter(t *testing.T) {
	t.Parallel()
	for _, margin := range []float64{0.02, 0.05, 0.1} {
		for n := 1; n < stats.MinCasesConstant(nominal, margin); n++ {
			if v := binaryVerdict(n, 0, 0, margin, nominal); v != eval.Inconclusive {
				t.Errorf("D=%.2f n=%d without a flip: %s, want inconclusive", margin, n, v)
			}
		}
	}
	expect.Same(t, "12 gained, none lost of 40", binaryVerdict(40, 12, 0, 0.05, nominal), eval.Improved)
}

// TestControlAsymptoticExceedsItsLevel is the control of TestExactSizesHoldTheirLevel: Tango's test and McNemar's
// mid-p, by which the program decided once, must be seen to exceed their level at the smallest sizes.
func TestControlAsymptoticExceedsItsLevel(t *testing.T) {
	t.Parallel()
	const n, margin = 52, 0.05
	r := newRegion(n, func(gained, regressed int) eval.Verdict { return asymptoticVerdict(n, gained, regressed, margin) })
	atLeast(t, "control: Tango at n=52: false not_worse", r.worst(margin, r.notWorse), 0.06)
	atLeast(t, "control: mid-p at n=52: false regressed", r.worst(0, r.regressed), 0.051)
}

// asymptoticVerdict is the verdict by the tests of large numbers alone.
func asymptoticVerdict(n, gained, regressed int, margin float64) eval.Verdict {
	rise, fall := counts{n, gained, regressed, false}, counts{n, regressed, gained, false}
	p := tested{notInferior: rise.atMost(-margin), worse: fall.atMost(0), better: rise.atMost(0)}
	one := MetricComparison{
		MetricChange: MetricChange{N: n},
		MetricTests:  MetricTests{PNonInferior: &p.notInferior, PWorse: &p.worse, PBetter: &p.better},
	}
	decide(&one, p, nominal)
	return one.Verdict
}

// region is which tables of n pairs have which verdict. The verdict rises with every case gained, and falls with every one that regressed
// (TestACaseThatTurnsForTheWorseNeverHelps of internal/stats), so that for each number of regressed cases two limits say it all.
type region struct {
	n        int
	from, to []int // by regressed cases: gained from which on it is not worse, and up to which it regressed; -1 is never
	logs     []float64
}

func regionOf(n int, margin, alpha float64) *region {
	return newRegion(n, func(gained, regressed int) eval.Verdict { return sharedVerdict(n, gained, regressed, margin, alpha) })
}

func newRegion(n int, verdict func(gained, regressed int) eval.Verdict) *region {
	r := &region{n: n, logs: make([]float64, n+2)}
	for i := 2; i <= n; i++ {
		r.logs[i] = r.logs[i-1] + math.Log(float64(i))
	}
	from, to := 0, -1 // both rise with the cases that regressed
	for regressed := range n + 1 {
		for ; from <= n-regressed; from++ {
			if v := verdict(from, regressed); v == eval.NotWorse || v == eval.Improved {
				break
			}
		}
		for to+1 <= n-regressed && verdict(to+1, regressed) == eval.Regressed {
			to++
		}
		r.from, r.to = append(r.from, from), append(r.to, min(to, n-regressed))
	}
	return r
}

// notWorse says which gained cases, from the first to the last, make it not worse.
func (r *region) notWorse(regressed int) (first, last int) { return r.from[regressed], r.n - regressed }

func (r *region) regressed(regressed int) (first, last int) { return 0, r.to[regressed] }

// worst is the largest probability of a part of the tables over all shares of flipping cases, at a true loss.
func (r *region) worst(loss float64, part func(regressed int) (first, last int)) (worst float64) {
	const steps = 300
	for step := range steps + 1 {
		psi := loss + (1-loss)*float64(step)/steps
		worst = max(worst, r.probability((psi+loss)/2, (psi-loss)/2, part))
	}
	return worst
}

// probability is that of a part of the tables, where cases regress and are gained with these probabilities.
func (r *region) probability(lost, gained float64, part func(regressed int) (first, last int)) (sum float64) {
	lose, keep, gain, stay := powersOf(lost), powersOf(1-lost), powersOf(gained), powersOf(1-lost-gained)
	for regressed := range r.n + 1 {
		fixed := r.logs[r.n] - r.logs[regressed] + lose.to(regressed)
		if fixed-r.logs[r.n-regressed]+keep.to(r.n-regressed) < -45 {
			continue // a larger number regresses with less than 1e-19
		}
		first, last := part(regressed)
		for g := first; g <= last; g++ {
			rest := r.n - regressed - g
			if log := fixed - r.logs[g] - r.logs[rest] + gain.to(g) + stay.to(rest); log > -50 { // less is rounded away in the sum
				sum += math.Exp(log)
			}
		}
	}
	return sum
}

// powers is the logarithm of a probability, from which those of its powers follow.
type powers float64

func powersOf(p float64) powers { return powers(math.Log(max(p, 1e-300))) }

func (p powers) to(k int) float64 { return float64(k) * float64(p) }

// sequentialRow is a row of the table of sequential tests: what was measured for the design, in shares.
type sequentialRow struct {
	n                                  int
	margin, loss, psi                  float64
	notWorse, regressed, inconcl, used float64
	leastSaved                         float64
}

// sequentialRows are that table. The design says the share of flipping cases only where nothing changed; the other
// shares fit its numbers.
var sequentialRows = []sequentialRow{
	{2000, 0.05, 0, 0.10, 1, 0, 0, 0.23, 0.70},
	{2000, 0.05, 0, 0.03, 1, 0, 0, 0.10, 0},
	{2000, 0.05, 0.05, 0.12, 0.043, 0.957, 0, 0.73, 0},
	{2000, 0.05, 0.10, 0.20, 0, 1, 0, 0.19, 0},
	{2000, 0.05, 0.20, 0.30, 0, 1, 0, 0.047, 0.90},
	{500, 0.05, 0, 0.10, 0.959, 0.030, 0.011, 0.73, 0},
	{500, 0.05, 0.20, 0.30, 0, 1, 0, 0.19, 0},
	{2000, 0.02, 0, 0.10, 0.866, 0.039, 0.095, 0.84, 0},
	{200, 0.10, 0, 0.03, 1, 0, 0, 0.40, 0},
	{200, 0.10, 0.10, 0.15, 0.043, 0.955, 0.002, 0.95, 0},
}

// TestSequentialRatesHoldTheirLevel checks "Stopping early" of docs/explanation/statistics.md, through EarlyStop,
// Compare and Decide as a run combines them. Looking after every case and testing at the end must together err no more
// often than alpha. They must also save enough calls.
func TestSequentialRatesHoldTheirLevel(t *testing.T) {
	t.Parallel()
	t.Log("    N    D  loss  psi   not_worse    regressed    inconclusive cases used   (design in brackets)")
	for i, r := range sequentialRows {
		if r.n == 2000 && r.leastSaved == 0 && !calibrating() {
			continue // slow
		}
		paths := pathsFor(min(200, 80_000/r.n))
		sum := simulate(t, uint64(100+i), paths, func(rng *rand.Rand) outcome {
			return drawFlips(rng, r.n, r.loss, r.psi).early(passAt(r.margin))
		})
		name := fmt.Sprintf("N=%d D=%.2f loss=%.2f psi=%.2f", r.n, r.margin, r.loss, r.psi)
		t.Logf("%5d %.2f  %.2f %.2f   %.3f (%.3f) %.3f (%.3f) %.3f (%.3f) %5.1f %% (%.1f)", r.n, r.margin, r.loss, r.psi,
			sum.notWorse(), r.notWorse, sum.regressed(), r.regressed, sum.rate(eval.Inconclusive), r.inconcl,
			100*(1-sum.saved()), 100*r.used)
		if r.loss >= r.margin {
			atMost(t, name+": false not_worse", sum.notWorse(), most(paths))
		}
		if r.loss == 0 {
			atMost(t, name+": false regressed", sum.regressed(), most(paths))
		}
		atLeast(t, name+": saved", sum.saved(), r.leastSaved)
		slack := 0.025 + 3*math.Sqrt(0.25/float64(paths)) // the design's own noise, and ours
		for _, pair := range [][2]float64{{sum.notWorse(), r.notWorse}, {sum.regressed(), r.regressed}, {1 - sum.saved(), r.used}} {
			atMost(t, name+": distance from the design's table", math.Abs(pair[0]-pair[1]), slack)
		}
	}
}

// scoreRow is a scenario of means: whatever the scores look like, a loss as large as the margin must not be called
// "not worse" more often than alpha. Where the design knows of more, limit says how much.
type scoreRow struct {
	name   string
	n      int
	design float64 // false "not worse", of a fixed number of cases
	limit  float64
	most   int // paths, where scores without ties take long; 0 is no limit
	metric string
	draw   func(p path, i int, rng *rand.Rand)
}

// Draws of repeats and of scores, all with a true loss of 5 points.
func drawRepeats(p path, i int, rng *rand.Rand) { // three repeats; three in ten cases are shaky
	pass := 1.0
	if rng.Float64() < 0.3 {
		pass = 0.7
	}
	for range 3 {
		p.base[i].judge(rng.Float64() < pass)
		p.head[i].judge(rng.Float64() < pass-0.05)
	}
}

// drawLevels is a judge with five levels, which gives six in ten cases the same level on both sides.
func drawLevels(p path, i int, rng *rand.Rand) {
	d := 0.0
	if u := rng.Float64(); u < 0.4 {
		d = 0.25
		if u < 0.1 {
			d = 0.5
		}
		if rng.Float64() < 0.5+0.05/0.4/0.3125/2 { // 0.4 differ, by 0.3125 in the mean
			d = -d
		}
	}
	p.score(i, 0.5, 0.5+d)
}

// drawRare loses everything in one of twenty cases, and nothing else.
func drawRare(p path, i int, rng *rand.Rand) {
	if rng.Float64() < 0.05 {
		p.score(i, 1, 0)
	} else {
		p.score(i, 0.5, 0.5)
	}
}

// drawSkewed loses a little in most cases and much in a few: u^19 has the mean 1/20.
func drawSkewed(p path, i int, rng *rand.Rand) { p.score(i, 1, 1-math.Pow(rng.Float64(), 19)) }

// scoreRows are the draws and what was measured for the design.
var scoreRows = []scoreRow{
	{"3 repeats", 10, 0, 0, 0, eval.MetricPass, drawRepeats},
	{"3 repeats", 30, 0, 0, 0, eval.MetricPass, drawRepeats},
	{"3 repeats", 50, 0.010, 0, 0, eval.MetricPass, drawRepeats},
	{"3 repeats", 200, 0.047, 0, 0, eval.MetricPass, drawRepeats},
	{"judge of 5 levels", 10, 0, 0, 0, scored, drawLevels},
	{"judge of 5 levels", 50, 0.043, 0, 0, scored, drawLevels},
	{"judge of 5 levels", 200, 0.047, 0, 0, scored, drawLevels},
	{"rare total loss", 10, 0, 0, 0, scored, drawRare},
	{"rare total loss", 50, 0, 0, 0, scored, drawRare},
	{"rare total loss", 200, 0.032, 0, 0, scored, drawRare},
	{"skewed losses", 50, 0, 0, 1000, scored, drawSkewed},
	{"skewed losses", 200, 0.004, 0, 300, scored, drawSkewed},
	{"skewed losses", 500, 0.067, 0.08, 500, scored, drawSkewed},
	{"skewed losses", 10, 0, 0, 0, scored, drawSkewed}, // t would miss a quarter
}

// TestMeansHoldTheirLevel checks means of repeats and of scores, tested by t where their skewness lets it and by
// Gaffke's bound elsewhere. A t interval alone misses up to 60 % there.
func TestMeansHoldTheirLevel(t *testing.T) {
	t.Parallel()
	t.Log("scores                 n   false not_worse (design)   with stopEarly   cases used")
	for i, r := range scoreRows {
		if r.n > 30 && !calibrating() {
			continue // drawing signs takes long
		}
		paths := pathsFor(100)
		if r.most > 0 {
			paths = min(paths, r.most)
		}
		g := eval.MetricMargin{Name: r.metric, Margin: 0.05}
		drawn := func(rng *rand.Rand) path {
			p := newPath(r.n)
			for i := range r.n {
				r.draw(p, i, rng)
			}
			return p
		}
		var fixed tally
		bound := max(r.limit, most(paths)) // where the design knows of more, that
		if calibrating() {
			fixed = simulate(t, uint64(200+i), paths, func(rng *rand.Rand) outcome { return outcome{drawn(rng).fixed(g, nominal, nil), 1} })
			atMost(t, fmt.Sprint(r.name, " n=", r.n), fixed.notWorse(), bound)
		}
		early := simulate(t, uint64(200+i), paths, func(rng *rand.Rand) outcome { return drawn(rng).early(g) })
		t.Logf(
			"%-20s %3d      %.3f  (%.3f)               %.3f       %5.1f %%", r.name, r.n, fixed.notWorse(), r.design,
			early.notWorse(), 100*(1-early.saved()),
		)
		atMost(t, fmt.Sprint(r.name, " n=", r.n, " with stopEarly"), early.notWorse(), bound)
	}
}
