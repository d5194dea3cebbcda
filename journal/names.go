package journal

import (
	"hash/maphash"
	"strings"
)

// names holds each text once, such as the names of a million cases. A map would take twice the memory, and one object for
// each text would slow down every garbage collection.
type names struct {
	texts  []string // of many names each; the last one grows
	room   *strings.Builder
	places [][]namePlace // of chunkNames each, so that nothing is copied when there are more
	n      int
	table  []uint32 // places, from 1, by hash; those of one hash stand one after the other
	seed   maphash.Seed
}

// namePlace locates a name in the texts. A name of wholeText bytes or more is a text by itself.
type namePlace struct {
	text    uint32
	from, n uint16
}

const (
	chunkNames = 1 << 12
	leastText  = 1 << 10
	wholeText  = 1<<16 - 1
)

func (n *names) at(place uint32) string {
	p := n.places[place/chunkNames][place%chunkNames]
	if p.n == wholeText {
		return n.texts[p.text]
	}
	return n.texts[p.text][p.from:][:p.n]
}

// keep copies a name to the end of the texts. They have their room from the start: a text that grows stays where it is.
func (n *names) keep(s string) namePlace {
	if n.room == nil || n.room.Cap()-n.room.Len() < len(s) || len(s) >= wholeText {
		n.room = &strings.Builder{}
		n.room.Grow(max(len(s), min(max(8*n.n, leastText), wholeText)))
		n.texts = append(n.texts, "")
	}
	from, last := n.room.Len(), len(n.texts)-1
	n.room.WriteString(s)
	n.texts[last] = n.room.String()
	if len(s) >= wholeText {
		n.room = nil
		return namePlace{text: clip(last), n: wholeText}
	}
	return namePlace{clip(last), uint16(from), uint16(len(s))} //nolint:gosec // less than wholeText
}

// place is the place of a text, which is added when it is new.
func (n *names) place(s string) uint32 {
	if 4*(n.n+1) > 3*len(n.table) {
		n.grow()
	}
	at := n.slot(s)
	if n.table[at] == 0 {
		if n.n%chunkNames == 0 {
			n.places = append(n.places, make([]namePlace, 0, min(chunkNames, max(16, n.n))))
		}
		last := &n.places[len(n.places)-1]
		*last = append(*last, n.keep(s))
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

// forget frees the table for finding texts, until the next search.
func (n *names) forget() { n.table = nil }

// grow makes the table twice as large.
func (n *names) grow() {
	if n.table == nil {
		n.seed = maphash.MakeSeed()
	}
	size := max(64, 2*len(n.table))
	for 3*size < 4*(n.n+1) { // it was forgotten
		size *= 2
	}
	n.table = make([]uint32, size)
	for i := range clip(n.n) {
		n.table[n.slot(n.at(i))] = i + 1
	}
}
