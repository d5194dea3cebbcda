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
	// Comparisons is how many verdicts of the run "regressed" is adjusted for.
	Comparisons int `json:"comparisons"`

	*design // nil without units
}

// OutlookRow is the outlook for one share of flips.
type OutlookRow struct {
	Flips float64 `json:"flips"`
	// Needed is the number of units for a power of 80 % to show "not worse" when nothing changed.
	Needed int `json:"needed"`
	// Holds is the probability that the gate passes the arm when nothing changed.
	Holds float64 `json:"holds"`
	// Passing is the probability with which each answer passes, so that this share flips.
	Passing float64 `json:"passing"`
	// Smallest is the smallest loss that is reported as regressed with a power of 80 %, and Detects its probability.
	Smallest float64 `json:"smallest"`
	Detects  float64 `json:"detects"`
	// Share is the expected share of units that run with an early stop when nothing changed; 1 without.
	Share float64 `json:"asked"`
}

// SelfTest is what a gate decides when nothing changed, resampled from recorded repeats.
type SelfTest struct {
	Draws       int                      `json:"draws"`
	Units       int                      `json:"units"`
	Verdicts    map[eval.Verdict]float64 `json:"verdicts"`          // share of draws
	Flips       float64                  `json:"flips"`             // share of cases whose outcome differs between two repeats
	Smallest    float64                  `json:"smallest"`          // loss that is reported with a power of 80 %
	Detects     float64                  `json:"detects"`           // its probability
	FalseAlarms float64                  `json:"falseAlarms"`       // share of draws with `regressed`
	Repeats     int                      `json:"repeats,omitempty"` // pairs of each case, for the estimand suite
}

// Recorded are the repeats of a case, true where passed, and its cluster.
type Recorded struct {
	Cluster string
	Passed  []bool
}

// NewSelfTest compares an arm with itself. Each draw resamples the units and takes two recorded repeats of each case:
// one as baseline, one as candidate.
func NewSelfTest(cases []Recorded, m eval.MetricMargin, alpha float64, draws int, seed uint64) SelfTest {
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a simulation
	units, places := [][]Recorded{}, map[string]int{}
	for _, c := range cases {
		at, known := places[c.Cluster]
		if !known || c.Cluster == "" {
			at = len(units)
			places[c.Cluster], units = at, append(units, nil)
		}
		units[at] = append(units[at], c)
	}
	t := SelfTest{Draws: draws, Units: len(units), Verdicts: map[eval.Verdict]float64{}}
	flipped, compared := 0, 0
	x, weights := make([]float64, len(units)), make([]float64, len(units))
	for range draws {
		for i := range x {
			unit := units[rng.IntN(len(units))]
			flips := 0
			x[i], flips = drawnDifference(unit, rng)
			weights[i] = float64(len(unit))
			flipped, compared = flipped+flips, compared+len(unit)
		}
		rise := newMeans(x, scaledBy(float64(len(units))/sumOf(weights), weights), m.Margin)
		t.Verdicts[rise.verdict(m.Margin, alpha)] += 1 / float64(draws)
	}
	t.FalseAlarms = t.Verdicts[eval.Regressed]
	t.Flips = float64(flipped) / float64(compared)
	planned := make([]plannedUnit, len(units))
	for i := range planned {
		planned[i] = plannedUnit{len(units[i]), 1, 1}
	}
	t.Smallest, t.Detects = newDesign(planned, m.Margin, alpha, false, 1).smallest(t.Flips)
	return t
}

func sumOf(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// drawnDifference takes two repeats of each case of a unit. It returns their mean difference, and how many differ.
func drawnDifference(unit []Recorded, rng *rand.Rand) (mean float64, flips int) {
	for _, c := range unit {
		b := rng.IntN(len(c.Passed))
		h := (b + 1 + rng.IntN(len(c.Passed)-1)) % len(c.Passed)
		if c.Passed[h] != c.Passed[b] {
			mean += asNumber(c.Passed[h]) - asNumber(c.Passed[b])
			flips++
		}
	}
	return mean / float64(len(unit)), flips
}

// verdict is the verdict on a pass rate from the differences of its units alone.
func (t *means) verdict(margin, alpha float64) eval.Verdict {
	fall := newMeans(scaledBy(-1, t.d), t.weights, margin)
	return verdictBy(len(t.d), tested{notInferior: t.atMost(-margin), worse: fall.atMost(0), better: t.atMost(0), tests: 1}, alpha)
}

func verdictBy(n int, p tested, alpha float64) eval.Verdict {
	one := MetricComparison{
		MetricChange: MetricChange{N: n},
		MetricTests:  MetricTests{PNonInferior: &p.notInferior, PWorse: &p.worse, PBetter: &p.better},
	}
	decide(&one, p, alpha)
	return one.Verdict
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
	Lost  []*CaseTotals
	units []plannedUnit
}

// Alike reports whether two previews have the same units.
func (p *Preview) Alike(o *Preview) bool { return slices.Equal(p.units, o.units) }

// Reachable reports whether some outcome of this many units shows a metric to be not worse: units of equal weight may
// all get better; others are too few while a loss of all of them as large as the margin can be missed.
func (p *Preview) Reachable(margin, alpha float64) bool {
	if p.uneven {
		return reach(margin, float64(p.Effective)) <= alpha
	}
	best := counts{n: p.Units, gained: p.Units, exact: stats.Exact(p.Units, margin)}
	return best.atMost(-margin) <= alpha
}

// Needed is how many units, as many as there are or more, show without a single flip that a metric is not worse by a margin.
func (p *Preview) Needed(margin, alpha float64) int {
	if p.uneven {
		return max(p.Effective, stats.MinCasesConstant(alpha, margin))
	}
	return WithoutFlip(p.Effective, margin, alpha)
}

// NewPreview pairs the planned cases with those of a baseline; o selects and accepts cases of base, nil means all and
// none.
func NewPreview(base, head *Side, o *Options) Preview {
	p := pairUp(base, head, o)
	all := p.all()
	g := groupsOf(all)
	out := Preview{Pairing: p.Pairing}
	sizes := map[int]int{}
	largest := 0
	for _, unit := range g.unit {
		sizes[unit]++
		largest = max(largest, sizes[unit])
	}
	for i, pair := range all {
		repeats := pair.head.Ran
		if pairs := min(max(pair.base.Ran, len(pair.base.Repeats)), repeats); i == 0 || pairs < out.Rounds {
			out.Rounds, out.Repeats = pairs, repeats
		}
	}
	out.units = make([]plannedUnit, len(sizes))
	for i, pair := range all {
		u := &out.units[g.unit[g.request[i]]]
		u.base, u.head = u.base+pair.base.Ran, u.head+pair.head.Ran
	}
	for i := range out.units {
		u := &out.units[i]
		u.requests = sizes[i]
		u.base, u.head = max(1, u.base/u.requests), max(1, u.head/u.requests)
	}
	out.Single = largest < 2 && !slices.ContainsFunc(all, func(p pair) bool { return p.head.Ran != 1 })
	out.Cases, out.Units, out.Clustered = len(all), len(sizes), largest > 1
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
// on any arm, or a cluster on either side, are one unit, as in groupsOf. Cases alone in their unit are left out.
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
		joins := i < len(heads) || slices.ContainsFunc(s.Cases, func(c *CaseTotals) bool { return c.Request != s.Cases[0].Request })
		for _, c := range s.Cases {
			if c.Cluster != "" {
				note(c, "cluster\x00"+c.Cluster)
			}
			if c.Request != "" && joins {
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
