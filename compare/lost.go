package compare

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// loss is why a case of the baseline cannot be compared any more.
type loss int

const (
	removed loss = iota
	changed
	quarantined
)

// lostCount counts the cases of a loss, and those that had passed.
type lostCount struct{ cases, passed int }

// of is what a loss is called, with its list among names of cases or patterns.
func (l loss) of(p *Pairing, patterns *eval.Accepted) (what string, names, accepted, accepts *[]string) {
	switch l {
	case removed:
		return "removed", &p.Removed, &p.Accepted.Removed, &patterns.Removed
	case changed:
		return "changed", &p.Changed, &p.Accepted.Changed, &patterns.Changed
	default:
		return "quarantined", &p.Quarantined, &p.Accepted.Quarantined, &patterns.Quarantined
	}
}

// rest sorts the cases that have no counterpart: those of base, unless taken, and those of head, by their names.
func (p *paired) rest(base *Side, taken []bool, unmatched []*CaseTotals, expected func(*CaseTotals) bool) {
	renewed := map[string]bool{} // false: no case of base has the name
	for _, h := range unmatched {
		renewed[h.Name] = false
	}
	for i, b := range base.Cases {
		_, sameName := renewed[b.Name]
		switch {
		case taken[i]:
		case sameName:
			renewed[b.Name] = true
			p.lose(b, expected(b), changed)
		case expected(b):
			p.lose(b, true, removed)
		case !b.Quarantined:
			p.Unselected++
		}
	}
	leftOut := base.leftOut()
	for _, h := range unmatched {
		switch {
		case renewed[h.Name]:
		case !leftOut(h):
			p.Added = append(p.Added, h.Name)
		case !h.Quarantined:
			p.Of++
			p.NotRun = append(p.NotRun, h.Name)
		}
	}
}

// lose records a case of base that cannot be compared any more. Unless a pattern accepts that, it counts as if head had
// only errors there. expected: it counts towards the compared share.
func (p *paired) lose(b *CaseTotals, expected bool, as loss) {
	_, names, accepted, patterns := as.of(&p.Pairing, &p.accepts)
	if len(*patterns) > 0 && eval.NewPatterns(*patterns).Match(b.Name) {
		if expected {
			*accepted = append(*accepted, b.Name)
			p.Of--
		}
		return
	}
	*names = append(*names, b.Name)
	rate, ok := b.PassRate()
	passed := ok && rate > 0.5 && !b.Quarantined
	if passed {
		p.PassedBefore = append(p.PassedBefore, b.Name)
	}
	if !expected {
		return
	}
	n := max(1, b.Ran)
	h := &CaseTotals{Name: b.Name, ID: b.ID, Cluster: b.Cluster, Request: b.Request, Ran: n, Errors: n}
	h.Repeats = make([][]float64, len(b.Repeats))
	p.lost = append(p.lost, pair{base: b, head: h})
	p.lostAs[as].cases++
	if passed {
		p.lostAs[as].passed++
	}
}

// unseen names what counts at its worst, and what makes it count no more.
func (p *paired) unseen(headErrors int) string {
	var parts []string
	for as, n := range p.lostAs {
		what, _, _, _ := loss(as).of(&p.Pairing, &p.accepts)
		switch {
		case n.passed > 0:
			parts = append(parts, diag.Count(n.passed, what+" case")+" that passed")
		case n.cases > 0:
			parts = append(parts, diag.Count(n.cases, what+" case"))
		}
	}
	if headErrors > 0 {
		parts = append(parts, diag.Count(headErrors, "head error"))
	}
	if len(p.lost) == 0 {
		return strings.Join(parts, "") + ": not worse only if what could not be judged is like the rest"
	}
	return fmt.Sprintf("%s: not worse only without them; put the cases back, or accept them by name: %s",
		strings.Join(parts, ", "), p.acceptance())
}

// mostNamed bounds the names of cases in a sentence.
const mostNamed = 5

// acceptance is the key of a suite that accepts the lost cases, "" without any.
func (p *Pairing) acceptance() string {
	var lists []string
	for as := removed; as <= quarantined; as++ {
		what, names, _, _ := as.of(p, &eval.Accepted{})
		var quoted []string
		for _, name := range (*names)[:min(len(*names), mostNamed)] {
			quoted = append(quoted, fmt.Sprintf("%q", name))
		}
		if len(*names) > mostNamed {
			quoted = append(quoted, "...")
		}
		if len(quoted) > 0 {
			lists = append(lists, what+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	if len(lists) == 0 {
		return ""
	}
	return "`accepted: {" + strings.Join(lists, ", ") + "}`"
}

// acceptedNote names the lost cases that the rule accepts, "" without any.
func (p *Pairing) acceptedNote() string {
	var parts []string
	for as := removed; as <= quarantined; as++ {
		what, _, accepted, _ := as.of(p, &eval.Accepted{})
		n := len(*accepted)
		if n == 0 {
			continue
		}
		names := strings.Join((*accepted)[:min(n, mostNamed)], ", ")
		if n > mostNamed {
			names += fmt.Sprintf(" and %d more", n-mostNamed)
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s)", n, what, names))
	}
	if len(parts) == 0 {
		return ""
	}
	return "accepted by the suite: " + strings.Join(parts, ", ")
}
