package reports

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// breaker is a zero-width space, written inside a command to break it up.
const breaker = "\u200b"

// guard breaks up commands in its output. Continuous integration reads commands such as ::error, ::add-mask
// and ##[error] from standard output, at the beginning of a line and after white space.
type guard struct {
	w       io.Writer
	atStart bool   // of a line, apart from white space
	colon   bool   // the line begins with a colon
	hashes  int    // number of # directly before
	half    []byte // beginning of an incomplete character
}

// Write breaks up the commands in p. It holds nothing back: if p ends within a character, it writes all of
// it.
func (g *guard) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+16)
	for _, b := range p {
		if g.colon && b == ':' || g.hashes >= 2 && b == '[' {
			out = append(out, breaker...)
		}
		out = append(out, b)
		g.pass(b)
	}
	if _, err := g.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// pass tracks the position of the next byte.
func (g *guard) pass(b byte) {
	g.hashes = count(g.hashes, b == '#')
	if b >= utf8.RuneSelf {
		if g.half = append(g.half, b); !utf8.FullRune(g.half) {
			g.colon = false
			return
		}
	} else {
		g.half = append(g.half[:0], b)
	}
	r, _ := utf8.DecodeRune(g.half)
	g.half = g.half[:0]
	g.colon = g.atStart && r == ':'
	g.atStart = r == '\n' || r == '\r' || g.atStart && (unicode.IsSpace(r) || r == '\ufeff')
}

// count returns n+1, or 0 at the end of a sequence.
func count(n int, more bool) int {
	if more {
		return n + 1
	}
	return 0
}
