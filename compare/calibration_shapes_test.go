package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// shape is a scenario of section C: data whose true loss is the margin, or which have none, and which a verdict must not be fooled by.
type shape struct {
	name   string
	n      int // what draw makes n of: cases, or clusters
	metric eval.MetricMargin
	draw   func(rng *rand.Rand, n int) path
	wrong  func(tally) float64 // the verdict that would be false
	slow   bool                // in the long form only
}

// falseNotWorse and falseRegressed are the two promises of a gate.
var (
	falseNotWorse  = tally.notWorse
	falseRegressed = tally.regressed
)

func eachCase(one func(p path, i int, rng *rand.Rand)) func(*rand.Rand, int) path {
	return func(rng *rand.Rand, n int) path {
		p := newPath(n)
		for i := range n {
			one(p, i, rng)
		}
		return p
	}
}

// drawNoisy loses everything in one of twenty cases; the others differ by noise, so that no test sees equal ones (C4).
func drawNoisy(p path, i int, rng *rand.Rand) {
	noise := 0.002 * (rng.Float64() - 0.5)
	if rng.Float64() < 0.05 {
		p.score(i, 1, 0)
	} else {
		p.score(i, 0.5, 0.5+noise)
	}
}

// drawWindfall gains everything in one of twenty cases and loses a nineteenth of it in all others: nothing changed in the mean.
func drawWindfall(p path, i int, rng *rand.Rand) {
	noise := 0.002 * (rng.Float64() - 0.5)
	if rng.Float64() < 0.05 {
		p.score(i, 0, 1)
	} else {
		p.score(i, 0.5, 0.5-1.0/19+noise)
	}
}

// explosions multiply the length of a share of the answers, which have 100 tokens each (C6).
func explosions(share, times float64) func(path, int, *rand.Rand) {
	return func(p path, i int, rng *rand.Rand) {
		p.flip(i, 0)
		tokens := func() float64 { return 95 + 10*rng.Float64() }
		p.base[i].Tokens = eval.Sum{Total: tokens(), N: 1}
		p.head[i].Tokens = eval.Sum{Total: tokens(), N: 1}
		if rng.Float64() < share {
			p.head[i].Tokens.Total *= times
		}
	}
}

// drawUneven draws clusters of 1 to 10 cases that share their fate (C7): lost and gained are shares of the clusters.
func drawUneven(lost, gained float64) func(*rand.Rand, int) path {
	return func(rng *rand.Rand, clusters int) path {
		p := newPath(0)
		for c := range clusters {
			d := fate(rng, lost, gained)
			for range 1 + rng.IntN(10) {
				i := p.grow()
				p.flip(i, d)
				p.base[i].Cluster, p.head[i].Cluster = caseNames[c], caseNames[c]
			}
		}
		return p
	}
}

// drawDuplicates has each request three times, with the same outcome (C3).
func drawDuplicates(lost, gained float64) func(*rand.Rand, int) path {
	return func(rng *rand.Rand, requests int) path {
		p := newPath(0)
		for q := range requests {
			d := fate(rng, lost, gained)
			for range 3 {
				i := p.grow()
				p.flip(i, d)
				p.base[i].Request, p.head[i].Request = caseNames[q], caseNames[q]
			}
		}
		return p
	}
}

func fate(rng *rand.Rand, lost, gained float64) int {
	switch u := rng.Float64(); {
	case u < lost:
		return -1
	case u < lost+gained:
		return 1
	}
	return 0
}

func (p *path) grow() int {
	i := len(p.head)
	if i == cap(p.head) { // CaseTotals are large, and copies of them take most of the time
		p.base, p.head = slices.Grow(p.base, 400), slices.Grow(p.head, 400)
	}
	one := CaseTotals{Name: caseNames[i], ID: caseNames[i], Ran: 1}
	p.base, p.head = append(p.base, one), append(p.head, one)
	return i
}

var (
	passMargin5  = eval.MetricMargin{Name: eval.MetricPass, Margin: 0.05}
	scoreMargin5 = eval.MetricMargin{Name: scored, Margin: 0.05}
)

// tokensUpTo lets a fifth more tokens pass, with a cap for each case.
func tokensUpTo(most float64) eval.MetricMargin {
	return eval.MetricMargin{Name: eval.MetricTokens, Margin: 1.2, Cap: most, Strict: true}
}

