package journal

import (
	"hash/maphash"
	"strings"
)

// names are texts, each once: of a run with a million cases, their names. A map would take twice as much.
type names struct {
	chunks [][]string // of chunkNames each, so that nothing is copied when there are more
	n      int
	table  []uint32 // places, from 1, by hash; those of one hash stand one after the other
	seed   maphash.Seed
}

const chunkNames = 1 << 12

// at is the text at a place.
func (n *names) at(place uint32) string { return n.chunks[place/chunkNames][place%chunkNames] }

// place is the place of a text, which is added when it is new.
func (n *names) place(s string) uint32 {
	if 4*(n.n+1) > 3*len(n.table) {
		n.grow()
	}
	at := n.slot(s)
	if n.table[at] == 0 {
		if n.n%chunkNames == 0 {
			n.chunks = append(n.chunks, make([]string, 0, min(chunkNames, max(16, n.n))))
		}
		last := &n.chunks[len(n.chunks)-1]
		*last = append(*last, strings.Clone(s))
		n.n++
		n.table[at] = clip(n.n)
	}
	return n.table[at] - 1
}

// slot is the place of a text in the table, or the place for it.
func (n *names) slot(s string) int {
	mask := uint64(len(n.table) - 1) //nolint:gosec // not negative
	at := maphash.String(n.seed, s) & mask
	for n.table[at] != 0 && n.at(n.table[at]-1) != s {
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
	for i := range clip(n.n) {
		n.table[n.slot(n.at(i))] = i + 1
	}
}
