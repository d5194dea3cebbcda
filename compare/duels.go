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
	unitOf [][]int // by arm and place of a case: the number of its independent unit, over all arms
	all    int     // number of such units
	errors []bool  // whether an arm has some
	signs  []*reversedUnits
	totals [][]float64           // by arm and unit: of the values of its cases
	drawn  []*[reversals]float64 // by arm: its totals, signed
	duels  [][]duel              // that arm i is worse than arm j
	exact  map[[3]int]stats.Interval
	cases  int // most cases on which two arms were compared
	units  int // fewest independent units among them
}

// duel is the evidence that one arm is worse than another.
type duel struct {
	p *float64 // of "it is not worse", from the test of the two; nil before it is needed
	spreads
	bounds []unitSums // of the difference, also with each error of the other arm at its worst
	tables []counts   // as bounds, where units count as one case each
}

func newRanker(arms []*Side, o RankOptions) *ranker {
	k := &ranker{RankOptions: o, arms: arms, exact: map[[3]int]stats.Interval{}, units: math.MaxInt}
	first, numbers := Units(arms, nil), map[string]int{}
	for _, s := range arms {
		of := make([]int, len(s.Cases))
		for i, c := range s.Cases {
			key := cmp.Or(first[c.Key()], c.Key())
			if _, known := numbers[key]; !known {
				numbers[key] = len(numbers)
			}
			of[i] = numbers[key]
		}
		k.unitOf, k.errors = append(k.unitOf, of), append(k.errors, errorsOf(s).Total > 0)
	}
	k.all = len(numbers)
	k.signs = make([]*reversedUnits, min(mostSigns, (k.all+7)/8))
	for j := range arms {
		k.totals = append(k.totals, k.total(j))
		k.drawn = append(k.drawn, k.signed(k.totals[j]))
		k.duels = append(k.duels, make([]duel, len(arms)))
	}
	for j := range arms {
		for i := range j {
			there := k.evidence(i, j)
			k.duels[i][j] = k.duel(there)
			k.duels[i][j].flips = k.flips(i, j, there[0].sums) // the other way round they differ in the sign
			back := there[:1]
			if back[0].reverse(); k.errors[i] {
				back = k.evidence(j, i)
			}
			k.duels[j][i] = k.duel(back)
		}
	}
	return k
}

func (k *ranker) duel(all []evidence) (out duel) {
	for at := range all {
		e := &all[at]
		one := e.spreads()
		out.bounds = append(out.bounds, e.unitSums())
		if at == 0 {
			out.spreads = one
			k.cases, k.units = max(k.cases, e.cases), min(k.units, e.n)
		} else {
			out.z, out.missed = min(out.z, one.z), max(out.missed, one.missed)
		}
		if one.counted {
			out.tables = append(out.tables, newMeans(e.d, e.weights, 0).up)
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
	if d := &k.duels[i][j]; len(d.tables) == len(d.bounds) {
		for _, t := range d.tables {
			p = max(p, k.counted(t, margin))
		}
		return p
	}
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
	if k.errors[j] {
		out = append(out, k.gather(slices.Concat(p.scored, p.errored), i, j, true))
	}
	return out
}

func (e *evidence) reverse() {
	for _, x := range [][]float64{e.d, e.sums} {
		for i := range x {
			x[i] = -x[i]
		}
	}
}

func (k *ranker) gather(pairs []pair, i, j int, worst bool) evidence {
	m := newMeasure(Options{Seed: k.Seed}, pairs)
	m.worst = worst
	e := evidence{
		units: m.units(k.Metric, k.arms[i], k.arms[j]), cases: len(pairs),
		sums: make([]float64, k.all), sizes: make([]float64, k.all),
	}
	sign := k.sign()
	e.d = scaledBy(sign, e.d)
	ofBase, ofHead := m.values(k.Metric, k.arms[i], k.arms[j])
	for _, p := range pairs {
		b, okBase := ofBase(p.base)
		h, okHead := ofHead(p.head)
		if okBase && okHead {
			unit := k.unitOf[j][p.at]
			e.sums[unit] += sign * (h - b)
			e.sizes[unit]++
		}
	}
	return e
}

// total sums what an arm has by unit.
func (k *ranker) total(j int) []float64 {
	out := make([]float64, k.all)
	of, _ := new(measure).values(k.Metric, k.arms[j], k.arms[j])
	for i, c := range k.arms[j].Cases {
		if x, ok := of(c); ok {
			out[k.unitOf[j][i]] += k.sign() * x
		}
	}
	return out
}

// sign is negative where less is better.
func (k *ranker) sign() float64 {
	if k.Metric == eval.MetricBlocked {
		return -1
	}
	return 1
}

// atMost is the p value of the hypothesis that the mean difference is -margin or less.
func (k *ranker) atMost(u *units, margin float64) float64 {
	if u.n == 0 || u.mean(u.d)+margin <= 0 { // others are far from being rejected, too
		return 1
	}
	t := newMeans(u.d, u.weights, margin)
	if t.whole() {
		return k.counted(t.up, margin)
	}
	return t.atMost(-margin)
}

// counted is atMost for units that count as one case each.
func (k *ranker) counted(t counts, margin float64) float64 {
	if float64(t.gained-t.regressed)+margin*float64(t.n) <= 0 {
		return 1
	}
	t.exact = stats.Exact(t.n, math.Abs(margin))
	if margin == 0 && t.exact {
		if p := t.pairs().McNemar().MidBetter; p > k.Alpha { // not rejected at any level in use
			return p
		}
	}
	return t.atMost(-margin)
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
	if lo > 0 && k.counted(t.up, 0) > level {
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
		i = stats.Pairs{N: n, Gained: gained, Regressed: regressed}.ExactInterval(1 - 2*level)
		k.exact[key] = i
	}
	return i
}
