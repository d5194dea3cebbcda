package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// mostRounds is the largest number of rounds that plans and advice look at.
const mostRounds = 100

// roundsOf bounds the rounds of cases that plans and advice look at.
func roundsOf(cases int) int { return min(mostRounds, max(1, mostTables/max(1, cases))) }

// betting is an e-process over pairs of repeats that are equal or differ by one size. Pairs that differ in the tested direction
// raise it.
type betting struct{ logs, same, own, other []float64 } // logarithms by bet: of the product so far, and of a pair's factor

func newBetting(null, most, size float64) betting {
	step := func(d float64) []float64 { return stats.LogBets([]float64{d}, []float64{1}, null, most, bets) }
	return betting{make([]float64, bets), step(0), step(size), step(-size)}
}

// againstLoss is the e-process against "worse by the margin or more".
func againstLoss(margin, size float64) betting { return newBetting(-margin, 1/(1-margin), size) }

// add adds pairs, with the numbers that differ in each direction, and returns the logarithm of the e-value.
func (b *betting) add(logs []float64, pairs, own, other int) float64 {
	same := float64(pairs - own - other)
	for i := range logs {
		logs[i] += same*b.same[i] + float64(own)*b.own[i] + float64(other)*b.other[i]
	}
	return stats.LogMean(logs)
}

// tables are the outcomes of further pairs at which the e-value is at least 1/alpha.
func (b *betting) tables(pairs int, alpha float64) stats.Tables {
	logs := make([]float64, bets)
	return stats.NewTables(pairs, func(own, other int) bool {
		copy(logs, b.logs)
		return b.add(logs, pairs, own, other) >= math.Log(1/alpha)
	})
}

// rounds is the least number of further rounds of cases that makes the e-value large enough with the planned power, if nothing
// changed and a share of pairs flips, with its exact probability; 0 if none up to most does.
func (b *betting) rounds(cases, most int, flips, alpha float64) (n int, chance float64) {
	at := func(n int) float64 { return b.tables(n*cases, alpha).Probability(0, flips) }
	if n = 1 + sort.Search(most, func(k int) bool { return at(k+1) >= power }); n > most {
		return 0, 0
	}
	return n, at(n)
}

// by simulates how often the e-value is large enough at the end of some round, by the number of rounds.
func (b *betting) by(cases, rounds int, flips, alpha float64) []float64 {
	const most = 40_000_000 // pairs
	paths := min(2000, max(100, most/max(1, cases*rounds)))
	rng := rand.New(rand.NewPCG(1, math.Float64bits(flips))) //nolint:gosec // a simulation
	by, logs := make([]float64, rounds), make([]float64, bets)
	for range paths {
		clear(logs)
		known := false
		for k := range rounds {
			own, other := 0, 0
			for range cases {
				switch u := rng.Float64(); {
				case u < flips/2:
					own++
				case u < flips:
					other++
				}
			}
			if known = known || b.add(logs, cases, own, other) >= math.Log(1/alpha); known {
				by[k] += 1 / float64(paths)
			}
		}
	}
	return by
}

// NewSuiteOutlook is the outlook of a gate about a suite's own cases, each with a number of pairs of repeats.
func NewSuiteOutlook(cases, repeats int, m eval.MetricMargin, alpha float64, early bool, comparisons int) Outlook {
	o := Outlook{Units: cases, Margin: m.Margin, Alpha: alpha, Estimand: eval.OfSuite, Repeats: repeats, Comparisons: comparisons}
	if cases == 0 || repeats == 0 {
		return o
	}
	o.Reach = (PairsNeeded(m.Margin, alpha, false) + cases - 1) / cases
	e, rounds := againstLoss(m.Margin, 1), max(repeats, roundsOf(cases))
	for _, flips := range outlookFlips() {
		row := OutlookRow{Flips: flips, Passing: passing(flips), Share: 1}
		row.Smallest, row.Detects = smallestOfSuite(cases*repeats, flips, m.Margin, alpha, comparisons)
		if early {
			by := e.by(cases, rounds, flips, alpha)
			row.Needed = 1 + slices.IndexFunc(by, func(p float64) bool { return p >= power })
			row.Holds = by[repeats-1]
			for _, known := range by[:repeats-1] { // the next round does not run
				row.Share -= known / float64(repeats)
			}
		} else {
			row.Needed, _ = e.rounds(cases, rounds, flips, alpha)
			row.Holds = e.tables(cases*repeats, alpha).Probability(0, flips)
		}
		o.Rows = append(o.Rows, row)
	}
	return o
}

