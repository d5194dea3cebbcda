package compare

import (
	"cmp"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/internal/stats"
)

// pair is a case on both sides.
type pair struct{ base, head *Case }

// paired is which cases are on both sides.
type paired struct {
	Pairing
	all     []pair // cases that mean the same
	judged  []pair // those of them that can be compared
	errored []pair // judged in base, and nothing but errors in head
}

// Matcher finds the cases of a side that are the same as those of another, each once. Of several with the same
// request, those of one name belong together, then the first ones.
type Matcher struct {
	cases []Case
	first map[string]int // the first case of an id, from 1
	next  []int          // the next one with the id of a case, from 1; nil while there is none
	taken []bool
}

// NewMatcher finds cases of base.
func NewMatcher(base *Side) *Matcher {
	m := &Matcher{cases: base.Cases, first: make(map[string]int, len(base.Cases)), taken: make([]bool, len(base.Cases))}
	for i := len(base.Cases) - 1; i >= 0; i-- {
		id := base.Cases[i].ID
		if other := m.first[id]; other > 0 {
			if m.next == nil {
				m.next = make([]int, len(base.Cases))
			}
			m.next[i] = other
		}
		m.first[id] = i + 1
	}
	return m
}

// Match takes the case with the same request, nil when there is none left.
func (m *Matcher) Match(id, name string) *Case {
	found := -1
	for at := m.first[id]; at > 0; at = m.after(at) {
		i := at - 1
		if m.taken[i] {
			continue
		}
		if m.cases[i].Name == name {
			found = i
			break
		}
		if found < 0 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	m.taken[found] = true
	return &m.cases[found]
}

// after is the place of the next case of the same id, 0 for none.
func (m *Matcher) after(at int) int {
	if m.next == nil {
		return 0
	}
	return m.next[at-1]
}

// SameAs reports whether a case of a baseline is compared with one that has these scorers and variables: neither is
// in quarantine, and both mean the same. What a run does not record counts as the same.
func (c *Case) SameAs(scorers, vars string, quarantined bool) bool {
	return !c.Quarantined && !quarantined && alike(c.Scorers, scorers) && alike(c.Vars, vars)
}

func alike(a, b string) bool { return a == b || a == "" || b == "" }

// pairUp pairs cases by their requests. selected says which of base head has to cover; nil is all.
func pairUp(base, head *Side, selected func(*Case) bool) paired {
	var p paired
	expected := func(b *Case) bool { return !b.Quarantined && (selected == nil || selected(b)) }
	m := NewMatcher(base)
	for i := range base.Cases {
		if expected(&base.Cases[i]) {
			p.Of++
		}
	}
	p.all, p.judged = make([]pair, 0, len(head.Cases)), make([]pair, 0, len(head.Cases))
	byName := sync.OnceValue(base.byName) // mostly all are found
	changed := map[string]bool{}
	for i := range head.Cases {
		h := &head.Cases[i]
		if b := m.Match(h.ID, h.Name); b != nil {
			p.add(b, h, expected(b))
		} else if before := byName()[h.Name]; before != nil {
			p.lose(&p.Changed, before)
			changed[h.Name] = true
		} else {
			p.Added = append(p.Added, h.Name)
		}
	}
	for i := range base.Cases {
		switch b := &base.Cases[i]; {
		case m.taken[i] || changed[b.Name]:
		case expected(b):
			p.lose(&p.Removed, b)
		case !b.Quarantined:
			p.Unselected++
		}
	}
	return p
}

// byName finds the cases of a side by their names, of several the last.
func (s *Side) byName() map[string]*Case {
	out := make(map[string]*Case, len(s.Cases))
	for i := range s.Cases {
		out[s.Cases[i].Name] = &s.Cases[i]
	}
	return out
}

// lose lists a case of base that cannot be compared any more.
func (p *paired) lose(list *[]string, b *Case) {
	*list = append(*list, b.Name)
	if rate, ok := b.PassRate(); ok && rate > 0.5 && !b.Quarantined {
		p.PassedBefore = append(p.PassedBefore, b.Name)
	}
}

// add takes up a case with the same request on both sides. expected says that it counts for the share that is
// compared.
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
	case !expected: // the filters of the run take names and tags in the baseline
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
