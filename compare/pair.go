package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/stats"
)

type pair struct {
	base, head *CaseTotals
	at         int // index in head
}

// clustered reports whether the case belongs to a cluster on either side.
func (p *pair) clustered() bool { return p.base.Cluster != "" || p.head.Cluster != "" }

// paired sorts the cases of both sides by what can be compared, each list in head's order.
type paired struct {
	Pairing
	scored  []pair // same meaning, and comparable
	others  []pair // same meaning, but not comparable
	errored []pair // subset of others: scored in base, only errors in head
	lost    []pair // of base alone: as if head had only errors there

	accepts eval.Accepted // patterns of cases that do not count as lost
	lostAs  [3]lostCount  // by loss
}

func (p *paired) all() []pair {
	all := slices.Concat(p.scored, p.others)
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.at, b.at) })
	return all
}

// Matcher finds the cases of a side that equal cases of another, each at most once. Cases with the same request
// are matched by name first, then in order.
type Matcher struct {
	cases []*CaseTotals
	first map[string]int // first case with an id; nil while cases are asked for in their own order
	next  []int          // next case with the same id, from 1; 0 at the end
	taken []bool
	steps int // cases that were asked for in their own order
}

// NewMatcher is a matcher for the cases of base.
func NewMatcher(base *Side) *Matcher {
	return &Matcher{cases: base.Cases, taken: make([]bool, len(base.Cases))}
}

func (m *Matcher) index() {
	m.first, m.next = make(map[string]int, len(m.cases)), make([]int, len(m.cases))
	for i, c := range slices.Backward(m.cases) {
		if at, known := m.first[c.ID]; known {
			m.next[i] = at + 1
		}
		m.first[c.ID] = i
	}
}