// smallestOfSuite is the smallest loss that this number of pairs reports as regressed with the planned power, if no case has more
// pairs than another, and its exact probability.
func smallestOfSuite(pairs int, flips, margin, alpha float64, comparisons int) (loss, chance float64) {
	lost, held := newBetting(0, 1, 1), againstLoss(margin, 1)
	worse := lost.tables(pairs, alpha/float64(max(1, comparisons))).Without(held.tables(pairs, alpha))
	return smallestLoss(flips, func(flips, loss float64, _ int) float64 { return worse.Probability(loss, flipping(flips, loss)) })
}

// adviseRounds says how many repeats would show that a metric is not worse, if nothing changed.
func (m *MetricComparison) adviseRounds(a *ArmComparison, alpha float64) {
	loss := -m.Estimate
	if m.Name == eval.MetricBlocked {
		loss = m.Estimate
	}
	rounds := 0
	if m.N > 0 {
		rounds = m.Pairs / m.N
	}
	switch {
	case m.N == 0:
	case loss >= *m.Margin:
		m.Advice = fmt.Sprintf("the loss seen, %.3f, is not smaller than the margin: look at the cases that got worse", loss)
	case m.HeadErrors > 0:
		m.Advice = diag.Count(m.HeadErrors, "answer") + " of head could not be judged, and " +
			diag.Verb(m.HeadErrors, "counts as a failure of a case", "count as failures of cases") + " that passed"
	default:
		flips := float64(m.PairsWorse+m.PairsBetter+1) / float64(m.Pairs+2)
		e, most := againstLoss(*m.Margin, m.size), roundsOf(m.N)
		e.logs = m.logs
		more, chance := e.rounds(m.N, most, flips, alpha)
		if more == 0 {
			m.Advice = fmt.Sprintf("more than %d further repeats of %s would be needed", most, theseCases(m.N))
			return
		}
		m.Repeats = rounds + more
		m.Advice = fmt.Sprintf(
			"with %d repeats on both sides (%d more: %d calls of %s) there is a chance of %.0f %% to show \"not worse\" if nothing "+
				"changed and as many differ as here; `evalrun run --extend RUN --repeats %d` continues the run, and its baseline if that has fewer",
			m.Repeats, more, more*m.N, a.HeadArm, 100*chance, m.Repeats,
		)
	}
}

func theseCases(n int) string {
	if n == 1 {
		return "this case"
	}
	return fmt.Sprintf("these %d cases", n)
}

// NewSuiteSelfTest compares an arm with itself about its own cases. Each draw divides the recorded repeats of each case into
// pairs at random.
func NewSuiteSelfTest(cases []Recorded, m eval.MetricMargin, alpha float64, draws int, seed uint64) SelfTest {
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a simulation
	t := SelfTest{Draws: draws, Units: len(cases), Verdicts: map[eval.Verdict]float64{}}
	fewest := math.MaxInt
	for _, c := range cases {
		fewest = min(fewest, len(c.Passed)/2)
	}
	t.Repeats = fewest
	flipped, pairs := 0, 0
	for range draws {
		r := repeatPairs{}
		for _, c := range cases {
			repeats := c.Passed
			order := rng.Perm(len(repeats))
			n := len(repeats) / 2
			for k := range n {
				r.add(asNumber(repeats[order[2*k]]), asNumber(repeats[order[2*k+1]]), float64(fewest)/float64(n))
			}
		}
		flipped, pairs = flipped+r.worse+r.better, pairs+len(r.worst)
		one := MetricComparison{MetricChange: MetricChange{N: len(cases)}}
		r.test(&one, m.Margin)
		decide(&one, tested{*one.PNonInferior, *one.PWorse, *one.PBetter, 1}, alpha)
		t.Verdicts[one.Verdict] += 1 / float64(draws)
	}
	t.FalseAlarms = t.Verdicts[eval.Regressed]
	t.Flips = float64(flipped) / float64(pairs)
	t.Smallest, t.Detects = smallestOfSuite(pairs/draws, t.Flips, m.Margin, alpha, 1)
	return t
}

func asNumber(passed bool) float64 {
	if passed {
		return 1
	}
	return 0
}
