package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Bounds of the simulations of rounds.
const (
	roundPaths = 2000
	mostRounds = 100
	mostDraws  = 40_000_000 // pairs over all paths
)

// roundOdds are the probabilities that the e-value against a loss of the margin is large enough, at the end of a round and by
// then.
type roundOdds struct{ at, by []float64 }

// needs is the first round with the power, 0 if none has it.
func needs(odds []float64) int {
	return slices.IndexFunc(odds, func(p float64) bool { return p >= power }) + 1
}

// oddsOf simulates further rounds of cases in which nothing changed: a share of the pairs, given by flips, differs by size in
// one direction or the other. logs are the logarithms of the products so far, by bet.
func oddsOf(logs []float64, cases int, flips, size, margin, alpha float64, rounds int) roundOdds {
	rng := rand.New(rand.NewPCG(1, math.Float64bits(flips))) //nolint:gosec // a simulation
	paths := min(roundPaths, max(100, mostDraws/max(1, cases*rounds)))
	step := func(d float64) []float64 {
		return stats.LogBets([]float64{d}, []float64{1}, -margin, 1/(1-margin), bets)
	}
	same, better, worse := step(0), step(size), step(-size)
	odds := roundOdds{make([]float64, rounds), make([]float64, rounds)}
	now := make([]float64, bets)
	for range paths {
		copy(now, logs)
		known := false
		for k := range rounds {
			gained, lost := 0.0, 0.0
			for range cases {
				switch u := rng.Float64(); {
				case u < flips/2:
					gained++
				case u < flips:
					lost++
				}
			}
			for i := range now {
				now[i] += (float64(cases)-gained-lost)*same[i] + gained*better[i] + lost*worse[i]
			}
			if stats.LogMean(now) >= math.Log(1/alpha) {
				odds.at[k] += 1 / float64(paths)
				known = true
			}
			if known {
				odds.by[k] += 1 / float64(paths)
			}
		}
	}
	return odds
}

// NewSuiteOutlook is the outlook of a gate about a suite's own cases, each with a number of pairs of repeats.
func NewSuiteOutlook(cases, repeats int, m eval.MetricMargin, alpha float64, early bool, comparisons int) Outlook {
	o := Outlook{Units: cases, Margin: m.Margin, Alpha: alpha, Estimand: eval.OfSuite, Repeats: repeats, Comparisons: comparisons}
	if cases == 0 || repeats == 0 {
		return o
	}
	o.Reach = (PairsNeeded(m.Margin, alpha, false) + cases - 1) / cases
	for _, flips := range outlookFlips() {
		rounds := max(repeats, min(mostRounds, max(1, mostDraws/(100*cases))))
		odds := oddsOf(make([]float64, bets), cases, flips, 1, m.Margin, alpha, rounds)
		holds := odds.at
		row := OutlookRow{Flips: flips, Passing: passing(flips), Detects: power, Share: 1}
		row.Smallest = smallestOfSuite(cases*repeats, flips, alpha/float64(max(1, comparisons)))
		if early {
			holds, row.Share = odds.by, 0
			for k := range repeats { // a round runs unless the verdict was known before
				known := 0.0
				if k > 0 {
					known = odds.by[k-1]
				}
				row.Share += (1 - known) / float64(repeats)
			}
		}
		row.Needed, row.Holds = needs(holds), holds[repeats-1]
		o.Rows = append(o.Rows, row)
	}
	return o
}

// smallestOfSuite is the smallest loss that this number of pairs reports as regressed with a probability of 80 %; 1 if none.
func smallestOfSuite(pairs int, flips, alpha float64) float64 {
	const draws = 400
	detects := func(loss float64) bool {
		rng := rand.New(rand.NewPCG(2, uint64(pairs))) //nolint:gosec // a simulation
		step := func(d float64) []float64 { return stats.LogBets([]float64{d}, []float64{1}, 0, 1, bets) }
		same, better, worse := step(0), step(-1), step(1)
		hits, now := 0, make([]float64, bets)
		for range draws {
			gained, lost := 0.0, 0.0
			for range pairs {
				switch u := rng.Float64(); {
				case u < loss+(1-loss)*flips/2:
					lost++
				case u < loss+(1-loss)*flips:
					gained++
				}
			}
			for i := range now {
				now[i] = (float64(pairs)-gained-lost)*same[i] + gained*better[i] + lost*worse[i]
			}
			if stats.LogMean(now) >= math.Log(1/alpha) {
				hits++
			}
		}
		return float64(hits) >= power*draws
	}
	if !detects(1) {
		return 1
	}
	lo, hi := 0.0, 1.0
	for hi-lo > 0.001 {
		if mid := (lo + hi) / 2; detects(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
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
		m.Advice = fmt.Sprintf("%d answers of head could not be judged, and count as failures of cases that passed", m.HeadErrors)
	default:
		flips := float64(m.PairsWorse+m.PairsBetter+1) / float64(m.Pairs+2)
		odds := oddsOf(m.logs, m.N, flips, m.size, *m.Margin, alpha, min(mostRounds, max(1, mostDraws/(100*m.N))))
		more := needs(odds.by)
		if more == 0 {
			m.Advice = fmt.Sprintf("more than %d further repeats of %s would be needed", len(odds.by), theseCases(m.N))
			return
		}
		m.Repeats = rounds + more
		m.Advice = fmt.Sprintf(
			"with %d repeats on both sides (%d more: %d calls of %s) there is a chance of %.0f %% to show \"not worse\" if nothing "+
				"changed; `evalrun run --extend RUN --repeats %d` continues the run, and its baseline if that has fewer",
			m.Repeats, more, more*m.N, a.HeadArm, 100*power, m.Repeats,
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
	t.Smallest, t.Detects = smallestOfSuite(pairs/draws, t.Flips, alpha), power
	return t
}

func asNumber(passed bool) float64 {
	if passed {
		return 1
	}
	return 0
}
