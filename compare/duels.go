package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// ranker compares each arm with each other one.
type ranker struct {
	RankOptions
	arms   []*Side
	unitOf []map[*CaseTotals]int // by arm: the number of a case's independent unit, over all arms
	all    int                   // number of such units
	duels  [][]duel              // that arm i is worse than arm j
	known  map[pairTable]float64 // p values
	exact  map[[3]int]stats.Interval
	cases  int // most cases on which two arms were compared
	units  int // fewest independent units among them
}

// pairTable are the arguments of an exact test.
type pairTable struct {
	n, gained, regressed int
	margin               float64
}

// duel is the evidence that one arm is worse than another.
type duel struct {
	p *float64 // of "it is not worse", from the test of the two; nil before it is needed
	spreads
	bounds []unitSums // of the difference, also with each error of the other arm at its worst
}

func newRanker(arms []*Side, o RankOptions) *ranker {
	k := &ranker{RankOptions: o, arms: arms, known: map[pairTable]float64{}, exact: map[[3]int]stats.Interval{}, units: math.MaxInt}
	first, numbers := Units(arms, nil), map[string]int{}
	for _, s := range arms {
		of := make(map[*CaseTotals]int, len(s.Cases))
		for _, c := range s.Cases {
			key := cmp.Or(first[c.Key()], c.Key())
			if _, known := numbers[key]; !known {
				numbers[key] = len(numbers)
			}
			of[c] = numbers[key]
		}
		k.unitOf = append(k.unitOf, of)
	}
	k.all = len(numbers)
	for i := range arms {
		k.duels = append(k.duels, make([]duel, len(arms)))
		for j := range arms {
			if i != j {
				k.duels[i][j] = k.duel(i, j)
			}
		}
	}
	return k
}

func (k *ranker) duel(i, j int) duel {
	var out duel
	for at, e := range k.evidence(i, j) {
		one := e.spreads()
		if out.bounds = append(out.bounds, e.unitSums()); at > 0 {
			out.z, out.missed = min(out.z, one.z), max(out.missed, one.missed)
			continue
		}
		out.spreads = one
		k.cases, k.units = max(k.cases, e.cases), min(k.units, e.n)
		if i < j { // the other way round they differ in the sign
			out.flips = e.flips(k.Seed)
		}
	}
	return out
}

// worse is the p value of "arm i is not worse than arm j".
func (k *ranker) worse(i, j int) float64 {
	d := &k.duels[i][j]
	if d.p == nil {
		d.p = new(k.shown(i, j, 0))
	}
	return *d.p
}

// shown is the p value of "arm j is not better than arm i by more than -margin", with errors of arm j at their worst.
func (k *ranker) shown(i, j int, margin float64) (p float64) {
	for _, e := range k.evidence(i, j) {
		p = max(p, k.atMost(&e.units, margin))
	}
	return p
}

// evidence is how much better one arm did than another.
type evidence struct {
	units
	cases       int
	sums, sizes []float64 // differences and cases by independent unit over all arms, which may hold several of units
}

// evidence returns how much better arm j did than arm i, and again with each error of arm j at its worst.
func (k *ranker) evidence(i, j int) []evidence {
	p := pairUp(k.arms[i], k.arms[j], nil)
	out := []evidence{k.gather(p.scored, i, j, false)}
	if errorsOf(k.arms[j]).Total > 0 {
		out = append(out, k.gather(slices.Concat(p.scored, p.errored), i, j, true))
	}
	return out
}

func (k *ranker) gather(pairs []pair, i, j int, worst bool) evidence {
	m := newMeasure(Options{Seed: k.Seed}, pairs)
	m.worst = worst
	e := evidence{
		units: m.units(k.Metric, k.arms[i], k.arms[j]), cases: len(pairs),
		sums: make([]float64, k.all), sizes: make([]float64, k.all),
	}
	sign := 1.0
	if k.Metric == eval.MetricBlocked { // less is better
		sign = -1
		e.d = scaledBy(sign, e.d)
	}
	ofBase, ofHead := m.values(k.Metric, k.arms[i], k.arms[j])
	for _, p := range pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if okBase && okHead {
			unit := k.unitOf[j][p.head]
			e.sums[unit] += sign * (h - b)
			e.sizes[unit]++
		}
	}
	return e
}

