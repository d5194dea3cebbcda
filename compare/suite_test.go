package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// sidesOfPairs makes a case of both sides from its pairs of repeats: 1 passed, 0 failed, -1 an error.
func sidesOfPairs(name string, pairs [][2]int) (base, head *CaseTotals) {
	side := func(at int) *CaseTotals {
		c := &CaseTotals{Name: name, ID: name, Ran: len(pairs)}
		for _, p := range pairs {
			switch p[at] {
			case 1:
				c.Passed++
			case 0:
				c.Failed++
			default:
				c.Errors++
				c.Repeats = append(c.Repeats, nil)
				continue
			}
			c.Repeats = append(c.Repeats, []float64{float64(p[at]), 0})
		}
		return c
	}
	return side(0), side(1)
}

func comparedRepeats(margin float64, cases ...[][2]int) *MetricComparison {
	base, head := &Side{Run: "a", Arm: "x"}, &Side{Run: "b", Arm: "x"}
	for i, pairs := range cases {
		b, h := sidesOfPairs(fmt.Sprint(i), pairs)
		base.Cases, head.Cases = append(base.Cases, b), append(head.Cases, h)
	}
	o := Options{Alpha: nominal, Margins: []eval.MetricMargin{passAt(margin)}, Estimand: eval.OfSuite, MaxErrors: 1}
	return &Compare(base, head, o).Metrics[0]
}

// dealt deals pairs out to cases of five repeats each, as far as they go.
func dealt(pairs, losses, gains int) (cases [][][2]int) {
	for i := range pairs {
		one := [2]int{1, 1}
		switch {
		case i < losses:
			one = [2]int{1, 0}
		case i < losses+gains:
			one = [2]int{0, 1}
		}
		if size := divisorUpTo(pairs, 5); i%size == 0 {
			cases = append(cases, nil)
		}
		cases[len(cases)-1] = append(cases[len(cases)-1], one)
	}
	return cases
}

// divisorUpTo is the largest divisor of n that is at most most: all cases have equally many repeats.
func divisorUpTo(n, most int) int {
	for n%most > 0 {
		most--
	}
	return most
}

// The p values are 1/e of the mixture, in exact fractions of another program: mean over l = (2j-1)/48/(1-D), j = 1 to 24, of
// (1-l(1-D))^losses (1+lD)^same (1+l(1+D))^gains, and for worse and better the same with l = (2j-1)/48 and D = 0.
func TestSuiteVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		pairs, losses, gains               int
		margin, notInferior, worse, better float64
	}{
		{20, 0, 0, 0.05, 0.570845175888819, 1, 1},
		{87, 0, 0, 0.05, 0.0513796860300013, 1, 1},
		{88, 0, 0, 0.05, 0.0493396123789668, 1, 1},
		{100, 0, 0, 0.05, 0.0301227080241968, 1, 1},
		{100, 1, 0, 0.05, 0.162841955987996, 0.666666666666667, 1},
		{100, 2, 1, 0.05, 0.306860540415263, 1, 1},
		{180, 3, 2, 0.05, 0.0493151722833411, 1, 1},
		{42, 0, 0, 0.10, 0.052110436076879, 1, 1},
		{43, 0, 0, 0.10, 0.0479408494909533, 1, 1},
		{223, 0, 0, 0.02, 0.050124419609279, 1, 1},
		{224, 0, 0, 0.02, 0.0493310627703983, 1, 1},
		{100, 9, 1, 0.05, 1, 0.0539182255834872, 1},
		{60, 0, 6, 0.05, 0.00445881645726321, 1, 0.0551590071613199},
	} {
		m := comparedRepeats(v.margin, dealt(v.pairs, v.losses, v.gains)...)
		got := []float64{*m.PNonInferior, *m.PWorse, *m.PBetter}
		want := []float64{v.notInferior, v.worse, v.better}
		expect.Same(t, fmt.Sprint(v.pairs, v.losses, v.gains, v.margin), got, want, cmpopts.EquateApprox(1e-12, 0))
		expect.Same(t, "pairs", []int{m.Pairs, m.PairsWorse, m.PairsBetter}, []int{v.pairs, v.losses, v.gains})
	}
	for margin, pairs := range map[float64]int{0.05: 88, 0.10: 43, 0.02: 224} {
		expect.Same(t, fmt.Sprint("pairs needed at ", margin), PairsNeeded(margin, nominal, false), pairs)
	}
}

