package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// calibrating says whether this is the long form, `make calibrate`, which measures what docs promise instead of only
// looking for gross errors.
func calibrating() bool { return os.Getenv("EVALRUN_CALIBRATE") != "" }

// pathsFor is how many paths of a scenario are drawn: 4,000 in the long form, so few in every other test run.
func pathsFor(short int) int {
	if calibrating() {
		return 4000
	}
	return short
}

const nominal = 0.05

// most is what a rate that is nominal at most may measure in n paths: three standard errors above. The draws are seeded, so
// that a test that passes once always does.
func most(n int) float64 { return nominal + 3*math.Sqrt(nominal*(1-nominal)/float64(n)) }

const scenarioCases = 2000

// caseNames are shared by all paths: what is measured are verdicts, not the making of strings.
var caseNames = func() (names [scenarioCases]string) {
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return names
}()

// path is what a run and its baseline made of the cases, in the order of the schedule.
type path struct{ base, head []CaseTotals }

func newPath(n int) path {
	p := path{make([]CaseTotals, n), make([]CaseTotals, n)}
	for i := range n {
		p.base[i].Name, p.base[i].ID, p.base[i].Ran = caseNames[i], caseNames[i], 1
		p.head[i].Name, p.head[i].ID, p.head[i].Ran = caseNames[i], caseNames[i], 1
	}
	return p
}

func (c *CaseTotals) judge(passed bool) {
	if passed {
		c.Passed++
	} else {
		c.Failed++
	}
	c.Ran = c.Passed + c.Failed
}