// atMost is the p value of the hypothesis that the mean difference is -margin or less.
func (k *ranker) atMost(u *units, margin float64) float64 {
	if u.n == 0 || u.mean(u.d)+margin <= 0 { // others are far from being rejected, too
		return 1
	}
	t := newMeans(u.d, u.weights, margin)
	if t.whole() {
		return k.counted(pairTable{u.n, t.up.gained, t.up.regressed, margin})
	}
	return t.atMost(-margin)
}

// counted caches p values: in small suites many pairs of arms have the same counts.
func (k *ranker) counted(t pairTable) float64 {
	if p, known := k.known[t]; known {
		return p
	}
	_, p := stats.TangoNonInferiority(t.n, t.gained, t.regressed, t.margin)
	exact := stats.Exact(t.n, math.Abs(t.margin))
	switch {
	case t.margin != 0 && exact:
		p = stats.ExactNonInferiority(t.n, t.gained, t.regressed, t.margin)
	case t.margin == 0:
		p = stats.NewMcNemar(t.regressed, t.gained).MidBetter
		if exact && p <= k.Alpha { // others are not rejected at any level in use
			p = stats.ExactWorse(t.n, t.regressed, t.gained)
		}
	}
	k.known[t] = p
	return p
}

// atLeast is a lower bound of the mean difference, with the error of the level.
func (k *ranker) atLeast(u *units, level float64) float64 {
	if u.n == 0 {
		return -1
	}
	t := newMeans(u.d, u.weights, 0)
	if !t.whole() {
		return t.bound(level)
	}
	lo := t.up.bound(level)
	if u.n <= fewUnits {
		lo = k.exactInterval(u.n, t.up.gained, t.up.regressed, level).Lo
	}
	if lo > 0 && k.counted(pairTable{u.n, t.up.gained, t.up.regressed, 0}) > level {
		return 0 // the exact test of the flips disagrees
	}
	return lo
}

// enough is the number of units that shows with power that one arm is worse than another, by the most cautious test of a ranking,
// for the two that differ most; 0 where none differ.
func (k *ranker) enough() int {
	var worst, best int
	for i := range k.arms {
		for j := range k.arms {
			if i != j && k.duels[i][j].z > k.duels[worst][best].z {
				worst, best = i, j
			}
		}
	}
	if worst == best {
		return 0
	}
	u, squares := k.evidence(worst, best)[0].units, 0.0
	for i, d := range u.d {
		squares += u.weights[i] * d * d / float64(u.n)
	}
	loss, each := u.mean(u.d), level(len(k.arms), k.Alpha)
	n := stats.CasesNeeded(squares, loss, each, power)
	if n > mostExact || !k.duels[worst][best].counted {
		return n
	}
	return fewest(0, n, mostExact, func(n int) bool { return stats.NewWorseTables(n, each).Probability(loss, squares) >= power })
}

// mostExact bounds the units for which tables of exact tests are made to advise a number.
const mostExact = 500

// fewUnits is the largest number of units for the exact interval, which takes milliseconds a pair.
const fewUnits = 100

// exactInterval caches intervals of one level.
func (k *ranker) exactInterval(n, gained, regressed int, level float64) stats.Interval {
	if gained < regressed {
		i := k.exactInterval(n, regressed, gained, level)
		return stats.Interval{Lo: -i.Hi, Hi: -i.Lo}
	}
	key := [3]int{n, gained, regressed}
	i, known := k.exact[key]
	if !known {
		i = stats.ExactInterval(n, gained, regressed, 1-2*level)
		k.exact[key] = i
	}
	return i
}
