package journal

import (
	"hash/maphash"
	"strings"
)

// names are texts, each once: of a run with a million cases, their names. A map would take twice as much.
type names struct {
	all   []string
	table []uint32 // places in all, from 1, by hash; those of one hash stand one after the other
	seed  maphash.Seed
}

// place is the place of a text, which is added when it is new.
func (n *names) place(s string) uint32 {
	if 4*(len(n.all)+1) > 3*len(n.table) {
		n.grow()
	}
	at := n.slot(s)
	if n.table[at] == 0 {
		n.all = append(n.all, strings.Clone(s))
		n.table[at] = clip(len(n.all))
	}
	return n.table[at] - 1
}

// slot is where a text stands in the table, or would.
func (n *names) slot(s string) int {
	mask := uint64(len(n.table) - 1) //nolint:gosec // not negative
	at := maphash.String(n.seed, s) & mask
	for n.table[at] != 0 && n.all[n.table[at]-1] != s {
		at = (at + 1) & mask
	}
	return int(at) //nolint:gosec // less than the length
}

// grow makes the table twice as large.
func (n *names) grow() {
	if n.table == nil {
		n.seed = maphash.MakeSeed()
	}
	n.table = make([]uint32, max(64, 2*len(n.table)))
	for i, s := range n.all {
		n.table[n.slot(s)] = clip(i + 1)
	}
}