// Match takes a case with the same request and returns its index; -1 when none is left.
func (m *Matcher) Match(id, name string) int {
	if m.first == nil { // arms of a run, and most baselines, have the same cases in the same order
		if at := m.steps; at < len(m.cases) && m.cases[at].ID == id && m.cases[at].Name == name {
			m.steps, m.taken[at] = at+1, true
			return at
		}
		m.index()
	}
	found := -1
	at, more := m.first[id]
	for ; more; at, more = m.next[at]-1, m.next[at] > 0 {
		if m.taken[at] {
			continue
		}
		if m.cases[at].Name == name {
			found = at
			break
		}
		if found < 0 {
			found = at
		}
	}
	if found >= 0 {
		m.taken[found] = true
	}
	return found
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

// pairUp pairs cases by their requests; o selects and accepts cases of base, nil means all and none.
func pairUp(base, head *Side, o *Options) paired {
	p := paired{scored: make([]pair, 0, len(head.Cases))}
	var selected func(*CaseTotals) bool
	if o != nil {
		selected, p.accepts = o.Selected, o.Accepted
	}
	expected := func(c *CaseTotals) bool { return !c.Quarantined && (selected == nil || selected(c)) }
	for _, b := range base.Cases {
		if expected(b) {
			p.Of++
		}
	}
	m := NewMatcher(base)
	var unmatched []*CaseTotals
	for i, h := range head.Cases {
		if at := m.Match(h.ID, h.Name); at >= 0 {
			p.add(pair{base.Cases[at], h, i}, expected(base.Cases[at]))
		} else {
			unmatched = append(unmatched, h)
		}
	}
	p.rest(base, m.taken, unmatched, expected)
	if selected != nil {
		for _, list := range base.NotRun {
			p.Unselected += list.Count
		}
		p.Unselected = max(0, p.Unselected-len(p.NotRun))
	}
	p.UnknownCoverage = base.UnknownCoverage
	return p
}

// leftOut reports whether the suite of a side had a case that the side did not run.
func (s *Side) leftOut() func(*CaseTotals) bool {
	known := map[string]bool{} // by id and by name
	for _, list := range s.NotRun {
		for _, c := range list.Cases {
			known["id "+c.ID], known["name "+c.Name] = true, true
		}
	}
	return func(c *CaseTotals) bool {
		return known["id "+c.ID] || known["name "+c.Name] || s.Unlisted != nil && s.Unlisted(c)
	}
}

// add records a case with one request on both sides. expected: it counts towards the compared share.
func (p *paired) add(one pair, expected bool) {
	b, h := one.base, one.head
	switch {
	case h.Quarantined && !b.Quarantined:
		p.lose(b, expected, quarantined)
	case h.Quarantined || b.Quarantined:
		p.Quarantined = append(p.Quarantined, h.Name)
	case !b.SameAs(h.Scorers, h.Vars, h.Quarantined): // a pass means something else
		p.lose(b, expected, changed)
		if alike(b.Vars, h.Vars) {
			addVersions(&p.ScorerVersions, b.Scorers, h.Scorers)
		}
	case !expected: // filters apply to the names and tags of the baseline
		p.Unselected++
	default:
		p.pair(one)
	}
}

// pair records a case that counts on both sides.
func (p *paired) pair(one pair) {
	b, h := one.base, one.head
	_, scoredBefore := b.PassRate()
	_, scoredNow := h.PassRate()
	p.Compared++
	addVersions(&p.Rescored, cmp.Or(b.FormerScorers, b.Scorers), b.Scorers)
	switch {
	case h.Unused > 0 && h.Ran == 0 || b.Unused > 0 && b.Ran == 0:
		p.Unused++
		p.others = append(p.others, one)
	case !scoredBefore || !scoredNow:
		p.Paired++
		p.others = append(p.others, one)
		p.Unscored = append(p.Unscored, h.Name)
		if scoredBefore && h.Errors > 0 {
			p.errored = append(p.errored, one)
		}
	default:
		p.Paired++
		p.scored = append(p.scored, one)
	}
}

// PairedByIDAlone counts cases of head whose id is not the hash of their variables, when base does not record that
// hash.
func PairedByIDAlone(base, head *Side) (n int) {
	unknown := map[string]bool{}
	for _, b := range base.Cases {
		if b.Vars == "" {
			unknown[b.ID] = true
		}
	}
	for _, h := range head.Cases {
		if h.Vars != "" && h.Vars != h.ID && unknown[h.ID] {
			n++
		}
	}
	return n
}

// sendsFor chooses the case for which readers see what both sides sent.
func (a *ArmComparison) sendsFor(pairs []pair) {
	switch {
	case len(a.Flips) > 0:
		a.SentFor, a.SentAt = a.Flips[0].Case, [2]int64{a.Flips[0].BaseAt, a.Flips[0].HeadAt}
	case len(pairs) > 0:
		a.SentFor, a.SentAt = pairs[0].head.Name, [2]int64{pairs[0].base.TrialAt, pairs[0].head.TrialAt}
	}
}

// enoughRepeats is the number of repeats from which on a case is tested on its own.
const enoughRepeats = 5

// flips lists the cases whose outcome, by the majority of their repeats, changed: worse ones first.
func flips(pairs []pair) []Flip {
	var out []Flip
	var ps []float64
	var tested []int
	for _, p := range pairs {
		before, _ := p.base.PassRate()
		after, _ := p.head.PassRate()
		f := Flip{
			Case: p.head.Name, BaseAt: p.base.TrialAt, HeadAt: p.head.TrialAt,
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

// Pairs are the cases of base and head that Compare compares.
func Pairs(base, head *Side) (out [][2]*CaseTotals) {
	for _, p := range pairUp(base, head, nil).scored {
		out = append(out, [2]*CaseTotals{p.base, p.head})
	}
	return out
}

// ScorerVersion is a kind of scorer whose version differs, and nothing else in some cases.
type ScorerVersion struct {
	Kind  string `json:"kind"`
	Base  int    `json:"base"`
	Head  int    `json:"head"`
	Cases int    `json:"cases"`
}

// addVersions records a case whose scorers differ only in the versions of their kinds.
func addVersions(to *[]ScorerVersion, base, head string) {
	if base == head {
		return
	}
	for _, one := range versionsApart(base, head) {
		at := slices.IndexFunc(*to, func(v ScorerVersion) bool { v.Cases = 0; return v == one })
		if at < 0 {
			at = len(*to)
			*to = append(*to, one)
		}
		(*to)[at].Cases++
	}
}

// VersionsRose reports whether two hashes of scorers differ only in versions of kinds, and none is older in now.
func VersionsRose(before, now string) bool {
	apart := versionsApart(before, now)
	return len(apart) > 0 && !slices.ContainsFunc(apart, func(v ScorerVersion) bool { return v.Head < v.Base })
}

// rescoredNote says which answers of the baseline were scored again, "" for none.
func (p *Pairing) rescoredNote() string {
	var parts []string
	for _, v := range p.Rescored {
		parts = append(parts, fmt.Sprintf("%s by version %d of `%s`", diag.Count(v.Cases, "case"), v.Head, v.Kind))
	}
	if len(parts) == 0 {
		return ""
	}
	return "answers of the baseline scored again: " + strings.Join(parts, ", ")
}

// versionsApart are the kinds whose versions differ between two hashes of scorers; none when more differs.
func versionsApart(base, head string) (out []ScorerVersion) {
	before, was := splitVersions(base)
	after, is := splitVersions(head)
	if before != after {
		return nil
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if one := (ScorerVersion{Kind: kind, Base: max(1, was[kind]), Head: max(1, is[kind])}); one.Base != one.Head {
			out = append(out, one)
		}
	}
	return out
}

// splitVersions splits 0123456789abcdef+choice.2. Kinds at their first version are not listed.
func splitVersions(scorers string) (hash string, versions map[string]int) {
	hash, rest, _ := strings.Cut(scorers, "+")
	versions = map[string]int{}
	for part := range strings.SplitSeq(rest, "+") {
		kind, version, _ := strings.Cut(part, ".") // names of kinds have no dot
		if n, err := strconv.Atoi(version); err == nil {
			versions[kind] = n
		}
	}
	return hash, versions
}

// Rescore says which scorers changed their meaning, and how to score the older answers again; "" when none did. It
// takes the ids of both runs; head's is "" before there is one.
func (p *Pairing) Rescore(base, head string) string {
	if len(p.ScorerVersions) == 0 {
		return ""
	}
	var changes []string
	run, side := base, "the baseline"
	for _, v := range p.ScorerVersions {
		changes = append(changes, fmt.Sprintf("the scorer `%s` means something else since version %d", v.Kind, max(v.Base, v.Head)))
		if v.Base > v.Head {
			run, side = head, "the run"
		}
	}
	if run == "" {
		return strings.Join(changes, ", ") + ", which this evalrun does not know"
	}
	return fmt.Sprintf("%s: `evalrun rescore %s` scores the answers of %s again", strings.Join(changes, ", "), run, side)
}
