package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Outlook is what to expect of a gate with a number of units, before a request is sent. Flips are cases whose
// outcome differs although nothing changed, because models sample their answers.
type Outlook struct {
	Units  int     `json:"units"`  // independent units
	Margin float64 `json:"margin"` // of the pass rate
	Alpha  float64 `json:"alpha"`
	// Reach is the number of units needed if none flips; fewer can never show that nothing got worse. For the estimand suite
	// it is the number of repeats, which Repeats plans, and the rows are about repeats and single answers as well.
	Reach    int           `json:"reach"`
	Estimand eval.Estimand `json:"estimand,omitempty"`
	Repeats  int           `json:"repeats,omitempty"` // pairs of the case with the fewest
	// Rows has one row for each assumed share of flips.
	Rows []OutlookRow `json:"rows"`
}

// OutlookRow is the outlook for one share of flips.
type OutlookRow struct {
	Flips float64 `json:"flips"`
	// Needed is the number of units for a power of 80 % to show "not worse" when nothing changed.
	Needed int `json:"needed"`
	// Holds is the probability that the gate passes the arm when nothing changed.
	Holds float64 `json:"holds"`
	// Smallest is the smallest loss that this number of units detects with a power of 80 %.
	Smallest float64 `json:"smallest"`
	// Share is the expected share of units that run with an early stop when nothing changed; 1 without.
	Share float64 `json:"asked"`
}

// paths is the number of simulated runs for an expectation.
const paths = 40

// outlookFlips range from a model that hardly varies to one that varies a lot.
func outlookFlips() []float64 { return []float64{0.05, 0.1, 0.2} }

// NewOutlook computes the outlook of a gate with a margin of the pass rate. single says that each case runs once
// and none is in a cluster.
func NewOutlook(units int, m eval.MetricMargin, alpha float64, single, early bool) Outlook {
	end := FinalAlpha(alpha, early)
	o := Outlook{Units: units, Margin: m.Margin, Alpha: alpha, Reach: stats.MinCasesConstant(end, m.Margin)}
	tables := stats.NewNotWorseTables(units, m.Margin, end)
	for _, flips := range outlookFlips() {
		row := OutlookRow{
			Flips:    flips,
			Needed:   stats.CasesForPower(flips, m.Margin, end, power),
			Holds:    tables.Probability(0, flips),
			Smallest: stats.MDE(units, end, power, flips),
			Share:    1,
		}
		if !single { // repeats and clusters are tested as means
			row.Needed = max(o.Reach, stats.CasesNeeded(flips, m.Margin, end, power))
			row.Holds = stats.PowerOfMean(units, flips, m.Margin, end)
		}
		if early {
			row.Share = expectedShare(units, m, alpha, flips)
		}
		o.Rows = append(o.Rows, row)
	}
	return o
}

// expectedShare is the mean share of units that runs in which nothing changed use before they stop.
func expectedShare(units int, m eval.MetricMargin, alpha, flips float64) float64 {
	rng := rand.New(rand.NewPCG(1, math.Float64bits(flips))) //nolint:gosec // a simulation
	run := 0
	for range paths {
		s := NewEarlyStop([]eval.MetricMargin{m}, alpha, 1)
		for n := range units {
			d := 0.0
			switch u := rng.Float64(); {
			case u < flips/2:
				d = 1
			case u < flips:
				d = -1
			}
			if s.Feed(Unit{[]float64{d}, []float64{d}, 1}) != nil || n == units-1 {
				run += n + 1
				break
			}
		}
	}
	return float64(run) / float64(max(1, paths*units))
}

// SelfTest is what a gate decides when nothing changed, resampled from recorded repeats.
type SelfTest struct {
	Draws       int                      `json:"draws"`
	Units       int                      `json:"units"`
	Verdicts    map[eval.Verdict]float64 `json:"verdicts"`          // share of draws
	Flips       float64                  `json:"flips"`             // share of cases whose outcome differs between two repeats
	Smallest    float64                  `json:"smallest"`          // loss detected with a power of 80 %
	FalseAlarms float64                  `json:"falseAlarms"`       // share of draws with `regressed`
	Repeats     int                      `json:"repeats,omitempty"` // pairs of each case, for the estimand suite
}

// NewSelfTest compares an arm with itself. Each draw resamples the cases and takes two recorded repeats of each:
// one as baseline, one as candidate. outcomes are the repeats of each case, true where passed.
func NewSelfTest(outcomes [][]bool, m eval.MetricMargin, alpha float64, draws int, seed uint64) SelfTest {
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a simulation
	t := SelfTest{Draws: draws, Units: len(outcomes), Verdicts: map[eval.Verdict]float64{}}
	flipped := 0
	verdicts := map[[2]int]eval.Verdict{} // exact tests are slow, and few tables occur
	for range draws {
		gained, regressed := drawnFlips(outcomes, rng)
		flipped += gained + regressed
		v, known := verdicts[[2]int{gained, regressed}]
		if !known {
			v = binaryVerdict(len(outcomes), gained, regressed, m.Margin, alpha)
			verdicts[[2]int{gained, regressed}] = v
		}
		t.Verdicts[v] += 1 / float64(draws)
	}
	t.FalseAlarms = t.Verdicts[eval.Regressed]
	t.Flips = float64(flipped) / float64(draws*len(outcomes))
	t.Smallest = stats.MDE(len(outcomes), alpha, power, t.Flips)
	return t
}

