package reports

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// breaker is a character without width that stands between the characters of what a log would take for a command.
const breaker = "\u200b"

// Guarded is the writer of a format whose texts come from answers, for standard output. Continuous integration reads commands there, such
// as ::error, ::add-mask and ##[error], at the start of a line and after any white space, so their characters are kept apart. Formats for
// programs have no text at the start of a line, and stay as they are.
func Guarded(format string, w io.Writer) io.Writer {
	switch format {
	case "markdown", "csv", "junit":
		return &guard{w: w, atStart: true}
	}
	return w
}

// guard breaks up commands in what is written to it.
type guard struct {
	w       io.Writer
	atStart bool   // of a line, white space aside
	colon   bool   // the line begins with a colon
	hashes  int    // that were written last
	half    []byte // of a character
}

// Write writes p with its commands broken up.
func (g *guard) Write(p []byte) (int, error) {
	data := append(g.half, p...)
	out := make([]byte, 0, len(data)+16)
	for len(data) > 0 && (utf8.FullRune(data) || len(data) >= utf8.UTFMax) {
		r, size := utf8.DecodeRune(data)
		if g.colon && r == ':' || g.hashes >= 2 && r == '[' {
			out = append(out, breaker...)
		}
		out = append(out, data[:size]...)
		data = data[size:]
		g.colon = g.atStart && r == ':'
		g.atStart = r == '\n' || r == '\r' || g.atStart && (unicode.IsSpace(r) || r == '\ufeff')
		if r == '#' {
			g.hashes++
		} else {
			g.hashes = 0
		}
	}
	g.half = append([]byte(nil), data...)
	if _, err := g.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
