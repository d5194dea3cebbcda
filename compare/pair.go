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
	judged  []pair // those that can be compared
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

// pairUp pairs cases by what they ask.
func pairUp(base, head *Side) paired {
	var p paired
	m := NewMatcher(base)
	byName := map[string]bool{}
	for i := range base.Cases {
		byName[base.Cases[i].Name] = true
	}
	changed := map[string]bool{}
	for i := range head.Cases {
		h := &head.Cases[i]
		b := m.Match(h.ID, h.Name)
		switch {
		case b == nil && byName[h.Name]:
			p.Changed = append(p.Changed, h.Name)
			changed[h.Name] = true
		case b == nil:
			p.Added = append(p.Added, h.Name)
		default:
			p.add(b, h)
		}
	}
	for i := range base.Cases {
		if b := &base.Cases[i]; !m.taken[b] && !changed[b.Name] {
			p.Removed = append(p.Removed, b.Name)
		}
	}
	return p
}

func (p *paired) add(b, h *Case) {
	_, judgedBefore := b.PassRate()
	_, judgedNow := h.PassRate()
	switch {
	case h.Unused > 0 && h.Asked == 0 || b.Unused > 0 && b.Asked == 0:
		p.Unused++
	case h.Quarantined:
		p.Quarantined = append(p.Quarantined, h.Name)
	case b.Scorers != h.Scorers: // passing means something else
		p.Changed = append(p.Changed, h.Name)
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