// drawnFlips resamples the cases, with two repeats of each, and counts the differences.
func drawnFlips(outcomes [][]bool, rng *rand.Rand) (gained, regressed int) {
	for range outcomes {
		repeats := outcomes[rng.IntN(len(outcomes))]
		b := rng.IntN(len(repeats))
		h := (b + 1 + rng.IntN(len(repeats)-1)) % len(repeats)
		switch {
		case repeats[h] && !repeats[b]:
			gained++
		case repeats[b] && !repeats[h]:
			regressed++
		}
	}
	return gained, regressed
}

// binaryVerdict is the verdict on a pass rate from counts alone.
func binaryVerdict(n, gained, regressed int, margin, alpha float64) eval.Verdict {
	p := testCounts(n, gained, regressed, margin)
	one := MetricComparison{
		MetricChange: MetricChange{N: n},
		MetricTests:  MetricTests{PNonInferior: &p.notInferior, PWorse: &p.worse, PBetter: &p.better},
	}
	decide(&one, p, alpha)
	return one.Verdict
}

// testCounts runs the tests of a gate on cases that passed or failed once.
func testCounts(n, gained, regressed int, margin float64) tested {
	rise := counts{n, gained, regressed, margin > 0 && stats.Exact(n, margin)}
	fall := counts{n, regressed, gained, rise.exact}
	return tested{notInferior: rise.atMost(-margin), worse: fall.atMost(0), better: rise.atMost(0), tests: 1}
}

// Preview is the pairing of a comparison before its run has answers.
type Preview struct {
	Pairing
	// Effective is the effective number of independent units: one over the largest unit's share of the cases.
	Effective int
	Cases     int
	// Rounds is the number of pairs of repeats of the case with the fewest, and Repeats the number that head plans.
	Rounds, Repeats int
	Single          bool // each case runs once, and is a unit
	Clustered       bool // some units are clusters
	uneven          bool // some units weigh more than others
	// Lost are the cases of the baseline that count at their worst.
	Lost []*CaseTotals
}

// Reachable reports whether some outcome of this many units shows a metric to be not worse: units of equal weight may
// all get better; others are too few while a loss of all of them as large as the margin can be missed.
func (p *Preview) Reachable(margin, alpha float64) bool {
	if p.uneven {
		return reach(margin, float64(p.Effective)) <= alpha
	}
	best := counts{n: p.Units, gained: p.Units, exact: stats.Exact(p.Units, margin)}
	return best.atMost(-margin) <= alpha
}

// NewPreview pairs the planned cases with those of a baseline; o selects and accepts cases of base, nil means all and
// none.
func NewPreview(base, head *Side, o *Options) Preview {
	p := pairUp(base, head, o)
	all := p.all()
	g := groupsOf(all)
	out := Preview{Pairing: p.Pairing, Single: true}
	sizes := map[int]int{}
	largest := 0
	for _, unit := range g.unit {
		sizes[unit]++
		largest = max(largest, sizes[unit])
	}
	for i, pair := range all {
		out.Single = out.Single && pair.head.Ran == 1
		repeats := pair.head.Ran
		if pairs := min(max(pair.base.Ran, len(pair.base.Repeats)), repeats); i == 0 || pairs < out.Rounds {
			out.Rounds, out.Repeats = pairs, repeats
		}
	}
	out.Cases, out.Units, out.Clustered = len(all), len(sizes), largest > 1
	out.Single = out.Single && !out.Clustered
	out.uneven = largest*len(sizes) != len(g.unit)
	if largest > 0 {
		out.Effective = int(math.Floor(float64(len(g.unit))/float64(largest) + 1e-9))
	}
	out.Duplicates = g.duplicates(all)
	for _, one := range p.lost {
		out.Lost = append(out.Lost, one.base)
	}
	return out
}

// Why explains that too few cases of the baseline are paired, "" when there are enough.
func (p *Preview) Why(minPaired float64) string { return tooFew(&p.Pairing, minPaired) }

// Key identifies a case within a suite.
func (c *CaseTotals) Key() string { return c.ID + "\x00" + c.Name }

// Units maps the Key of each case to the Key of the first case of its independent unit. Cases that share a request
// on any arm of head, or a cluster on either side, are one unit. Cases alone in their unit are left out.
func Units(heads, bases []*Side) map[string]string {
	var keys []string
	var names [][]string
	places := map[string]int{}
	note := func(c *CaseTotals, name string) {
		at, known := places[c.Key()]
		if !known {
			at = len(keys)
			places[c.Key()] = at
			keys, names = append(keys, c.Key()), append(names, nil)
		}
		names[at] = append(names[at], name)
	}
	for i, s := range slices.Concat(heads, bases) {
		for _, c := range s.Cases {
			if c.Cluster != "" {
				note(c, "cluster\x00"+c.Cluster)
			}
			if c.Request != "" && i < len(heads) {
				note(c, fmt.Sprintf("request\x00%d\x00%s", i, c.Request))
			}
		}
	}
	first, out := map[int]string{}, map[string]string{}
	units := connected(names)
	count := map[int]int{}
	for i, u := range units {
		if count[u]++; count[u] == 1 {
			first[u] = keys[i]
		}
	}
	for i, u := range units {
		if count[u] > 1 {
			out[keys[i]] = first[u]
		}
	}
	return out
}
