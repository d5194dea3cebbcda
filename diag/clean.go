package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text safe for a terminal and a log: control characters, invalid
// bytes and characters that reorder or hide text become visible escapes.
// Newline and tab stay; it never makes an escape sequence of its own.
func Clean(s string) string {
	if isClean(s) {
		return noCommand(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Plain(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return noCommand(b.String())
}

// noCommand breaks up what an older syntax of continuous-integration logs takes for a command anywhere
// in a line.
func noCommand(s string) string { return strings.ReplaceAll(s, "##[", `##\x5b`) }

// CleanLine is Clean for a place that holds one line: line breaks and tabs become spaces. It also breaks up a start
// that continuous-integration logs would take for a command ("::", with or without white space before it).
func CleanLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u2028', '\u2029', '\u0085':
			return ' '
		}
		return r
	}, s)
	s = Clean(s)
	if rest := strings.TrimLeft(s, " "); strings.HasPrefix(rest, "::") {
		s = s[:len(s)-len(rest)] + `\x3a` + rest[1:]
	}
	return s
}

func isClean(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || !Plain(r) {
			return false
		}
		i += size
	}
	return true
}

// Plain reports whether r shows as itself and changes nothing around it. Controls, format characters (bidi controls,
// zero-width marks, tags) and unassigned code points are not plain. The joiners that emoji and several scripts need
// are.
func Plain(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return true
	}
	return unicode.IsGraphic(r)
}
