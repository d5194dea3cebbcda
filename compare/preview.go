package compare

import (
	"fmt"
	"math"
	"slices"
)

// Preview is the pairing of a comparison before its run has answers.
type Preview struct {
	Pairing
	// Effective is the effective number of independent units: one over the largest unit's share of the cases.
	Effective int
	Single    bool // each case runs once, and is a unit
	Clustered bool // some units are clusters
}

// NewPreview pairs the planned cases with those of a baseline. selected reports whether a case of base is in the
// run; nil means all.
func NewPreview(base, head *Side, selected func(*CaseTotals) bool) Preview {
	p := pairUp(base, head, selected)
	all := p.all()
	g := groupsOf(all)
	out := Preview{Pairing: p.Pairing, Single: true}
	sizes := map[int]int{}
	largest := 0
	for _, unit := range g.unit {
		sizes[unit]++
		largest = max(largest, sizes[unit])
	}
	for _, pair := range all {
		out.Single = out.Single && pair.head.Ran == 1
	}
	out.Units, out.Clustered = len(sizes), largest > 1
	out.Single = out.Single && !out.Clustered
	if largest > 0 {
		out.Effective = int(math.Floor(float64(len(g.unit))/float64(largest) + 1e-9))
	}
	out.Duplicates = g.duplicates(all)
	return out
}

// Why explains that too few cases of the baseline are paired, "" when there are enough.
func (p *Preview) Why(minPaired float64) string { return tooFew(&p.Pairing, minPaired) }

// Key identifies a case within a suite.
func (c *CaseTotals) Key() string { return c.ID + "\x00" + c.Name }

// Units maps the Key of each case to the Key of the first case of its independent unit. Cases that share a request
// on any arm of head, or a cluster on either side, are one unit. Cases alone in their unit are left out.
func Units(heads, bases []*Side) map[string]string {
	var keys []string
	var names [][]string
	places := map[string]int{}
	note := func(c *CaseTotals, name string) {
		at, known := places[c.Key()]
		if !known {
			at = len(keys)
			places[c.Key()] = at
			keys, names = append(keys, c.Key()), append(names, nil)
		}
		names[at] = append(names[at], name)
	}
	for i, s := range slices.Concat(heads, bases) {
		for _, c := range s.Cases {
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
