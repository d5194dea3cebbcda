package compare

import (
	"fmt"
	"math"
	"slices"
)

// Preview is what a comparison will pair, before its run has any answers.
type Preview struct {
	Pairing
	// Effective is how many independent units count: one over the largest one's share of the cases.
	Effective int
	Single    bool // each case runs once, and is a unit
	Clustered bool // some units are clusters
}

// NewPreview pairs the cases of a plan with those of a baseline. selected says which of base are in the run; nil is
// all.
func NewPreview(base, head *Side, selected func(*Case) bool) Preview {
	p := pairUp(base, head, selected)
	all := p.all()
	g := groupsOf(&all)
	out := Preview{Pairing: p.Pairing, Single: true}
	sizes := map[int]int{}
	largest := 0
	for request := range g.requests() {
		unit := g.unitOf(request)
		sizes[unit]++
		largest = max(largest, sizes[unit])
	}
	for _, pair := range all.each {
		out.Single = out.Single && pair.head.Ran == 1
	}
	out.Units, out.Clustered = len(sizes), largest > 1
	out.Single = out.Single && !out.Clustered
	if largest > 0 {
		out.Effective = int(math.Floor(float64(g.requests())/float64(largest) + 1e-9))
	}
	out.Duplicates = g.duplicates(&all)
	return out
}

// Why says that too few cases of the baseline are among them, "" when they are enough.
func (p *Preview) Why(minPaired float64) string { return tooFew(&p.Pairing, minPaired) }

// Key names a case of a suite.
func (c *Case) Key() string { return c.ID + "\x00" + c.Name }

// Units says which cases belong to one independent unit, by the Key of each and that of the unit's first case. Cases
// with the same request on some arm of head are one unit, and so are cases that share a cluster on either side. Cases
// alone in their unit are left out.
func Units(heads, bases []*Side) map[string]string {
	var keys []string
	var names [][]string
	places := map[string]int{}
	note := func(c *Case, name string) {
		at, known := places[c.Key()]
		if !known {
			at = len(keys)
			places[c.Key()] = at
			keys, names = append(keys, c.Key()), append(names, nil)
		}
		names[at] = append(names[at], name)
	}
	for i, s := range slices.Concat(heads, bases) {
		for _, c := range s.Cases.All() {
			if c.Cluster != "" {
				note(c, "cluster\x00"+c.Cluster)
			}
			if c.Request != "" && i < len(heads) {
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