// shapes are the scenarios that the amendments of section C name.
func shapes() []shape {
	all := []shape{
		{"windfall: false regressed", 40, scoreMargin5, eachCase(drawWindfall), falseRegressed, false},
		{"windfall: false regressed", 60, scoreMargin5, eachCase(drawWindfall), falseRegressed, true},
		{"windfall: false regressed", 100, scoreMargin5, eachCase(drawWindfall), falseRegressed, true},
		{"2 % of the cases times 11", 200, tokensUpTo(1100), eachCase(explosions(0.02, 11)), falseNotWorse, false},
		{"2 % of the cases times 11", 400, tokensUpTo(1100), eachCase(explosions(0.02, 11)), falseNotWorse, true},
		{"5 % of the cases at the cap", 80, tokensUpTo(0), eachCase(explosions(0.05, 11)), falseNotWorse, false},
		{"5 % of the cases at the cap", 200, tokensUpTo(0), eachCase(explosions(0.05, 11)), falseNotWorse, true},
		{"tokens, nothing changed", 80, tokensUpTo(0), eachCase(explosions(0, 1)), falseRegressed, false},
		{"uneven clusters: false not worse", 120, passMargin5, drawUneven(0.05, 0), falseNotWorse, false},
		{"uneven clusters: false not worse", 200, passMargin5, drawUneven(0.08, 0.03), falseNotWorse, true},
		{"uneven clusters: false regressed", 60, passMargin5, drawUneven(0.1, 0.1), falseRegressed, false},
		{"duplicates: false not worse", 60, passMargin5, drawDuplicates(0.08, 0.03), falseNotWorse, false},
		{"duplicates: false regressed", 60, passMargin5, drawDuplicates(0.1, 0.1), falseRegressed, false},
	}
	for _, n := range []int{28, 30, 40, 50, 59, 60} {
		all = append(all, shape{"rare total loss with noise", n, scoreMargin5, eachCase(drawNoisy), falseNotWorse, n != 30 && n != 60})
	}
	return all
}

// TestShapesKeepTheRates holds the rates for the shapes of data that fooled earlier verdicts.
func TestShapesKeepTheRates(t *testing.T) {
	t.Parallel()
	for i, s := range shapes() {
		if s.slow && !calibrating() {
			continue
		}
		paths := pathsFor(60)
		sum := simulate(t, uint64(800+i), paths, func(rng *rand.Rand) outcome {
			return outcome{s.draw(rng, s.n).fixed(s.metric, nominal, nil), 1}
		})
		t.Logf("%-36s n=%3d: %.3f", s.name, s.n, s.wrong(sum))
		atMost(t, fmt.Sprintf("%s, n=%d", s.name, s.n), s.wrong(sum), most(paths))
		if s.metric.Name == eval.MetricPass {
			early := simulate(t, uint64(800+i), paths, func(rng *rand.Rand) outcome { return s.draw(rng, s.n).early(s.metric) })
			atMost(t, fmt.Sprintf("%s, n=%d, with stopEarly", s.name, s.n), s.wrong(early), most(paths))
		}
	}
}

// TestControlDuplicatesFoolTheVerdict is the control: taken for different requests, the same data must be seen to fool the verdict.
func TestControlDuplicatesFoolTheVerdict(t *testing.T) {
	t.Parallel()
	paths := pathsFor(60)
	sum := simulate(t, 850, paths, func(rng *rand.Rand) outcome {
		p := drawDuplicates(0.08, 0.03)(rng, 60)
		for i := range p.head {
			p.base[i].Request, p.head[i].Request = "", ""
		}
		return outcome{p.fixed(passMargin5, nominal, nil), 1}
	})
	t.Logf("duplicates taken for different requests: false not worse %.3f", sum.notWorse())
	atLeast(t, "control: duplicates taken for different requests", sum.notWorse(), 0.10)
}

// TestEqualArmsAreHardlyEverCalledDifferent holds that among 23 equal arms hardly ever one is called improved, or regressed (C10).
func TestEqualArmsAreHardlyEverCalledDifferent(t *testing.T) {
	t.Parallel()
	const arms, n = 23, 100
	paths := pathsFor(60)
	for _, wanted := range []eval.Verdict{eval.Improved, eval.Regressed} {
		sum := simulate(t, 860, paths, func(rng *rand.Rand) outcome {
			all := make([]ArmComparison, arms)
			for i := range all {
				gained, regressed, _ := drawFlips(rng, n, 0, 0.2).counts()
				all[i] = armOf(n, testCounts(n, gained, regressed, passMargin5.Margin))
			}
			Decide(all, everywhere(Options{Alpha: nominal, Margins: []eval.MetricMargin{passMargin5}}))
			if slices.ContainsFunc(all, func(a ArmComparison) bool { return a.Verdict == wanted }) {
				return outcome{wanted, 1}
			}
			return outcome{eval.NotWorse, 1}
		})
		t.Logf("some of %d equal arms %s: %.3f", arms, wanted, sum.rate(wanted))
		atMost(t, fmt.Sprintf("some of %d equal arms %s", arms, wanted), sum.rate(wanted), most(paths))
	}
}

// armOf is the comparison of an arm by the tests of its pass rate alone.
func armOf(n int, tests tested) ArmComparison {
	return ArmComparison{Metrics: []MetricComparison{{
		Name: eval.MetricPass, MetricChange: MetricChange{N: n},
		MetricTests: MetricTests{
			Gated: true, Margin: &passMargin5.Margin, PNonInferior: &tests.notInferior, PWorse: &tests.worse, PBetter: &tests.better,
		},
	}}}
}