// A case with twice the repeats of the others has the same weight: its factors have the exponent 1/2.
func TestSuiteCasesOfUnequalRepeats(t *testing.T) {
	t.Parallel()
	cases := [][][2]int{{{1, 0}, {1, 1}}, {{0, 1}, {1, 1}, {1, 1}, {1, 1}}}
	for range 80 {
		cases = append(cases, [][2]int{{1, 1}, {1, 1}})
	}
	expect.Same(t, "p", *comparedRepeats(0.05, cases...).PNonInferior, 0.01187185917182055, cmpopts.EquateApprox(1e-12, 0))
}

// An error of head counts as a loss of 1, one of the baseline as if that had passed, and neither ever shows a loss.
func TestSuiteErrorsCountAtTheirWorst(t *testing.T) {
	t.Parallel()
	p := func(first [2]int) [2]float64 {
		cases := dealt(120, 0, 0)
		cases[0][0] = first
		m := comparedRepeats(0.05, cases...)
		return [2]float64{*m.PNonInferior, *m.PWorse}
	}
	lost := p([2]int{1, 0})[0]
	expect.Same(t, "error of head that was a failure before", p([2]int{0, -1})[0], lost)
	expect.Same(t, "error of the baseline before a failure", p([2]int{-1, 0})[0], lost)
	expect.Same(t, "error of the baseline before a pass", p([2]int{-1, 1})[0], p([2]int{1, 1})[0])
	expect.Same(t, "errors on both sides", p([2]int{-1, -1})[0], lost)
	for _, first := range [][2]int{{1, -1}, {-1, 0}, {-1, -1}} {
		expect.Same(t, fmt.Sprint("p worse of ", first), p(first)[1], 1.0)
	}
}

// rates are the probabilities of passing of a case.
type rates struct{ base, head float64 }

// alike20 is 20 cases of equal rates.
func alike20(base, head float64, others ...rates) []rates {
	return append(slices.Repeat([]rates{{base, head}}, 20-len(others)), others...)
}

// drawRounds draws rounds of a suite until the verdict is known. looks returns the pairs that are new at a look, by their cases.
func drawRounds(rng *rand.Rand, cases []rates, looks [][]int) eval.Verdict {
	const margin = 0.05
	notWorse, worse := make([]float64, bets), make([]float64, bets)
	threshold := math.Log(1 / nominal)
	for _, look := range looks {
		counts := map[float64]float64{}
		for _, i := range look {
			d := 0.0
			if rng.Float64() < cases[i].head {
				d++
			}
			if rng.Float64() < cases[i].base {
				d--
			}
			counts[d]++
		}
		for d, n := range counts {
			for j, log := range stats.LogBets([]float64{d}, []float64{n}, -margin, 1/(1-margin), bets) {
				notWorse[j] += log
			}
			for j, log := range stats.LogBets([]float64{-d}, []float64{n}, 0, 1, bets) {
				worse[j] += log
			}
		}
		switch {
		case stats.LogMean(notWorse) >= threshold:
			return eval.NotWorse
		case stats.LogMean(worse) >= threshold:
			return eval.Regressed
		}
	}
	return eval.Inconclusive
}

// byRounds looks after every repeat of all cases, byCases after each case with all of its repeats, in random order.
func byRounds(n, repeats int) (looks [][]int) {
	for range repeats {
		look := make([]int, n)
		for i := range look {
			look[i] = i
		}
		looks = append(looks, look)
	}
	return looks
}

func byCases(rng *rand.Rand, n, repeats int) (looks [][]int) {
	for _, i := range rng.Perm(n) {
		looks = append(looks, slices.Repeat([]int{i}, repeats))
	}
	return looks
}

// TestSuiteRates measures how often rounds that are added until they tell are wrong, at the margin and without a loss, where
// the loss is that of one case, of all, or balanced by other cases.
func TestSuiteRates(t *testing.T) {
	t.Parallel()
	paths := pathsFor(400)
	for i, s := range []struct {
		name  string
		cases []rates
		wrong func(tally) float64
	}{
		{"one of 20 cases is lost wholly", alike20(1, 1, rates{1, 0}), tally.notWorse},
		{"one of 20 cases is lost wholly, the others vary", alike20(0.9, 0.9, rates{1, 0}), tally.notWorse},
		{"all cases lose 5 points", alike20(0.95, 0.9), tally.notWorse},
		{"two cases lose half", alike20(1, 1, rates{1, 0.5}, rates{0.5, 0}), tally.notWorse},
		{
			"losses of 30 points and gains of 20",
			append(slices.Repeat([]rates{{0.8, 0.5}}, 10), slices.Repeat([]rates{{0.5, 0.7}}, 10)...),
			tally.notWorse,
		},
		{"nothing changed", alike20(0.9, 0.9), tally.regressed},
		{"nothing changed, at a coin's toss", alike20(0.5, 0.5), tally.regressed},
		{"one case is lost wholly, and another one gained", alike20(0.9, 0.9, rates{1, 0}, rates{0, 1}), tally.regressed},
	} {
		looks := byRounds(len(s.cases), 60)
		got := simulate(t, uint64(900+i), paths, func(rng *rand.Rand) outcome { return outcome{drawRounds(rng, s.cases, looks), 1} })
		t.Logf("%s: wrong in %.4f", s.name, s.wrong(got))
		atMost(t, s.name, s.wrong(got), most(paths))
	}
}

