package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Shape says what may be new in a chunk of a stream that says a text more and nothing else. Paths have dots, and 0 for the item of a list.
type Shape struct {
	// Text is the path of the text.
	Text string
	// Known are the members that objects on the way have below the chunk itself. Others are null, and lists have one item.
	Known []string
	// Other are members of the chunk under which there is no object.
	Other []string
	// Free are the paths of texts that mean nothing, and of numbers that mean nothing but in the last chunk.
	Free []string
}

// Alike recognizes chunks that differ from the one before by what may be new alone. Most chunks do, and need no decoding.
type Alike struct {
	parts  []part
	misses int // shapes in a row to which no chunk was alike
}

// part is what is the same up to something new.
type part struct {
	same []byte
	then novelty
}

// novelty is what may be new.
type novelty int

const (
	nothing novelty = iota // the chunk ends
	said                   // the text
	padding                // a text without escapes
	number
	blanks
)

// mostMisses is after how many shapes that were of no use in a row no more are made, which costs as much as decoding.
const mostMisses = 16

// Forget makes no chunk alike.
func (a *Alike) Forget() { a.parts = a.parts[:0] }

// Learn makes chunks alike that differ from this one, which is a JSON object, by what may be new in a shape.
func (a *Alike) Learn(chunk []byte, s *Shape) {
	a.Forget()
	if a.misses > mostMisses || gjson.GetBytes(chunk, s.Text).Type != gjson.String || !s.plain(chunk) {
		return
	}
	a.misses++
	type place struct {
		from, to int
		novelty
	}
	var places []place
	for i, path := range append([]string{s.Text}, s.Free...) {
		value := gjson.GetBytes(chunk, path)
		from, to := value.Index, value.Index+len(value.Raw)
		switch {
		case value.Type == gjson.String && i == 0:
			places = append(places, place{from + 1, to - 1, said})
		case value.Type == gjson.String:
			places = append(places, place{from + 1, to - 1, padding})
		case value.Type == gjson.Number:
			places = append(places, place{from, to, number})
		}
	}
	if end := len(chunk) - 1; chunk[end] == '}' {
		places = append(places, place{len(bytes.TrimRight(chunk[:end], " ")), end, blanks})
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	chunk, begin := bytes.Clone(chunk), 0
	for _, one := range places {
		a.parts = append(a.parts, part{chunk[begin:one.from], one.novelty})
		begin = one.to
	}
	a.parts = append(a.parts, part{chunk[begin:], nothing})
}

// plain reports whether a chunk has on the way to its text what a shape says, and all of it once: a parser reads the first of several
// members of a name, another one the last.
func (s *Shape) plain(chunk []byte) bool {
	at := gjson.ParseBytes(chunk)
	if slices.ContainsFunc(s.Other, func(name string) bool { return at.Get(name).IsObject() }) {
		return false
	}
	root, plain := true, at.IsObject()
	var members []string
	once := func(member, value gjson.Result) bool {
		plain = !slices.Contains(members, member.Str) && (root || value.Type == gjson.Null || slices.Contains(s.Known, member.Str))
		members = append(members, member.Str)
		return plain
	}
	for name := range strings.SplitSeq(s.Text, ".") {
		if at.IsArray() {
			plain = plain && len(at.Array()) == 1
		} else if members = members[:0]; plain {
			at.ForEach(once)
		}
		at, root = at.Get(name), false
	}
	return plain
}

// Text is the text of a chunk that is alike; false for others, and for texts that only a decoder can read.
func (a *Alike) Text(chunk []byte) (text string, ok bool) {
	for _, one := range a.parts {
		if !bytes.HasPrefix(chunk, one.same) {
			return "", false
		}
		chunk = chunk[len(one.same):]
		n := one.then.length(chunk)
		if n < 0 {
			return "", false
		}
		if one.then == said {
			if text, ok = unescaped(chunk[:n]); !ok {
				return "", false
			}
		}
		chunk = chunk[n:]
	}
	if ok = ok && len(chunk) == 0; ok {
		a.misses = 0
	}
	return text, ok
}

// most is the length of numbers, in digits, that are surely possible.
const most = 9

// length is that of something new at the beginning of data, in bytes; -1 for none.
func (n novelty) length(data []byte) int {
	switch n {
	case blanks:
		return len(data) - len(bytes.TrimLeft(data, " "))
	case number:
		digits := digitsOf(data)
		if digits == 0 || digits > most || data[0] == '0' && digits > 1 {
			return -1
		}
		return digits
	case said, padding:
		for i := 0; i < len(data); i++ {
			switch c := data[i]; {
			case c == '"':
				return i
			case c < ' ', n == padding && (c == '\\' || c >= utf8.RuneSelf):
				return -1
			case c == '\\':
				i++
			}
		}
		return -1
	case nothing:
	}
	return 0
}

// digitsOf is how many digits data begins with.
func digitsOf(data []byte) (n int) {
	for n < len(data) && '0' <= data[n] && data[n] <= '9' {
		n++
	}
	return n
}

// unescaped is what the inside of a JSON string says; false for a wrong one.
func unescaped(inside []byte) (string, bool) {
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside), utf8.Valid(inside)
	}
	quoted := append(append([]byte{'"'}, inside...), '"')
	if !wirejson.Valid(quoted) {
		return "", false
	}
	return wirejson.Text(quoted)
}
