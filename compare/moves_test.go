package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

// verdictOf is the verdict on the pass rate of a path, and the p values that decide it.
func verdictOf(p path, margin float64) (eval.Verdict, tested) {
	o := Options{Alpha: nominal, Margins: []eval.MetricMargin{passAt(margin)}}
	base, head := p.sides()
	pairs := pairUp(base, head, nil)
	m := newMeasure(o, pairs.scored)
	m.testsOnly = true
	c := m.metric(eval.MetricPass, base, head)
	all := tested{orOne(c.PNonInferior), orOne(c.PWorse), orOne(c.PBetter), 1}
	decide(&c, all, nominal)
	return c.Verdict, all
}

// moving draws cases with repeats, some in clusters, that pass or fail in all repeats but for a few flaky ones.
func moving(rng *rand.Rand) path {
	n, repeats := 5+rng.IntN(35), 1+rng.IntN(4)
	flaky, gained, lost := rng.Float64()*rng.Float64(), rng.Float64()*0.3, rng.Float64()*0.05
	p := newPath(n)
	size := 1 + rng.IntN(8)/5
	uneven := rng.IntN(8) == 0
	for i := range n {
		before, after := 1.0, 1.0
		switch u := rng.Float64(); {
		case u < flaky:
			before, after = 0.8, 0.8
		case u < flaky+gained:
			before = 0
		case u < flaky+gained+lost:
			after = 0
		}
		for range repeats {
			p.base[i].judge(rng.Float64() < before)
			p.head[i].judge(rng.Float64() < after)
		}
		if name := caseNames[i/size]; size > 1 && (!uneven || i < n/2) {
			p.base[i].Cluster, p.head[i].Cluster = name, name
		}
	}
	return p
}

// worsen lets an answer of head fail that passed, or one of base pass that failed; false when there is none.
func (p path) worsen(rng *rand.Rand) bool {
	from := rng.IntN(p.cases())
	for i := range p.cases() {
		b, h := &p.base[(from+i)%p.cases()], &p.head[(from+i)%p.cases()]
		side, one := h, -1
		if h.Passed == 0 || b.Failed > 0 && rng.IntN(4) == 0 {
			side, one = b, 1
		}
		if side.Passed+one >= 0 && side.Failed-one >= 0 {
			side.Passed += one
			side.Failed -= one
			return true
		}
	}
	return false
}

func (p path) repeated(k int) path {
	out := path{slices.Clone(p.base), slices.Clone(p.head)}
	for _, side := range [][]CaseTotals{out.base, out.head} {
		for i := range side {
			c := &side[i]
			c.Passed, c.Failed, c.Ran = k*c.Passed, k*c.Failed, k*c.Ran
		}
	}
	return out
}

// clustered has every case of a path k times, in one cluster, or as equal requests.
func (p path) clustered(k int, equal bool) path {
	n := k * p.cases()
	out := path{make([]CaseTotals, 0, n), make([]CaseTotals, 0, n)}
	for i := range p.cases() {
		for range k {
			at := out.grow()
			name, id := out.base[at].Name, out.base[at].ID
			out.base[at], out.head[at] = p.base[i], p.head[i]
			for _, c := range []*CaseTotals{&out.base[at], &out.head[at]} {
				c.Name, c.ID = name, id
				switch {
				case equal:
					c.Request = caseNames[i]
				case c.Cluster == "":
					c.Cluster = "of " + caseNames[i]
				}
			}
		}
	}
	return out
}

// rank orders verdicts from worst to best.
func rank(v eval.Verdict) int { return -slices.Index(order, v) }

// TestMovesNeverHelp checks, over every route, that an answer that gets worse never turns a verdict towards better, and
// that the same answers several times, or the same cases in one cluster or as equal requests, have the same verdict.
func TestMovesNeverHelp(t *testing.T) {
	t.Parallel()
	moves := 1000
	if calibrating() {
		moves = 1_000_000
	}
	simulate(t, 700, moves/50, func(rng *rand.Rand) outcome {
		p := moving(rng)
		margin := []float64{0.05, 0.1, 0.2}[rng.IntN(3)]
		verdict, tests := verdictOf(p, margin)
		for move := range 50 {
			k := 2 + rng.IntN(3)
			for what, same := range map[string]path{
				"every answer again": p.repeated(k), "as clusters": p.clustered(k, false), "as equal requests": p.clustered(k, true),
			} {
				if move%25 != 0 {
					break
				}
				if v, now := verdictOf(same, margin); v != verdict {
					t.Errorf("%s, %d times: %s (%+v), want %s (%+v)", what, k, v, now, verdict, tests)
				}
			}
			if !p.worsen(rng) {
				break
			}
			now, after := verdictOf(p, margin)
			if rank(now) > rank(verdict) {
				t.Errorf("margin %g: an answer got worse, and %s (%+v) became %s (%+v): %s", margin, verdict, tests, now, after, p.shown())
			}
			verdict, tests = now, after
		}
		return outcome{verdict, 1}
	})
}

func (p path) shown() (out string) {
	for i := range p.base {
		out += fmt.Sprintf("%d/%d>%d/%d%s ", p.base[i].Passed, p.base[i].Ran, p.head[i].Passed, p.head[i].Ran, p.head[i].Cluster)
	}
	return out
}
