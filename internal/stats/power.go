package stats

import (
	"math"
	"slices"
	"sync"
)

// Tables are the outcomes of n paired cases at which a test rejects. The tests are exact for up to alwaysExact pairs,
// and asymptotic above.
type Tables struct {
	n     int
	tails tails
}

// searching is how closely the discordance is searched: with few pairs, a step more or less changes which tables count.
func searching(n int) float64 {
	if n <= 30 {
		return fine
	}
	return coarse
}

// NewNotWorseTables are called not worse within margin at one-sided alpha, by gained cases.
func NewNotWorseTables(n int, margin, alpha float64) Tables {
	if n <= 0 || !inside(margin, 0, 1) || !inside(alpha, 0, 1) {
		return Tables{n: n}
	}
	if n <= alwaysExact {
		return knownTables.of(tablesAt{n, margin, alpha}, notWorseTables)
	}
	return Tables{n, tangoTailsFrom(n, -margin, NormalQuantile(1-alpha))}
}

func notWorseTables(n int, margin, alpha float64) tails {
	lo, hi := 0.0, 2*NormalQuantile(1-alpha)+5
	for range 14 {
		if mid := (lo + hi) / 2; tangoTailsFrom(n, -margin, mid).most(n, -margin, searching(n)) <= alpha {
			hi = mid
		} else {
			lo = mid
		}
	}
	return tangoTailsFrom(n, -margin, hi)
}

// NewWorseTables are called worse at one-sided alpha, by regressed cases.
func NewWorseTables(n int, alpha float64) Tables {
	if n <= 0 || !inside(alpha, 0, 1) {
		return Tables{n: n}
	}
	if n <= alwaysExact {
		return knownTables.of(tablesAt{n, 0, alpha}, worseTables)
	}
	return Tables{n, midTails(n, alpha)}
}

func worseTables(n int, _, alpha float64) tails {
	lo, hi := 0.0, min(1, 2*alpha)
	for range 24 {
		if mid := (lo + hi) / 2; midTails(n, mid).most(n, 0, coarse) <= alpha {
			lo = mid
		} else {
			hi = mid
		}
	}
	return midTails(n, lo)
}

// knownTables are those of exact tests, which take up to a tenth of a second: searches for a number of cases, of several arms
// and metrics, meet the same ones.
var knownTables = tablesCache{known: map[tablesAt]tails{}}

type tablesCache struct {
	sync.Mutex
	known map[tablesAt]tails
}

type tablesAt struct {
	n             int
	margin, alpha float64 // margin 0: of the test of "worse"
}

const mostTables = 1024

func (c *tablesCache) of(at tablesAt, compute func(n int, margin, alpha float64) tails) Tables {
	c.Lock()
	found, known := c.known[at]
	c.Unlock()
	if known {
		return Tables{at.n, found}
	}
	found = compute(at.n, at.margin, at.alpha)
	c.Lock()
	defer c.Unlock()
	if len(c.known) >= mostTables {
		clear(c.known)
	}
	c.known[at] = found
	return Tables{at.n, found}
}

// NewTables are the ones that a statistic calls extreme, which rises with the first count and falls with the second.
func NewTables(n int, extreme func(first, second int) bool) Tables {
	return Tables{n, newTails(n, extreme)}
}

// Has reports whether a table is one of them, by the count that makes it so and the other one.
func (t Tables) Has(count, other int) bool { return t.tails != nil && count >= t.tails[count+other] }

// Without leaves out the tables that o has, which counts the other kind of flips.
func (t Tables) Without(o Tables) Tables {
	if t.tails == nil || o.tails == nil {
		return t
	}
	out := slices.Clone(t.tails)
	for m := range out {
		out[m] = max(out[m], m-o.tails[m]+1)
	}
	return Tables{t.n, out}
}

// Probability returns the probability of a table when a share psi of the cases flips, and those that count exceed the
// others by a share d of the cases.
func (t Tables) Probability(d, psi float64) float64 {
	if t.tails == nil {
		return 0
	}
	return probability(t.tails.probability(t.n, d, max(psi, math.Abs(d))))
}

// manyCases means that no number of cases is enough.
const manyCases = math.MaxInt32

// zSum returns z_{1-alpha} + z_{power}, alpha one-sided, and not below 0.
func zSum(alpha, power float64) float64 {
	return max(0, NormalQuantile(1-alpha)+NormalQuantile(power))
}

// cases rounds up. NaN and too large numbers become manyCases.
func cases(n float64) int {
	if !(n < manyCases) {
		return manyCases
	}
	return max(1, int(math.Ceil(n-1e-9)))
}

// sampleSize is the number of paired cases that show non-inferiority within margin with probability power, when the expected
// difference is diff. It is (z_{1-alpha}+z_power)^2*psi/(margin+diff)^2, rounded up. The share psi of cases whose result
// differs bounds the variance of a difference of 0 and +-1 from above. A margin that the expected loss uses up: MaxInt32.
// Source: normal approximation (Nam 1997, to first order).
func sampleSize(alpha, power, psi, margin, diff float64) int {
	distance := margin + diff
	if !(distance > 0) {
		return manyCases
	}
	z := zSum(alpha, power)
	return cases(z * z * max(0, psi) / (distance * distance))
}

// minCasesWithoutFlip is the smallest number of paired cases with which Tango can show
// non-inferiority within margin at one-sided alpha when no case flips:
// floor(z^2*(1/margin-1))+1. No margin: MaxInt32.
// Source: Tango's statistic at gained = regressed = 0 (a margin of .05 at alpha .05 needs 52 cases).
func minCasesWithoutFlip(alpha, margin float64) int {
	if !(margin > 0) {
		return manyCases
	}
	z := max(0, NormalQuantile(1-alpha))
	n := z * z * max(0, 1/margin-1)
	if n >= manyCases {
		return manyCases
	}
	return int(math.Floor(n)) + 1
}

// MinCasesConstant is the same for scores, where no unit differs and Gaffke decides: the
// smallest n with (1-margin)^n <= alpha for differences in [-1,1]. No margin: MaxInt32.
// Source: the Gaffke bound of constant data (a margin of .05 at alpha .05 needs 59 cases).
func MinCasesConstant(alpha, margin float64) int {
	switch {
	case !inside(alpha, 0, 1):
		return 1
	case margin >= 1:
		return 1
	case !(margin > 0):
		return manyCases
	}
	return cases(math.Log(alpha) / math.Log1p(-margin))
}

// Discordance estimates the share of cases that flip, (gained+regressed+1)/(n+2): never 0, since few cases without
// flips do not rule flips out. No cases: 1/2.
func (p Pairs) Discordance() float64 {
	if !p.isTable() {
		return 0.5
	}
	return float64(p.Gained+p.Regressed+1) / (float64(p.N) + 2)
}

// CasesNeeded is the number of paired cases that decide a comparison within margin with probability power if nothing
// changed. The variance is Discordance for pass/fail, and the squared SD of the differences for scores. It is never
// below minCasesWithoutFlip. For a candidate that looks worse or better by diff, pass the distance |margin+diff|.
func CasesNeeded(variance, margin, alpha, power float64) int {
	return max(sampleSize(alpha, power, variance, margin, 0), minCasesWithoutFlip(alpha, margin))
}
