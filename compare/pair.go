package compare

import (
	"cmp"
	"slices"

	"github.com/evalrun/evalrun/internal/stats"
)

// pair is a case on both sides.
type pair struct{ base, head *Case }

// paired is which cases are on both sides.
type paired struct {
	Pairing
	all     []pair // those that mean the same
	judged  []pair // those of them that can be compared
	errored []pair // judged in base, and nothing but errors in head
}

// Matcher finds the cases of a side that are the same as those of another, each once. Of several that ask the same, those
// of one name belong together, then those that come first.
type Matcher struct {
	byID  map[string][]*Case
	taken map[*Case]bool
}

// NewMatcher finds cases of base.
func NewMatcher(base *Side) *Matcher {
	m := &Matcher{byID: map[string][]*Case{}, taken: map[*Case]bool{}}
	for i := range base.Cases {
		c := &base.Cases[i]
		m.byID[c.ID] = append(m.byID[c.ID], c)
	}
	return m
}

// Match takes the case that asks the same, nil when there is none left.
func (m *Matcher) Match(id, name string) *Case {
	var found *Case
	for _, c := range m.byID[id] {
		if m.taken[c] {
			continue
		}
		if c.Name == name {
			found = c
			break
		}
		if found == nil {
			found = c
		}
	}
	m.taken[found] = found != nil
	return found
}

// SameAs reports whether a case of a baseline is compared with one that has these scorers and variables: neither is in quarantine, and
// both mean the same. What a run does not tell counts as the same.
func (c *Case) SameAs(scorers, vars string, quarantined bool) bool {
	return !c.Quarantined && !quarantined && alike(c.Scorers, scorers) && alike(c.Vars, vars)
}

func alike(a, b string) bool { return a == b || a == "" || b == "" }

// pairUp pairs cases by what they ask. selected says which of base head was to ask; nil is all.
func pairUp(base, head *Side, selected func(*Case) bool) paired {
	var p paired
	expected := func(b *Case) bool { return !b.Quarantined && (selected == nil || selected(b)) }
	m := NewMatcher(base)
	byName := map[string]*Case{}
	for i := range base.Cases {
		b := &base.Cases[i]
		byName[b.Name] = b
		if expected(b) {
			p.Of++
		}
	}
	changed := map[string]bool{}
	for i := range head.Cases {
		h := &head.Cases[i]
		b := m.Match(h.ID, h.Name)
		switch before := byName[h.Name]; {
		case b == nil && before != nil:
			p.lose(&p.Changed, before)
			changed[h.Name] = true
		case b == nil:
			p.Added = append(p.Added, h.Name)
		default:
			p.add(b, h, expected(b))
		}
	}
	for i := range base.Cases {
		switch b := &base.Cases[i]; {
		case m.taken[b] || changed[b.Name]:
		case expected(b):
			p.lose(&p.Removed, b)
		case !b.Quarantined:
			p.Unselected++
		}
	}
	return p
}

// lose lists a case of base that cannot be compared any more.
func (p *paired) lose(list *[]string, b *Case) {
	*list = append(*list, b.Name)
	if rate, ok := b.PassRate(); ok && rate > 0.5 && !b.Quarantined {
		p.PassedBefore = append(p.PassedBefore, b.Name)
	}
}

// add takes up a case that asks the same on both sides. expected says that it counts for the share that is compared.
func (p *paired) add(b, h *Case, expected bool) {
	_, judgedBefore := b.PassRate()
	_, judgedNow := h.PassRate()
	switch {
	case h.Quarantined && !b.Quarantined:
		p.lose(&p.Quarantined, b)
		return
	case h.Quarantined || b.Quarantined:
		p.Quarantined = append(p.Quarantined, h.Name)
		return
	case !b.SameAs(h.Scorers, h.Vars, h.Quarantined): // passing means something else
		p.lose(&p.Changed, b)
		p.addVersions(b, h)
		return
	case !expected: // what the run was to ask is said by names and tags in the baseline
		p.Unselected++
		return
	}
	p.Compared++
	p.all = append(p.all, pair{b, h})
	switch {
	case h.Unused > 0 && h.Asked == 0 || b.Unused > 0 && b.Asked == 0:
		p.Unused++
	case !judgedBefore || !judgedNow:
		p.Paired++
		p.Unjudged = append(p.Unjudged, h.Name)
		if judgedBefore && h.Errors > 0 {
			p.errored = append(p.errored, pair{b, h})
		}
	default:
		p.Paired++
		p.judged = append(p.judged, pair{b, h})
	}
}

// enoughRepeats is from how many repeats on a case says something for itself.
const enoughRepeats = 5

// flips lists the cases whose outcome, that of most of their repeats, is another one, the worse ones first.
func flips(pairs []pair) []Flip {
	var out []Flip
	var ps []float64
	var tested []int
	for _, p := range pairs {
		before, _ := p.base.PassRate()
		after, _ := p.head.PassRate()
		f := Flip{
			Case: p.head.Name, BasePassed: p.base.Passed, BaseJudged: p.base.Passed + p.base.Failed,
			HeadPassed: p.head.Passed, HeadJudged: p.head.Passed + p.head.Failed, BaseTrial: p.base.Trial, HeadTrial: p.head.Trial,
		}
		enough := min(f.BaseJudged, f.HeadJudged) >= enoughRepeats
		if enough {
			p, _ := stats.FisherExact(f.BasePassed, f.BaseJudged, f.HeadPassed, f.HeadJudged)
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
		f.SingleSample = f.BaseJudged == 1 && f.HeadJudged == 1
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
	return float64(f.HeadPassed)/float64(f.HeadJudged) - float64(f.BasePassed)/float64(f.BaseJudged)
}
