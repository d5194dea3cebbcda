package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// CasePreference is a judge's preference between the answers of two arms to one case.
type CasePreference struct {
	First, Second int // indexes of the arms
	// Unit is the independent unit of the case, from 0: cases that depend on each other share one.
	Unit int
	// Wins, Losses and Ties are shares of the case's repeats from First's point of view; they add up to 1.
	Wins, Losses, Ties float64
}

// PreferenceOptions configure a ranking by preferences. The zero value has the defaults.
type PreferenceOptions struct {
	Alpha float64 // error rate of the set of the best and of all intervals together; 0 is 0.05
	Seed  uint64  // seed of the draws: equal data give an equal ranking
}

const defaultAlpha = 0.05

// PreferenceRanking ranks arms by what a judge prefers: the model of Bradley and Terry with ties after Davidson.
type PreferenceRanking struct {
	// Arms are in order, the most preferred first; of arms that nothing connects each group after the other.
	Arms  []PreferredArm `json:"arms"`
	Level float64        `json:"level"` // of all intervals together, and of the set of the best
	Units int            `json:"units"` // independent units that were drawn
	// Ties is the share of ties among the judged pairs of answers, cases with the same weight.
	Ties  float64         `json:"ties"`
	Pairs []PreferredPair `json:"pairs"`
	// Why says why arms are not ranked, or only in groups; "" when they are.
	Why string `json:"why,omitempty"`
	// Separated are the arms whose strength only the prior bounds: they won, or lost, all comparisons with some of the others.
	Separated []string `json:"separated,omitempty"`
	// Currency is that of the costs of the arms, "" without a price list.
	Currency string `json:"currency,omitempty"`
}

// Best are the arms that cannot be ruled out as the most preferred, in order: the truly most preferred arm is among them
// with the probability Level. It is empty without a ranking; Why says why.
func (p *PreferenceRanking) Best() []string {
	best := []string{}
	for i := range p.Arms {
		if p.Arms[i].Best {
			best = append(best, p.Arms[i].Arm)
		}
	}
	return best
}

type plainPreferenceRanking PreferenceRanking

// MarshalJSON writes the arms that cannot be ruled out as a list, too.
func (p PreferenceRanking) MarshalJSON() ([]byte, error) {
	return wirejson.Marshal(struct {
		Arms []PreferredArm `json:"arms"`
		Best []string       `json:"best"` // after Arms
		plainPreferenceRanking
	}{p.Arms, p.Best(), plainPreferenceRanking(p)})
}

// PreferredArm is an arm with its strength.
type PreferredArm struct {
	Arm string `json:"arm"`
	// Strength is the natural logarithm of the arm's strength; the mean of its group is 0. nil when nothing was judged.
	Strength *float64 `json:"strength"`
	// Preference is the judge's preference for the arm over the others of its group, by the model: the mean
	// over them of P(preferred) + P(tie)/2, between 0 and 1.
	Preference *float64 `json:"preference"`
	// Interval is the interval of Preference; nil with too few units.
	Interval *[2]float64 `json:"interval"`
	Best     bool        `json:"best"`
	Group    int         `json:"group"` // from 1; arms of different groups cannot be ranked against each other
	// Wins, Losses and Ties are the arm's totals over all pairs, in cases.
	Wins   float64 `json:"wins"`
	Losses float64 `json:"losses"`
	Ties   float64 `json:"ties"`

	Taken
}

// PreferredPair is the result between two arms, in cases with averaged repeats.
type PreferredPair struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	Wins   float64 `json:"wins"` // for First
	Losses float64 `json:"losses"`
	Ties   float64 `json:"ties"`
}

// leastUnits is the least number of independent units for a ranking of arms. With fewer, a sign test at alpha over
// the other arms could not rule out even an arm that lost every comparison to the best.
func leastUnits(arms int, alpha float64) int {
	return max(5, int(math.Ceil(math.Log2(float64(max(1, arms-1))/alpha))))
}