func casesOf(all ...CaseTotals) (out []*CaseTotals) {
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

// flip records a pair: 1 gained, -1 regressed, 0 passed on both sides.
func (p path) flip(i, d int) {
	p.base[i].judge(d <= 0)
	p.head[i].judge(d >= 0)
}

// score records a pair of scores of the metric that scored names.
func (p path) score(i int, base, head float64) {
	p.flip(i, 0)
	p.base[i].Metrics, p.head[i].Metrics = []eval.Sum{{Total: base, N: 1}}, []eval.Sum{{Total: head, N: 1}}
}

const scored = "judge"

func (p path) first(n int) path { return path{p.base[:n], p.head[:n]} }

func (p path) cases() int { return len(p.head) }

func (p path) sides() (base, head *Side) {
	metrics := []string{scored}
	base = &Side{Run: "base", Suite: "s", Arm: "a", Metrics: metrics, Cases: casesOf(p.base...)}
	head = &Side{Run: "head", Suite: "s", Arm: "a", Metrics: metrics, Cases: casesOf(p.head...)}
	return base, head
}

// fixed is the verdict of the tests for a number of cases that was fixed before, as Compare and Decide give it.
func (p path) fixed(g eval.MetricMargin, alpha float64, stop *eval.KnownVerdict) eval.Verdict {
	if gained, regressed, counted := p.counts(); counted && g.Name == eval.MetricPass { // the same, without an interval
		if stop != nil {
			return stop.Verdict
		}
		return sharedVerdict(p.cases(), gained, regressed, g.Margin, alpha)
	}
	base, head := p.sides()
	o := Options{Alpha: alpha, Margins: []eval.MetricMargin{g}, MaxErrors: 0.01, Seed: 1}
	m := newMeasure(o, pairUp(base, head, nil).scored)
	m.testsOnly = true
	one := m.metric(g.Name, base, head)
	one.Gated, one.Margin = true, &g.Margin
	return Decide([]ArmComparison{{Metrics: []MetricComparison{one}, EarlyVerdict: stop}}, everywhere(o))
}

// counts are the flips of cases that were scored once each, and belong to no cluster; false where there are others.
func (p path) counts() (gained, regressed int, ok bool) {
	for i := range p.head {
		b, h := &p.base[i], &p.head[i]
		switch {
		case b.Passed+b.Failed != 1 || h.Passed+h.Failed != 1 || h.Cluster != "" || h.Request != "":
			return 0, 0, false
		case h.Passed > b.Passed:
			gained++
		case h.Passed < b.Passed:
			regressed++
		}
	}
	return gained, regressed, true
}

// everywhere are the same options for every suite.
func everywhere(o Options) Rules { return func(string) Options { return o } }

type outcome struct {
	verdict eval.Verdict
	used    float64
}

// early is the verdict of a run with stopEarly. earlyShare of the error rate is for looking early, at units in the
// order of the schedule, and the rest for the tests at the end.
func (p path) early(g eval.MetricMargin) outcome {
	s := NewEarlyStop([]eval.MetricMargin{g}, nominal, 1)
	base, head := p.sides()
	largest := 1
	for from := 0; from < p.cases(); from = p.unit(from) {
		largest = max(largest, p.requests(from))
	}
	for from := 0; from < p.cases(); {
		to := p.unit(from)
		var unit eval.Sum
		for i := from; i < to; i++ {
			b, _ := p.base[i].Of(base, g.Name).Mean()
			h, _ := p.head[i].Of(head, g.Name).Mean()
			unit.Add(h - b)
		}
		d, _ := unit.Mean()
		if stop := s.Feed(Unit{[]float64{d}, []float64{d}, float64(p.requests(from)) / float64(largest)}); stop != nil {
			return outcome{p.first(to).fixed(g, nominal*(1-earlyShare), stop), float64(to) / float64(p.cases())}
		}
		from = to
	}
	return outcome{p.fixed(g, nominal*(1-earlyShare), nil), 1}
}

// unit is where the unit of a case ends: cases of one cluster, or of one request, follow each other.
func (p path) unit(from int) int {
	to, first := from+1, &p.head[from]
	for to < p.cases() && (first.Cluster != "" && p.head[to].Cluster == first.Cluster ||
		first.Request != "" && p.head[to].Request == first.Request) {
		to++
	}
	return to
}

func (p path) requests(from int) int {
	if p.head[from].Request != "" {
		return 1
	}
	return p.unit(from) - from
}

type tally struct {
	paths    int
	verdicts map[eval.Verdict]int
	used     float64
}

func (t tally) rate(verdicts ...eval.Verdict) float64 {
	n := 0
	for _, v := range verdicts {
		n += t.verdicts[v]
	}
	return float64(n) / float64(max(1, t.paths))
}

// notWorse is the share of paths that a gate lets through for good.
func (t tally) notWorse() float64 { return t.rate(eval.NotWorse, eval.Improved) }

func (t tally) regressed() float64 { return t.rate(eval.Regressed) }

func (t tally) saved() float64 { return 1 - t.used/float64(t.paths) }

// eachPath draws paths on all processors, each from a source of its own, so that what comes out depends on the seed alone.
func eachPath[T any](seed uint64, paths int, one func(*rand.Rand) T) []T {
	all := make([]T, paths)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < paths; i += workers {
				all[i] = one(rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	wait.Wait()
	return all
}

// simulate adds up what comes out of paths. None may be invalid: then it would not measure what it says.
func simulate(t *testing.T, seed uint64, paths int, one func(*rand.Rand) outcome) tally {
	t.Helper()
	outcomes := eachPath(seed, paths, one)
	sum := tally{paths: paths, verdicts: map[eval.Verdict]int{}}
	for _, o := range outcomes {
		sum.verdicts[o.verdict]++
		sum.used += o.used
	}
	if n := sum.verdicts[eval.Invalid] + sum.verdicts[""]; n > 0 {
		t.Fatalf("got %d of %d paths that are invalid, want none", n, paths)
	}
	return sum
}

func atMost(t *testing.T, what string, rate, bound float64) {
	t.Helper()
	if !(rate <= bound) {
		t.Errorf("%s: %.4f, want %.4f at most", what, rate, bound)
	}
}

func atLeast(t *testing.T, what string, rate, bound float64) {
	t.Helper()
	if !(rate >= bound) {
		t.Errorf("%s: %.4f, want %.4f at least", what, rate, bound)
	}
}

func passAt(margin float64) eval.MetricMargin {
	return eval.MetricMargin{Name: eval.MetricPass, Margin: margin}
}

// drawFlips draws n pairs and flips the share psi of them, so that the pass rate is lower by loss.
func drawFlips(rng *rand.Rand, n int, loss, psi float64) path {
	p := newPath(n)
	for i := range n {
		switch u := rng.Float64(); {
		case u < (psi+loss)/2:
			p.flip(i, -1)
		case u < psi:
			p.flip(i, 1)
		default:
			p.flip(i, 0)
		}
	}
	return p
}

// binaryVerdict is the verdict on a pass rate from counts alone.
func binaryVerdict(n, gained, regressed int, margin, alpha float64) eval.Verdict {
	return verdictBy(n, testCounts(n, gained, regressed, margin), alpha)
}

// testCounts runs the tests of a gate on cases that passed or failed once.
func testCounts(n, gained, regressed int, margin float64) tested {
	rise := counts{n, gained, regressed, margin > 0 && stats.Exact(n, margin)}
	fall := counts{n, regressed, gained, rise.exact}
	return tested{notInferior: rise.atMost(-margin), worse: fall.atMost(0), better: rise.atMost(0), tests: 1}
}
