package journal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// cursor reads a line in one pass, in the form that this package writes: JSON without blanks. It checks everything it
// passes. Unexpected input makes it strange; the line is then left to general JSON decoders.
type cursor struct {
	data    []byte
	at      int
	strange bool
	depth   int
	cut     bool // a finish reason so far was the limit of tokens
}

// deepest bounds the nesting that a cursor follows.
const deepest = 100

// give up makes the cursor strange, at the end of its line.
func (c *cursor) giveUp() {
	c.strange, c.at = true, len(c.data)
}

// is passes a byte, if it is the next one.
func (c *cursor) is(b byte) bool {
	if c.at < len(c.data) && c.data[c.at] == b {
		c.at++
		return true
	}
	return false
}

// members yields the keys of the object that comes next, each before its value, which the loop has to pass.
func (c *cursor) members(yield func(key []byte) bool) {
	if !c.is('{') {
		c.giveUp()
		return
	}
	if c.is('}') {
		return
	}
	for {
		key := c.text()
		if !c.is(':') {
			c.giveUp()
			return
		}
		if !yield(key) || !c.another('}') {
			return
		}
	}
}

// another reports whether a comma follows, and not the end.
func (c *cursor) another(end byte) bool {
	if c.is(',') {
		return true
	}
	if !c.is(end) {
		c.giveUp()
	}
	return false
}

// elements yields before each element of the array that comes next, which the loop has to pass.
func (c *cursor) elements(yield func() bool) {
	if !c.is('[') {
		c.giveUp()
		return
	}
	if c.is(']') {
		return
	}
	for yield() && c.another(']') {
	}
}

// text passes a string without escapes, and returns it.
func (c *cursor) text() []byte {
	if !c.is('"') {
		c.giveUp()
		return nil
	}
	from := c.at
	if !c.plain() || c.data[c.at] != '"' {
		c.giveUp()
		return nil
	}
	c.at++
	return c.data[from : c.at-1]
}

// A word of eight bytes is searched at once: the lowest byte that is marked is the first one looked for.
const (
	each  = 0x0101010101010101
	marks = 0x8080808080808080
)

// plain goes to the next quote, backslash or control character of a string; false at the end of the line.
func (c *cursor) plain() bool {
	data, i := c.data, c.at
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote, slash := w^each*'"', w^each*'\\'
		if found := ((quote-each)&^quote | (slash-each)&^slash | (w-each*' ')&^w) & marks; found != 0 {
			c.at = i + bits.TrailingZeros64(found)/8
			return true
		}
	}
	for ; i < len(data); i++ {
		if b := data[i]; b == '"' || b == '\\' || b < ' ' {
			c.at = i
			return true
		}
	}
	return false
}

// skipText passes the rest of a string after its first quote.
func (c *cursor) skipText() {
	for c.plain() {
		switch c.data[c.at] {
		case '"':
			c.at++
			return
		case '\\':
			if n := escape(c.data[c.at+1:]); n > 0 {
				c.at += 1 + n
				continue
			}
		}
		break
	}
	c.giveUp()
}

// escape is the length of an escape after its backslash, 0 when it is none.
func escape(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	switch data[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(data) < 5 {
			return 0
		}
		for _, b := range data[1:5] {
			if !isHex(b) {
				return 0
			}
		}
		return 5
	}
	return 0
}

func isHex(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// number passes a number, and returns its text.
func (c *cursor) number() []byte {
	from := c.at
	c.is('-')
	first := c.at
	whole := c.digits()
	if whole == 0 || whole > 1 && c.data[first] == '0' {
		c.giveUp()
		return nil
	}
	if c.is('.') && c.digits() == 0 {
		c.giveUp()
		return nil
	}
	if c.is('e') || c.is('E') {
		if !c.is('+') {
			c.is('-')
		}
		if c.digits() == 0 {
			c.giveUp()
			return nil
		}
	}
	return c.data[from:c.at]
}

func (c *cursor) digits() (n int) {
	for c.at < len(c.data) && isDigit(c.data[c.at]) {
		c.at++
		n++
	}
	return n
}

// count passes a whole number that is neither negative nor large, and returns it.
func (c *cursor) count() (n int) {
	digits := c.number()
	if len(digits) > len("999999999999999") {
		c.giveUp()
	}
	for _, b := range digits {
		if !isDigit(b) {
			c.giveUp()
			return 0
		}
		n = 10*n + int(b-'0')
	}
	return n
}

// word passes null, true or false.
func (c *cursor) word(word string) {
	if rest := c.data[c.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		c.giveUp()
		return
	}
	c.at += len(word)
}

// yes passes true or false, and reports which.
func (c *cursor) yes() bool {
	if c.peek() == 't' {
		c.word("true")
		return true
	}
	c.word("false")
	return false
}

// peek is the next byte, 0 at the end.
func (c *cursor) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}

// skip passes any value.
func (c *cursor) skip() {
	switch b := c.peek(); b {
	case '"':
		c.at++
		c.skipText()
	case '{', '[':
		if c.depth++; c.depth > deepest {
			c.giveUp()
		} else if b == '{' {
			c.skipObject()
		} else {
			c.skipArray()
		}
		c.depth--
	case 'n':
		c.word("null")
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	default:
		c.number()
	}
}

func (c *cursor) skipArray() {
	for range c.elements {
		c.skip()
	}
}

// skipObject passes an object, and checks the finish reasons in it.
func (c *cursor) skipObject() {
	for key := range c.members {
		switch string(key) {
		case "finishReason":
			c.finishReason()
		case "blockReason":
			c.giveUp()
		case startedAt:
			c.time()
		default:
			if len(key) == len(startedAt) && strings.EqualFold(string(key), startedAt) { // decoders take it for the same
				c.giveUp()
			}
			c.skip()
		}
	}
}

// startedAt is the key of the one time that the line of a trial has.
const startedAt = "startedAt"

// time passes a time as Append writes it. Decoders differ in the other forms that they accept.
func (c *cursor) time() {
	text := c.text()
	var t time.Time
	if !bytes.HasSuffix(text, []byte("Z")) || t.UnmarshalText(text) != nil {
		c.giveUp()
	}
}

// isPlain reports whether a line is as Append writes lines, so that all decoders agree on it.
func isPlain(data []byte) bool {
	c := cursor{data: data}
	c.skip()
	return !c.strange && c.at == len(data)
}

// finishReason passes a finish reason that is no block.
func (c *cursor) finishReason() {
	if c.peek() != '"' {
		c.skip()
		return
	}
	reason := c.text()
	c.cut = c.cut || string(reason) == eval.CutReason
	if eval.IsBlock(string(reason)) {
		c.giveUp()
	}
}
