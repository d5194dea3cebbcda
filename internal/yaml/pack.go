package yaml

import (
	"encoding/binary"
	"slices"

	"gopkg.in/yaml.v3"
)

// Packed is a value with its children and positions, in a tenth of the memory.
type Packed struct {
	d    *doc
	data string
}

// tags lists the common tags of values, which are encoded as one byte.
var tags = []string{"", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!merge", "!!timestamp"}

// Pack packs the value. It returns false for anchors and aliases, which Packed cannot represent.
func (n Node) Pack() (p Packed, ok bool) {
	if n.IsZero() {
		return p, false
	}
	data, ok := pack(nil, n.y)
	return Packed{n.d, string(data)}, ok
}

func pack(dst []byte, y *yaml.Node) ([]byte, bool) {
	tag := slices.Index(tags, y.Tag)
	if y.Kind == yaml.AliasNode || y.Anchor != "" || tag < 0 {
		return nil, false
	}
	dst = append(dst, byte(y.Kind), byte(tag), byte(y.Style)) //nolint:gosec // kinds and styles are small
	for _, number := range []int{y.Line, y.Column, len(y.Content), len(y.Value)} {
		dst = binary.AppendUvarint(dst, uint64(number)) //nolint:gosec // not negative
	}
	dst = append(dst, y.Value...)
	for _, child := range y.Content {
		var ok bool
		if dst, ok = pack(dst, child); !ok {
			return nil, false
		}
	}
	return dst, true
}

// Node unpacks the value.
func (p Packed) Node() Node {
	y, _ := unpack(p.data)
	return Node{y, p.d}
}

func unpack(data string) (y *yaml.Node, rest string) {
	y = &yaml.Node{Kind: yaml.Kind(data[0]), Tag: tags[data[1]], Style: yaml.Style(data[2])}
	rest = data[3:]
	var children, length int
	for _, number := range []*int{&y.Line, &y.Column, &children, &length} {
		*number, rest = uvarint(rest)
	}
	y.Value, rest = rest[:length], rest[length:]
	if children > 0 {
		y.Content = make([]*yaml.Node, children)
	}
	for i := range y.Content {
		y.Content[i], rest = unpack(rest)
	}
	return y, rest
}

// uvarint is binary.Uvarint for a string, without copying it.
func uvarint(data string) (v int, rest string) {
	for shift := 0; ; shift += 7 {
		b := data[0]
		data = data[1:]
		v |= int(b&0x7f) << shift
		if b < 0x80 {
			return v, data
		}
	}
}
