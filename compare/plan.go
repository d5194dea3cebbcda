package compare

import (
	"math"
	"math/rand/v2"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

// Outlook is what to expect of a gate with a number of units, before a request is sent. Flips are cases whose
// outcome differs although nothing changed, because models sample their answers.
type Outlook struct {
	Units  int     `json:"units"`  // independent units
	Margin float64 `json:"margin"` // of the pass rate
	Alpha  float64 `json:"alpha"`
	// Reach is the number of units needed if none flips; fewer can never show that nothing got worse.
	Reach int `json:"reach"`
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

// NewOutlook computes the outlook of a gate with a margin of the pass rate. single says that each case runs once
// and none is in a cluster.
func NewOutlook(units int, m eval.MetricMargin, alpha float64, single, early bool) Outlook {
	// outlookFlips range from a model that hardly varies to one that varies a lot.
	outlookFlips := []float64{0.05, 0.1, 0.2}

	end := FinalAlpha(alpha, early)
	o := Outlook{Units: units, Margin: m.Margin, Alpha: alpha, Reach: stats.MinCasesConstant(end, m.Margin)}
	tables := stats.NewNotWorseTables(units, m.Margin, end)
	for _, flips := range outlookFlips {
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

// expectedShare simulates runs in which nothing changed. It returns the mean share of units that they run before
// they stop.
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
	Verdicts    map[eval.Verdict]float64 `json:"verdicts"`    // share of draws
	Flips       float64                  `json:"flips"`       // share of cases whose outcome differs between two repeats
	Smallest    float64                  `json:"smallest"`    // loss detected with a power of 80 %
	FalseAlarms float64                  `json:"falseAlarms"` // share of draws with `regressed`
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
