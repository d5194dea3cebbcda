package compare

import (
	"cmp"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/internal/stats"
)

// caseIndexes are the indexes of a case on both sides.
type caseIndexes struct{ base, head uint32 }

// pairs are cases that both sides have.
type pairs struct {
	base, head *Cases
	at         []caseIndexes
}

// pair is a case on both sides, without names, clusters and hashes. It is valid until the next one is yielded.
type pair struct{ base, head *CaseTotals }

func (p *pairs) each(yield func(int, pair) bool) {
	base, head := caseReader{of: p.base}, caseReader{of: p.head}
	for i, at := range p.at {
		if !yield(i, pair{base.at(int(at.base)), head.at(int(at.head))}) {
			return
		}
	}
}

// clustered reports whether a pair belongs to a cluster on either side.
func (p *pairs) clustered(i int) bool {
	return p.base.clusters.at(int(p.at[i].base)) != "" || p.head.clusters.at(int(p.at[i].head)) != ""
}

// of is the same sides with other places.
func (p *pairs) of(at []caseIndexes) pairs { return pairs{p.base, p.head, at} }

// paired sorts the cases of both sides by what can be compared.
type paired struct {
	Pairing
	base, head *Cases
	scored     []caseIndexes // same meaning, and comparable
	others     []caseIndexes // same meaning, but not comparable
	errored    []caseIndexes // subset of others: scored in base, only errors in head
}

// pairs concatenates lists of places.
func (p *paired) pairs(at ...[]caseIndexes) pairs {
	if len(at) == 1 {
		return pairs{p.base, p.head, at[0]}
	}
	return pairs{p.base, p.head, slices.Concat(at...)}
}

// all are the cases with the same meaning, in head's order.
func (p *paired) all() pairs {
	all := p.pairs(p.scored, p.others)
	slices.SortFunc(all.at, func(a, b caseIndexes) int { return cmp.Compare(a.head, b.head) })
	return all
}

// Matcher finds the cases of a side that equal cases of another, each at most once. Cases with the same request
// are matched by name first, then in order.
type Matcher struct {
	cases *Cases
	first finder[key] // first case with an id
	next  []uint32    // next case with the same id, from 1; 0 at the end
	taken []bool
}

// NewMatcher indexes the cases of base.
func NewMatcher(base *Side) *Matcher {
	c := &base.Cases
	m := &Matcher{cases: c, first: newFinder(c.Len(), c.ids.at), taken: make([]bool, c.Len())}
	for i := c.Len() - 1; i >= 0; i-- {
		slot := m.first.slot(c.ids.at(i))
		if *slot > 0 {
			if m.next == nil {
				m.next = make([]uint32, c.Len())
			}
			m.next[i] = *slot
		}
		*slot = fromOne(i)
	}
	return m
}

// Match takes a case with the same request and returns its index; -1 when none is left.
func (m *Matcher) Match(id, name string) int {
	return m.match(keyOf(id), func() string { return name })
}

func (m *Matcher) match(id key, name func() string) int {
	found := -1
	for at := *m.first.slot(id); at > 0; at = m.after(at) {
		i := int(at) - 1
		if m.taken[i] {
			continue
		}
		if m.next == nil || m.cases.names.at(i) == name() {
			found = i
			break
		}
		if found < 0 {
			found = i
		}
	}
	if found >= 0 {
		m.taken[found] = true
	}
	return found
}

// after is the next case with the same id, 0 at the end.
func (m *Matcher) after(at uint32) uint32 {
	if m.next == nil {
		return 0
	}
	return m.next[at-1]
}

// SameAs reports whether a baseline case can be compared with a case that has these scorers and variables: neither
// is in quarantine, and both mean the same. Values that a run does not record count as equal.
func (c *CaseTotals) SameAs(scorers, vars string, quarantined bool) bool {
	return !c.Quarantined && !quarantined && alike(c.Scorers, scorers) && alike(c.Vars, vars)
}

func alike[T comparable](a, b T) bool {
	var unknown T
	return a == b || a == unknown || b == unknown
}

// sameCase is SameAs by index.
func (p *paired) sameCase(at caseIndexes) bool {
	b, h := p.base.common(int(at.base)), p.head.common(int(at.head))
	return b.SameAs(h.Scorers, "", h.Quarantined) && alike(p.base.varsAt(int(at.base)), p.head.varsAt(int(at.head)))
}

// pairUp pairs cases by their requests. selected reports whether head has to cover a case of base; nil means all.
func pairUp(base, head *Side, selected func(*CaseTotals) bool) paired {
	p := paired{base: &base.Cases, head: &head.Cases}
	expected := p.expected(selected)
	m := NewMatcher(base)
	for i := range p.base.Len() {
		if expected(i) {
			p.Of++
		}
	}
	p.scored = make([]caseIndexes, 0, p.head.Len())
	byName := sync.OnceValue(p.base.byName) // rarely needed: most cases match
	changed := map[string]bool{}
	for i := range p.head.Len() {
		name := func() string { return p.head.names.at(i) }
		if b := m.match(p.head.ids.at(i), name); b >= 0 {
			p.add(caseIndexes{uint32(b), uint32(i)}, expected(b)) //nolint:gosec // places
		} else if before, known := byName()[name()]; known {
			p.lose(&p.Changed, before)
			changed[name()] = true
		} else {
			p.Added = append(p.Added, name())
		}
	}
	for i := range p.base.Len() {
		switch {
		case m.taken[i] || len(changed) > 0 && changed[p.base.names.at(i)]:
		case expected(i):
			p.lose(&p.Removed, i)
		case !p.base.common(i).Quarantined:
			p.Unselected++
		}
	}
	return p
}

