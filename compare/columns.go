package compare

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Columns hold one value of each case. A value that is missing at the end of a column is the zero value, so that a column that no case
// uses takes no room.

// numbers are a column of numbers, in half of the room as long as that loses nothing.
type numbers struct {
	narrow []float32
	wide   []float64 // instead of narrow
}

func (n *numbers) at(i int) float64 {
	switch {
	case i < len(n.wide):
		return n.wide[i]
	case i < len(n.narrow):
		return float64(n.narrow[i])
	}
	return 0
}

func (n *numbers) set(i int, v float64) {
	if n.wide == nil && float64(float32(v)) == v {
		n.narrow = put(n.narrow, i, float32(v))
		return
	}
	if n.wide == nil {
		n.wide = make([]float64, len(n.narrow), max(cap(n.narrow), i+1))
		for j, x := range n.narrow {
			n.wide[j] = float64(x)
		}
		n.narrow = nil
	}
	n.wide = put(n.wide, i, v)
}

// counts are a column of whole numbers from 0, each in as few bytes as the largest takes.
type counts struct {
	bytes []byte // of each, the lowest first
	width int    // of each
	room  int    // numbers that are expected
}

func (c *counts) at(i int) uint64 {
	var b [8]byte
	if at := i * c.width; at < len(c.bytes) {
		copy(b[:], c.bytes[at:at+c.width])
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (c *counts) set(i int, v uint64) {
	if width := (bits.Len64(v) + 7) / 8; width > c.width {
		wider := counts{width: width, room: c.room, bytes: make([]byte, 0, width*max(c.room, i+1))}
		for j := range len(c.bytes) / max(1, c.width) {
			wider.write(j, c.at(j))
		}
		*c = wider
	}
	if c.width > 0 {
		c.write(i, v)
	}
}

// write sets a number that fits.
func (c *counts) write(i int, v uint64) {
	if short := (i+1)*c.width - len(c.bytes); short > 0 {
		c.bytes = append(c.bytes, make([]byte, short)...)
	}
	copy(c.bytes[i*c.width:], binary.LittleEndian.AppendUint64(nil, v)[:c.width])
}

// put sets a value of a column that may be too short. Zeros behind its end are left out.
func put[T comparable](column []T, i int, v T) []T {
	var zero T
	if i < len(column) {
		column[i] = v
		return column
	}
	if v == zero {
		return column
	}
	for len(column) < i {
		column = append(column, zero)
	}
	return append(column, v)
}

// key is a hash or a name, in a form that is quick to compare. "" is the zero key.
type key struct {
	bits uint64 // of sixteen hexadecimal digits, as evalrun writes hashes
	text string // any other text; bits is 0
}

func keyOf(s string) key {
	if len(s) == 16 && !strings.ContainsAny(s, "ABCDEF") {
		if bits, err := strconv.ParseUint(s, 16, 64); err == nil && bits != 0 {
			return key{bits: bits}
		}
	}
	return key{text: s}
}

func (k key) String() string {
	if k.bits == 0 {
		return k.text
	}
	return fmt.Sprintf("%016x", k.bits)
}

// keys are a column of keys.
type keys struct {
	bits  []uint64
	other texts
}

func (k *keys) at(i int) key {
	if i < len(k.bits) && k.bits[i] != 0 {
		return key{bits: k.bits[i]}
	}
	return key{text: k.other.at(i)}
}

func (k *keys) set(i int, v key) {
	k.bits = put(k.bits, i, v.bits)
	k.other.set(i, v.text)
}

// texts are a column of texts, each with its length before it, in blocks. One object for each text would take more room than most texts
// do, and would slow down the collection of garbage.
type texts struct {
	blocks []string // of inBlock texts each; one may lack texts at its end
	last   []byte   // the block that still grows, if it is not empty
	n      int      // texts up to the end of last
}

const inBlock = 64

func (t *texts) at(i int) string {
	if i >= t.n {
		return ""
	}
	rest := ""
	if block := i / inBlock; block < len(t.blocks) {
		rest = t.blocks[block]
	} else {
		rest = string(t.last)
	}
	for range i % inBlock {
		_, rest = cutText(rest)
	}
	text, _ := cutText(rest)
	return text
}

// cutText takes the first text of a block; "" where the block has no more.
func cutText(block string) (text, rest string) {
	var head [binary.MaxVarintLen64]byte
	length, n := binary.Uvarint(head[:copy(head[:], block)])
	if n <= 0 {
		return "", ""
	}
	end := n + int(length) //nolint:gosec // it was an int
	return block[n:end], block[end:]
}

func (t *texts) set(i int, s string) {
	switch {
	case i < t.n:
		if t.at(i) != s {
			t.replace(i, s)
		}
		return
	case s == "":
		return
	}
	for ; t.n < i; t.n++ {
		t.add("")
	}
	t.add(s)
	t.n++
}

// add puts a text behind the last.
func (t *texts) add(s string) {
	t.last = append(binary.AppendUvarint(t.last, uint64(len(s))), s...)
	if t.n%inBlock == inBlock-1 {
		t.blocks, t.last = append(t.blocks, string(t.last)), t.last[:0]
	}
}

// replace writes a block again.
func (t *texts) replace(i int, s string) {
	from := i - i%inBlock
	var all []string
	for j := from; j < min(from+inBlock, t.n); j++ {
		all = append(all, t.at(j))
	}
	all[i-from] = s
	var block []byte
	for _, one := range all {
		block = append(binary.AppendUvarint(block, uint64(len(one))), one...)
	}
	if i/inBlock < len(t.blocks) {
		t.blocks[i/inBlock] = string(block)
	} else {
		t.last = block
	}
}

// grown makes room for n values.
func grown[T any](column []T, n int) []T { return slices.Grow(column, max(0, n-len(column))) }