// TestControlCaseByCase looks inside of rounds, on purpose: case by case, with one of 20 lost wholly.
func TestControlCaseByCase(t *testing.T) {
	t.Parallel()
	paths := pathsFor(400)
	cases := alike20(1, 1, rates{1, 0})
	wrong := simulate(t, 950, paths, func(rng *rand.Rand) outcome {
		return outcome{drawRounds(rng, cases, byCases(rng, 20, 20)), 1}
	}).notWorse()
	t.Logf("control, case by case: false not_worse in %.3f", wrong)
	atLeast(t, "control: looks inside of a round", wrong, 0.7)
}

// What a plan promises of an early stop is what happens: the share of runs that show "not worse" by then if nothing changed.
func TestSuiteOutlookHolds(t *testing.T) {
	t.Parallel()
	const flips, cases, repeats = 0.05, 20, 12
	p := (1 - math.Sqrt(1-2*flips)) / 2 // of failing, so that 2p(1-p) of the pairs differ
	got := simulate(t, 970, 1000, func(rng *rand.Rand) outcome {
		return outcome{drawRounds(rng, alike20(1-p, 1-p), byRounds(cases, repeats)), 1}
	}).notWorse()
	said := NewSuiteOutlook(cases, repeats, passAt(0.05), nominal, true, 1).Rows[0].Holds
	if math.Abs(got-said) > 0.05 {
		t.Errorf("the gate holds in %.3f, want %.3f as the plan says", got, said)
	}
}

// TestSuitePowerIsWhatVerdictsDo compares statements of plans with verdicts on answers that are drawn independently of them.
func TestSuitePowerIsWhatVerdictsDo(t *testing.T) {
	t.Parallel()
	designs, draws := 6, 200
	if calibrating() {
		designs, draws = 200, 2000
	}
	bound := 0.03 + 2.5*math.Sqrt(0.25/float64(draws)) // of the promise, and of the draws here
	simulate(t, 980, designs, func(rng *rand.Rand) outcome {
		cases, repeats, comparisons, row := 1+rng.IntN(30), 1+rng.IntN(15), 1+rng.IntN(12), rng.IntN(len(outlookFlips()))
		margin := []float64{0.02, 0.05, 0.1, 0.2}[rng.IntN(4)]
		said := NewSuiteOutlook(cases, repeats, passAt(margin), nominal, false, comparisons).Rows[row]
		share := func(wanted func(eval.Verdict) bool, repeats int, loss float64) (sum float64) {
			for range draws {
				r := repeatPairs{}
				for range cases * repeats {
					r.add(asNumber(rng.Float64() < said.Passing), asNumber(rng.Float64() < said.Passing-loss), 1)
				}
				var one MetricComparison
				r.test(&one, margin)
				p := tested{*one.PNonInferior, min(1, float64(comparisons)**one.PWorse), *one.PBetter, comparisons}
				if wanted(verdictBy(cases, p, nominal)) {
					sum += 1 / float64(draws)
				}
			}
			return sum
		}
		holds := func(v eval.Verdict) bool { return v == eval.NotWorse || v == eval.Improved }
		regressed := func(v eval.Verdict) bool { return v == eval.Regressed }
		name := fmt.Sprintf("%d cases, %d repeats, margin %g, %d comparisons: %+v", cases, repeats, margin, comparisons, said)
		atMost(t, name+": holds", math.Abs(share(holds, repeats, 0)-said.Holds), bound)
		atMost(t, name+": detects", math.Abs(share(regressed, repeats, said.Smallest)-said.Detects), bound)
		if said.Needed > 0 {
			atLeast(t, name+": holds with the repeats that are needed", share(holds, said.Needed, 0), power-bound)
		}
		return outcome{eval.NotWorse, 1}
	})
}
