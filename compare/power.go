package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// design is the comparison of a pass rate before its answers are there. Its probabilities are exact where each unit is a
// case that runs once, and simulated elsewhere. They assume that every answer passes with the same probability, and
// independently, but for the cases of a cluster, which share their outcomes.
type design struct {
	units       []plannedUnit
	margin      float64
	gate        float64 // alpha of the gate
	early       bool
	comparisons int // of the run: "regressed" has this part of alpha (Holm)

	weights         []float64
	notWorse, worse stats.Tables
}

type plannedUnit struct{ requests, base, head int } // base and head: answers to a request

func newDesign(units []plannedUnit, margin, alpha float64, early bool, comparisons int) *design {
	d := &design{units: units, margin: margin, gate: alpha, early: early, comparisons: max(1, comparisons)}
	requests, end := 0, FinalAlpha(alpha, early)
	for _, u := range units {
		requests += u.requests
	}
	for _, u := range units {
		d.weights = append(d.weights, float64(u.requests)*float64(len(units))/float64(requests))
	}
	d.notWorse = stats.NewNotWorseTables(len(units), margin, end)
	d.worse = stats.NewWorseTables(len(units), end/float64(d.comparisons))
	return d
}

// sized is the design with n units like its own.
func (d *design) sized(n int) *design {
	units := make([]plannedUnit, n)
	for i := range units {
		units[i] = d.units[i%len(d.units)]
	}
	return newDesign(units, d.margin, d.gate, d.early, d.comparisons)
}

// isExact reports whether each unit is a case that runs once, and all units are tested at the end.
func (d *design) isExact() bool {
	return !d.early && !slices.ContainsFunc(d.units, func(u plannedUnit) bool { return u != plannedUnit{d.units[0].requests, 1, 1} })
}

// passing is the probability of a pass with which a share of flips of single answers change their outcome.
func passing(flips float64) float64 { return (1 + math.Sqrt(max(0, 1-2*flips))) / 2 }

// flipping is the share of pairs of answers that differ at a loss, where a share of flips does without one.
func flipping(flips, loss float64) float64 {
	p := passing(flips)
	return p*(1-p+loss) + (1-p)*(p-loss)
}

// Draws of a simulation: to report a probability (standard error 0.8 points at most), and to search by one.
const (
	reportDraws = 4000
	searchDraws = 600
)

// holds is the probability that the gate holds when nothing changed, for all of several arms with one baseline.
func (d *design) holds(flips float64, arms, draws int) float64 {
	if d.isExact() && arms == 1 {
		return d.notWorse.Probability(0, flips)
	}
	holds, _, _ := d.simulate(flips, 0, arms, draws)
	return holds
}

// detects is the probability that a loss is reported as regressed.
func (d *design) detects(flips, loss float64, draws int) float64 {
	if d.isExact() {
		return d.worse.Without(d.notWorse).Probability(loss, flipping(flips, loss))
	}
	_, regressed, _ := d.simulate(flips, loss, 1, draws)
	return regressed
}

// smallest is the smallest loss, in thousandths, that is reported with the planned power, and its probability; the
// largest possible one where none is.
func (d *design) smallest(flips float64) (loss, chance float64) {
	return smallestLoss(flips, d.detects)
}

func smallestLoss(flips float64, detects func(flips, loss float64, draws int) float64) (loss, chance float64) {
	lo, hi := 0.0, passing(flips)
	for hi-lo > 0.002 {
		if mid := (lo + hi) / 2; detects(flips, mid, searchDraws) >= power {
			hi = mid
		} else {
			lo = mid
		}
	}
	loss = min(math.Ceil(1000*hi)/1000, passing(flips))
	return loss, detects(flips, loss, reportDraws)
}

// needed is the number of units with which the gate holds with the planned power when nothing changed.
func (d *design) needed(flips float64) int {
	n := casesForPower(flips, d.margin, FinalAlpha(d.gate, d.early), power)
	if d.isExact() || n > mostUnits {
		return n
	}
	return fewest(0, n, mostUnits, func(n int) bool { return d.sized(n).holds(flips, 1, searchDraws) >= power })
}

// mostUnits bounds the units that are simulated, and mostTables those of which tables are computed.
const (
	mostUnits  = 5000
	mostTables = 100_000
)

// WithoutFlip is the smallest number of units, from least on, that show without a single flip that nothing is worse by a margin.
// Where the exact test counts other tables as no less extreme, that is more than stats.MinCasesConstant.
func WithoutFlip(least int, margin, alpha float64) int {
	n := max(least, stats.MinCasesConstant(alpha, margin))
	for margin < 1 && n < mostTables {
		same := counts{n: n, exact: stats.Exact(n, margin)}
		if same.atMost(-margin) <= alpha {
			break
		}
		n++
	}
	return n
}