// scoredPairs returns the comparable cases when head has to cover all cases.
func scoredPairs(base, head *Side) pairs {
	p := pairUp(base, head, nil)
	return p.pairs(p.scored)
}

// expected reports whether head has to cover the case of base at an index.
func (p *paired) expected(selected func(*CaseTotals) bool) func(i int) bool {
	return func(i int) bool {
		if p.base.common(i).Quarantined || selected == nil {
			return !p.base.common(i).Quarantined
		}
		c := p.base.At(i)
		return selected(&c)
	}
}

// byName indexes cases by name; the last of several wins.
func (c *Cases) byName() map[string]int {
	out := make(map[string]int, c.Len())
	for i := range c.Len() {
		out[c.names.at(i)] = i
	}
	return out
}

// lose records a case of base that can no longer be compared.
func (p *paired) lose(list *[]string, b int) {
	name, common := p.base.names.at(b), p.base.common(b)
	*list = append(*list, name)
	if rate, ok := common.PassRate(); ok && rate > 0.5 && !common.Quarantined {
		p.PassedBefore = append(p.PassedBefore, name)
	}
}

// change records a case whose meaning differs between the sides.
func (p *paired) change(at caseIndexes, before, after string) {
	p.lose(&p.Changed, int(at.base))
	if alike(p.base.varsAt(int(at.base)), p.head.varsAt(int(at.head))) {
		p.addVersions(before, after)
	}
}

// add records a case with the same request on both sides. expected says that it counts towards the share that is
// compared.
func (p *paired) add(at caseIndexes, expected bool) {
	b, h := p.base.common(int(at.base)), p.head.common(int(at.head))
	switch {
	case h.Quarantined && !b.Quarantined:
		p.lose(&p.Quarantined, int(at.base))
		return
	case h.Quarantined || b.Quarantined:
		p.Quarantined = append(p.Quarantined, p.head.names.at(int(at.head)))
		return
	case !p.sameCase(at): // a pass means something else
		p.change(at, b.Scorers, h.Scorers)
		return
	case !expected: // filters apply to the names and tags of the baseline
		p.Unselected++
		return
	}
	p.pair(at)
}

// pair records a case that counts on both sides.
func (p *paired) pair(at caseIndexes) {
	b, h := p.base.common(int(at.base)), p.head.common(int(at.head))
	_, scoredBefore := b.PassRate()
	_, scoredNow := h.PassRate()
	p.Compared++
	switch {
	case h.Unused > 0 && h.Ran == 0 || b.Unused > 0 && b.Ran == 0:
		p.Unused++
		p.others = append(p.others, at)
	case !scoredBefore || !scoredNow:
		p.Paired++
		p.others = append(p.others, at)
		p.Unscored = append(p.Unscored, p.head.names.at(int(at.head)))
		if scoredBefore && h.Errors > 0 {
			p.errored = append(p.errored, at)
		}
	default:
		p.Paired++
		p.scored = append(p.scored, at)
	}
}

// PairedByIDAlone counts cases of head whose id is not the hash of their variables, when base does not record that
// hash.
func PairedByIDAlone(base, head *Side) (n int) {
	unknown := map[key]bool{}
	for i := range base.Cases.Len() {
		if base.Cases.varsAt(i) == (key{}) {
			unknown[base.Cases.ids.at(i)] = true
		}
	}
	for i := range head.Cases.Len() {
		id, vars := head.Cases.ids.at(i), head.Cases.varsAt(i)
		if vars != (key{}) && vars != id && unknown[id] {
			n++
		}
	}
	return n
}

// enoughRepeats is the number of repeats from which on a case is tested on its own.
const enoughRepeats = 5

// flips lists the cases whose outcome, by the majority of their repeats, changed: worse ones first.
func flips(pairs pairs) []Flip {
	var out []Flip
	var ps []float64
	var tested []int
	for i, p := range pairs.each {
		before, _ := p.base.PassRate()
		after, _ := p.head.PassRate()
		f := Flip{
			BasePassed: p.base.Passed, BaseScored: p.base.Passed + p.base.Failed,
			HeadPassed: p.head.Passed, HeadScored: p.head.Passed + p.head.Failed,
		}
		enough := min(f.BaseScored, f.HeadScored) >= enoughRepeats
		if enough {
			p, _ := stats.FisherExact(f.BasePassed, f.BaseScored, f.HeadPassed, f.HeadScored)
			ps = append(ps, p)
		}
		if (before > 0.5) == (after > 0.5) {
			if enough {
				tested = append(tested, -1)
			}
			continue
		}
		if enough {
			tested = append(tested, len(out))
		}
		f.SingleSample = f.BaseScored == 1 && f.HeadScored == 1
		b, h := int(pairs.at[i].base), int(pairs.at[i].head)
		f.Case, f.BaseAt, f.HeadAt = pairs.head.names.at(h), pairs.base.trialAt(b), pairs.head.trialAt(h)
		out = append(out, f)
	}
	for i, p := range stats.BenjaminiHochberg(ps) {
		if tested[i] >= 0 {
			out[tested[i]].P = &p
		}
	}
	slices.SortStableFunc(out, func(a, b Flip) int { return cmp.Compare(change(a), change(b)) })
	return out
}

func change(f Flip) float64 {
	return float64(f.HeadPassed)/float64(f.HeadScored) - float64(f.BasePassed)/float64(f.BaseScored)
}
