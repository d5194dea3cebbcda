package output

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// breaker is a character without width, written between the characters of what a log would take for a command.
const breaker = "\u200b"

// guard breaks up commands in what is written to it. Continuous integration reads commands on standard output, such
// as ::error, ::add-mask and ##[error], at the start of a line and after any white space, so their characters are
// kept apart.
type guard struct {
	w       io.Writer
	atStart bool   // of a line, white space aside
	colon   bool   // the line begins with a colon
	hashes  int    // that were written last
	half    []byte // what is written of a character that is not whole
}

// Write writes p with its commands broken up. No byte is held back: a text that ends within a character is written to its end.
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

// pass notes where the next byte is.
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

// count is one more than n, or 0 at the end of a row.
func count(n int, more bool) int {
	if more {
		return n + 1
	}
	return 0
}
