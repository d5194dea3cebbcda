package compare

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A column has one value per case. Values past its end are zero, so an unused column takes no memory.

// numbers is a column of float64, stored as float32 while that loses nothing.
type numbers struct {
	narrow []float32
	wide   []float64 // replaces narrow
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

// uintColumn is a column of unsigned integers, each stored in as many bytes as the largest needs.
type uintColumn struct {
	bytes []byte // little-endian
	width int    // bytes per number
	room  int    // expected length, in numbers
}

func (c *uintColumn) at(i int) uint64 {
	var b [8]byte
	if at := i * c.width; at < len(c.bytes) {
		copy(b[:], c.bytes[at:at+c.width])
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (c *uintColumn) set(i int, v uint64) {
	if width := (bits.Len64(v) + 7) / 8; width > c.width {
		wider := uintColumn{width: width, room: c.room, bytes: make([]byte, 0, width*max(c.room, i+1))}
		for j := range len(c.bytes) / max(1, c.width) {
			wider.write(j, c.at(j))
		}
		*c = wider
	}
	if c.width > 0 {
		c.write(i, v)
	}
}

// write stores a number that fits into width bytes.
func (c *uintColumn) write(i int, v uint64) {
	if short := (i+1)*c.width - len(c.bytes); short > 0 {
		c.bytes = append(c.bytes, make([]byte, short)...)
	}
	copy(c.bytes[i*c.width:], binary.LittleEndian.AppendUint64(nil, v)[:c.width])
}

// put sets value i, extending the column if necessary. Trailing zeros are not stored.
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

// key is a hash or a name in a form that compares quickly. The zero key is "".
type key struct {
	bits uint64 // value of sixteen hexadecimal digits, the form in which evalrun writes hashes
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

type keys struct {
	bits  []uint64
	other textColumn
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

// textColumn is a column of strings, stored in blocks with a length before each. One object per string would take more
// memory than most strings, and slow down garbage collection.
type textColumn struct {
	blocks []string // of inBlock strings each; trailing ones may be missing
	last   []byte   // the block that is being filled
	n      int      // number of strings, including those in last
}

const inBlock = 64

func (t *textColumn) at(i int) string {
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

// cutText splits off the first string of a block; "" at the end of the block.
func cutText(block string) (text, rest string) {
	var head [binary.MaxVarintLen64]byte
	length, n := binary.Uvarint(head[:copy(head[:], block)])
	if n <= 0 {
		return "", ""
	}
	end := n + int(length) //nolint:gosec // it was encoded from an int
	return block[n:end], block[end:]
}

func (t *textColumn) set(i int, s string) {
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

func (t *textColumn) add(s string) {
	t.last = append(binary.AppendUvarint(t.last, uint64(len(s))), s...)
	if t.n%inBlock == inBlock-1 {
		t.blocks, t.last = append(t.blocks, string(t.last)), t.last[:0]
	}
}

// replace rewrites the block that holds string i.
func (t *textColumn) replace(i int, s string) {
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

// grown makes room for n values in all.
func grown[T any](column []T, n int) []T { return slices.Grow(column, max(0, n-len(column))) }