// RankByPreference fits the strengths of arms to what a judge prefers, with intervals and the set of the best by bootstrap over units.
//
// P(first) : P(tie) : P(second) = p : v*sqrt(p*q) : q, for strengths p and q and the readiness to call a tie v. Next
// to the data each arm won half and lost half of a comparison with an arm of average strength: so strengths are
// finite where an arm wins all, or loses all, and no maximum likelihood exists. That is little: it weighs as one case
// among all comparisons of an arm.
//
// Sources: Bradley & Terry, Biometrika 39, 1952; ties: Davidson, JASA 65, 1970; when there is a maximum, and that the
// likelihood is concave in log strengths: Hunter, Annals of Statistics 32, 2004. His MM steps take thousands of
// rounds near separation, so Newton's are used. Intervals: max-t over bootstrap draws of units; the set of the best:
// Hsu, Multiple Comparisons, 1996, with the same draws.
func RankByPreference(arms []string, judged []CasePreference, o PreferenceOptions) PreferenceRanking {
	o.Alpha = cmp.Or(o.Alpha, defaultAlpha)
	t := newTally(len(arms), judged)
	out := PreferenceRanking{Level: 1 - o.Alpha, Units: len(t.units), Pairs: t.named(arms), Ties: t.tieShare()}
	groups := t.groups()
	for i, members := range groups {
		sub := t.only(members)
		out.Separated = append(out.Separated, sub.separated(arms)...)
		out.Arms = append(out.Arms, sub.ranked(arms, i+1, o)...)
	}
	least := leastUnits(len(arms), o.Alpha)
	switch {
	case len(groups) > 1:
		out.Why = "no judged pair connects " + connectedBy(groups, arms) + ": there is no ranking across them"
	case len(t.units) < least:
		out.Why = fmt.Sprintf("no ranking of %d arms below %d independent cases; here %s %d", len(arms), least,
			diag.Verb(len(t.units), "is", "are"), len(t.units))
	}
	if out.Why != "" {
		out.Refuse(out.Why)
	}
	return out
}

// Widen adds a ranking of the same arms by other data that may be the true ones. An arm that is the best in either
// ranking cannot be ruled out, and an interval covers both.
func (p *PreferenceRanking) Widen(by PreferenceRanking) {
	for i := range p.Arms {
		a := &p.Arms[i]
		other := &by.Arms[slices.IndexFunc(by.Arms, func(b PreferredArm) bool { return b.Arm == a.Arm })]
		a.Best = a.Best || other.Best
		if a.Interval != nil && other.Interval != nil {
			a.Interval[0], a.Interval[1] = min(a.Interval[0], other.Interval[0]), max(a.Interval[1], other.Interval[1])
		}
	}
}

// Refuse removes the set of the best and the intervals, and says why.
func (p *PreferenceRanking) Refuse(why string) {
	p.Why = why
	for i := range p.Arms {
		p.Arms[i].Best, p.Arms[i].Interval = false, nil
	}
}

func connectedBy(groups [][]int, arms []string) string {
	name := func(g []int) string {
		if len(g) == 1 {
			return arms[g[0]]
		}
		return fmt.Sprintf("%s (and %d more)", arms[g[0]], len(g)-1)
	}
	return name(groups[0]) + " with " + name(groups[1])
}

// ranked fits and orders the arms of a tally that is connected.
func (t *comparisonTally) ranked(names []string, group int, o PreferenceOptions) []PreferredArm {
	out := make([]PreferredArm, len(t.members))
	for i, at := range t.members {
		out[i] = PreferredArm{Arm: names[at], Group: group}
	}
	for _, p := range t.pairs {
		a, b := &out[p.i], &out[p.j]
		a.Wins, a.Losses, a.Ties = a.Wins+p.w, a.Losses+p.l, a.Ties+p.t
		b.Wins, b.Losses, b.Ties = b.Wins+p.l, b.Losses+p.w, b.Ties+p.t
	}
	if len(t.members) < 2 {
		return out
	}
	f := t.fit()
	field := f.field()
	for i := range out {
		out[i].Strength, out[i].Preference = &f.theta[i], &field[i]
	}
	if len(t.units) >= leastUnits(len(names), o.Alpha) {
		b := t.bootstrap(f, o.Seed)
		intervals, best := b.intervals(o.Alpha), b.best(o.Alpha)
		for i := range out {
			out[i].Interval, out[i].Best = &intervals[i], best[i]
		}
	}
	slices.SortStableFunc(out, func(a, b PreferredArm) int { // what is equal but for rounding keeps its order
		return cmp.Compare(math.Round(1e6**b.Strength), math.Round(1e6**a.Strength))
	})
	return out
}

type pairResults struct {
	i, j    int
	w, l, t float64
}

func (c *pairResults) add(o *pairResults, weight float64) {
	c.w, c.l, c.t = c.w+weight*o.w, c.l+weight*o.l, c.t+weight*o.t
}

type comparisonTally struct {
	members []int // the arms, by their indexes among all
	pairs   []pairResults
	units   [][]share // by unit number
}

type share struct {
	pair int
	pairResults
}