// LeastMargin is the smallest margin, in hundredths, that a number of units can show without a flip.
func LeastMargin(units int, alpha float64) float64 {
	for hundredths := 1; hundredths < 100; hundredths++ {
		if margin := float64(hundredths) / 100; WithoutFlip(units, margin, alpha) == units {
			return margin
		}
	}
	return 1
}

// casesForPower is the smallest number of cases that run once and are called not worse with the power p, when nothing changed
// and a share of them flips anyway. Above mostTables it is approximate.
func casesForPower(flips, margin, alpha, p float64) int {
	least := stats.MinCasesConstant(alpha, margin)
	guess := max(least, stats.CasesNeeded(flips, margin, alpha, p))
	if guess > mostTables || margin >= 1 {
		return guess
	}
	return fewest(least-1, guess, mostTables, func(n int) bool {
		return stats.NewNotWorseTables(n, margin, alpha).Probability(0, flips) >= p
	})
}

// fewest searches, from a first guess, the least number above lo that is enough, to half a percent. The power rises with
// the number but for small steps back.
func fewest(lo, guess, most int, enough func(n int) bool) int {
	hi := guess
	for !enough(hi) && hi < most {
		lo, hi = hi, hi+hi/4+1
	}
	for hi-lo > max(1, hi/200) {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Draws of a search for advice, which each undecided metric of each arm takes, and for the chance that is said.
const (
	adviceDraws = 200
	saidDraws   = 2000
)

// chanceOf is how often something happens in simulations.
func chanceOf(draws int, happens func(rng *rand.Rand) bool) float64 {
	rng := rand.New(rand.NewPCG(3, uint64(draws))) //nolint:gosec // a simulation
	hits := 0
	for range draws {
		if happens(rng) {
			hits++
		}
	}
	return float64(hits) / float64(draws)
}

// enough is the number of units that shows with power that a mean is not worse within margin, if nothing changed and units
// differ as these do, and the chance of that, exact or simulated; 0 where the units are too many for either.
func (t *means) enough(margin, alpha float64) (n int, chance float64) {
	if t.whole() {
		if n = casesForPower(t.flips(), margin, alpha, power); n > mostTables {
			return n, 0
		}
		return n, stats.NewNotWorseTables(n, margin, alpha).Probability(0, t.flips())
	}
	variance := t.largest() * t.largest() / float64(len(t.d)+2)
	for i, x := range t.d {
		variance += t.weights[i] * x * x / float64(len(t.d)+2)
	}
	n = max(stats.CasesNeeded(variance, margin, alpha, power), stats.MinCasesConstant(alpha, margin))
	if n > mostUnits {
		return n, 0
	}
	n = fewest(0, n, mostUnits, func(n int) bool { return t.again(n, margin, alpha, adviceDraws) >= power })
	return n, t.again(n, margin, alpha, saidDraws)
}

// regressing is the number of units with which power reports a loss like that of these as regressed, and the exact chance of
// that; 0 where units are more than one pair of answers, or too many.
func (t *means) regressing(loss, margin, alpha float64) (n int, chance float64) {
	if !t.whole() {
		return 0, 0
	}
	flips := float64(t.up.gained+t.up.regressed) / float64(t.up.n)
	chances := func(n int) float64 {
		return stats.NewWorseTables(n, alpha).Without(stats.NewNotWorseTables(n, margin, alpha)).Probability(loss, flips)
	}
	n = fewest(0, len(t.d), mostUnits, func(n int) bool { return chances(n) >= power })
	if n > mostUnits {
		return 0, 0
	}
	return n, chances(n)
}

func (t *means) flips() float64 { return t.up.pairs().Discordance() }

func (t *means) largest() float64 { return max(slices.Max(t.d), -slices.Min(t.d)) }

// again is the probability that n units which differ as these do, in either direction, are not worse within margin.
// One more unit than was seen differs, since few units without a difference do not rule one out.
func (t *means) again(n int, margin, alpha float64, draws int) float64 {
	decided, largest, wider := stats.Tables{}, t.largest(), 1.0
	if t.smooth {
		wider = (1 + curvature/float64(n)) / (1 + curvature/float64(len(t.d)))
	} else {
		decided = stats.NewNotWorseTables(n, margin, alpha)
	}
	x, weights := make([]float64, n), make([]float64, n)
	return chanceOf(draws, func(rng *rand.Rand) bool {
		for i := range x {
			at := rng.IntN(len(t.d) + 2)
			x[i], weights[i] = 0, 1
			switch {
			case at < len(t.d):
				x[i], weights[i] = wider*t.d[at], t.weights[at]
			case at == len(t.d):
				x[i] = largest
			}
			if rng.IntN(2) == 0 {
				x[i] = -x[i]
			}
		}
		scaled := scaledBy(float64(n)/sumOf(weights), weights)
		if t.smooth {
			return newSmooth(x, scaled).notWorse(margin) <= alpha
		}
		drawn := newMeans(x, scaled, margin)
		return drawn.shows(-margin, alpha, decided)
	})
}

// simulate draws answers of a baseline and of arms that are compared with it. It returns how often all arms hold, how
// often the first one regressed, and the share of the units that ran.
func (d *design) simulate(flips, loss float64, arms, draws int) (holds, regressed, used float64) {
	pass := passing(flips)
	rng := rand.New(rand.NewPCG(1, math.Float64bits(flips))) //nolint:gosec // a simulation
	base, x := make([]float64, len(d.units)), make([]float64, len(d.units))
	for range draws {
		for i, u := range d.units {
			base[i] = drawn(rng, u.base, pass)
		}
		all := true
		for arm := range arms {
			for i, u := range d.units {
				x[i] = drawn(rng, u.head, pass-loss) - base[i]
			}
			held, lost, share := d.outcome(x)
			all = all && held
			if lost && arm == 0 {
				regressed++
			}
			used += share / float64(arms)
		}
		if all {
			holds++
		}
	}
	n := float64(draws)
	return holds / n, regressed / n, used / n
}

// drawn is the share of k answers that pass.
func drawn(rng *rand.Rand, k int, pass float64) float64 {
	passed := 0
	for range k {
		if rng.Float64() < pass {
			passed++
		}
	}
	return float64(passed) / float64(k)
}

// outcome decides differences of units as a gate does.
func (d *design) outcome(x []float64) (holds, regressed bool, used float64) {
	if d.early {
		largest := slices.Max(d.weights)
		s := NewEarlyStop([]eval.MetricMargin{{Name: eval.MetricPass, Margin: d.margin}}, d.gate, d.comparisons)
		for i := range x {
			if stop := s.Feed(Unit{x[i : i+1], x[i : i+1], d.weights[i] / largest}); stop != nil {
				return stop.Verdict == eval.NotWorse, stop.Verdict == eval.Regressed, float64(i+1) / float64(len(x))
			}
		}
	}
	end := FinalAlpha(d.gate, d.early)
	rise := newMeans(x, d.weights, d.margin)
	if rise.shows(-d.margin, end, d.notWorse) {
		return true, false, 1
	}
	fall := newMeans(scaledBy(-1, x), d.weights, d.margin)
	return false, fall.shows(0, end/float64(d.comparisons), d.worse), 1
}

// shows reports whether atMost(limit) is at most alpha, by the tables of the exact test where these tell.
func (t *means) shows(limit, alpha float64, decided stats.Tables) bool {
	switch {
	case !t.even:
		return t.byBound(limit) <= alpha
	case decided.Has(t.down.gained, t.down.regressed):
		return true
	case !decided.Has(t.up.gained, t.up.regressed):
		return false
	}
	return t.byBound(limit) <= alpha
}

// NewOutlook computes what to expect of a gate on the pass rate, with the number of comparisons of the whole run.
func NewOutlook(p *Preview, m eval.MetricMargin, alpha float64, early bool, comparisons int) Outlook {
	o := Outlook{Units: p.Effective, Margin: m.Margin, Alpha: alpha, Comparisons: comparisons}
	o.Reach = WithoutFlip(1, m.Margin, FinalAlpha(alpha, early))
	if len(p.units) == 0 {
		return o
	}
	o.design = newDesign(p.units, m.Margin, alpha, early, comparisons)
	o.Rows = make([]OutlookRow, len(outlookFlips()))
	var rows sync.WaitGroup
	for i, flips := range outlookFlips() {
		rows.Go(func() { o.Rows[i] = o.row(flips) })
	}
	rows.Wait()
	return o
}

// outlookFlips range from a model that hardly varies to one that varies a lot.
func outlookFlips() []float64 { return []float64{0.05, 0.1, 0.2} }

func (o *Outlook) row(flips float64) OutlookRow {
	row := OutlookRow{Flips: flips, Passing: passing(flips), Needed: o.needed(flips), Share: 1}
	if o.early {
		row.Holds, _, row.Share = o.simulate(flips, 0, 1, reportDraws/2)
	} else {
		row.Holds = o.holds(flips, 1, reportDraws)
	}
	row.Smallest, row.Detects = o.smallest(flips)
	return row
}

// Together is the probability that the gate holds for several arms with one baseline when nothing changed.
func (o *Outlook) Together(flips float64, arms int) float64 {
	if o.design == nil {
		return 1
	}
	return o.holds(flips, arms, reportDraws/min(8, max(1, arms)))
}
