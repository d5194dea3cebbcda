package compare

import (
	"cmp"
	"slices"
)

// pairResults are the results of a pair of arms, i before j.
type pairResults struct {
	i, j    int
	w, l, t float64
}

func (c *pairResults) add(o *pairResults, weight float64) {
	c.w, c.l, c.t = c.w+weight*o.w, c.l+weight*o.l, c.t+weight*o.t
}

// tally has the judged pairs of arms, and the contribution of each unit.
type comparisonTally struct {
	members []int // the arms, by their indexes among all
	pairs   []pairResults
	units   [][]share // by unit number
}

// share is the contribution of a unit to a pair.
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

// tieShare is the share of ties, 0 when nothing was judged.
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