// newTally sums the preferences between k arms.
func newTally(k int, judged []CasePreference) *comparisonTally {
	t := &comparisonTally{}
	for i := range k {
		t.members = append(t.members, i)
	}
	places := map[[2]int]int{}
	units := map[int]int{}
	for _, one := range inOrder(judged) {
		c := pairResults{one.First, one.Second, one.Wins, one.Losses, one.Ties}
		at, known := places[[2]int{c.i, c.j}]
		if !known {
			at = len(t.pairs)
			places[[2]int{c.i, c.j}] = at
			t.pairs = append(t.pairs, pairResults{i: c.i, j: c.j})
		}
		unit, known := units[one.Unit]
		if !known {
			unit = len(t.units)
			units[one.Unit] = unit
			t.units = append(t.units, nil)
		}
		t.pairs[at].add(&c, 1)
		t.units[unit] = append(t.units[unit], share{at, c})
	}
	return t
}

// inOrder has the lower arm first and is sorted, so that sums do not depend on which reply came first.
func inOrder(judged []CasePreference) []CasePreference {
	out := slices.Clone(judged)
	for i := range out {
		if j := &out[i]; j.First > j.Second {
			j.First, j.Second, j.Wins, j.Losses = j.Second, j.First, j.Losses, j.Wins
		}
	}
	slices.SortStableFunc(out, func(a, b CasePreference) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second),
			cmp.Compare(a.Wins, b.Wins), cmp.Compare(a.Losses, b.Losses))
	})
	return out
}

// named lists the pairs with the names of their arms, in the order of the arms.
func (t *comparisonTally) named(arms []string) []PreferredPair {
	out := []PreferredPair{}
	ordered := slices.Clone(t.pairs)
	slices.SortFunc(ordered, func(a, b pairResults) int { return (a.i-b.i)*len(arms) + a.j - b.j })
	for _, p := range ordered {
		out = append(out, PreferredPair{arms[p.i], arms[p.j], p.w, p.l, p.t})
	}
	return out
}

func (t *comparisonTally) tieShare() float64 {
	ties, all := 0.0, 0.0
	for _, p := range t.pairs {
		ties, all = ties+p.t, all+p.w+p.l+p.t
	}
	if all == 0 {
		return 0
	}
	return ties / all
}

// groups are the arms that comparisons connect, directly or through others, the largest group first.
func (t *comparisonTally) groups() [][]int {
	out := reaching(len(t.members), func(yield func(a, b int)) {
		for _, p := range t.pairs {
			yield(p.i, p.j)
			yield(p.j, p.i)
		}
	})
	slices.SortStableFunc(out, func(a, b []int) int { return len(b) - len(a) })
	return out
}

// separated names the arms for which the likelihood has no maximum: those outside of the largest set in which each
// arm has beaten, or tied with, each other one, directly or through others (Ford's condition).
func (t *comparisonTally) separated(names []string) []string {
	sets := reaching(len(t.members), func(yield func(a, b int)) {
		for _, p := range t.pairs {
			if p.w+p.t > 0 {
				yield(p.i, p.j)
			}
			if p.l+p.t > 0 {
				yield(p.j, p.i)
			}
		}
	})
	slices.SortStableFunc(sets, func(a, b []int) int { return len(b) - len(a) })
	if len(sets) > 1 && len(sets[0]) > 1 {
		sets = sets[1:]
	} else if len(sets) == 1 {
		return nil
	}
	rest := slices.Concat(sets...)
	slices.Sort(rest)
	var out []string
	for _, i := range rest {
		out = append(out, names[t.members[i]])
	}
	return out
}

// reaching are the sets of arms that can reach each other, in the order of their first arms.
func reaching(k int, edges func(yield func(a, b int))) (sets [][]int) {
	reach := make([][]bool, k)
	for i := range reach {
		reach[i] = make([]bool, k)
		reach[i][i] = true
	}
	edges(func(a, b int) { reach[a][b] = true })
	for via := range k { // Warshall
		for a := range k {
			for b := range k {
				reach[a][b] = reach[a][b] || reach[a][via] && reach[via][b]
			}
		}
	}
	done := make([]bool, k)
	for a := range k {
		if done[a] {
			continue
		}
		var set []int
		for b := a; b < k; b++ {
			if reach[a][b] && reach[b][a] {
				set, done[b] = append(set, b), true
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// only is the tally of some arms, whose places are those among members.
func (t *comparisonTally) only(members []int) *comparisonTally {
	if len(members) == len(t.members) {
		return t
	}
	var judged []CasePreference
	for unit, shares := range t.units {
		for _, s := range shares {
			i, j := slices.Index(members, s.i), slices.Index(members, s.j)
			if i >= 0 && j >= 0 {
				judged = append(judged, CasePreference{i, j, unit, s.w, s.l, s.t})
			}
		}
	}
	out := newTally(len(members), judged)
	out.members = members
	return out
}
