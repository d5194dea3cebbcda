package scorers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuoted is how many bytes of a text a reason shows.
const maxQuoted = 120

// quote shows a text in a reason: in quotes, escaped, shortened.
func quote(s string) string {
	if len(s) > maxQuoted {
		cut := maxQuoted
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		return visible(s[:cut]) + "..."
	}
	return visible(s)
}

// visible is like strconv.Quote but leaves letters of every script, combining
// marks included, as they are.
func visible(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if unicode.IsGraphic(r) && r != '"' && r != '\\' && r != utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		if r == '"' {
			q = `'\"'`
		}
		b.WriteString(q[1 : len(q)-1])
	}
	b.WriteByte('"')
	return b.String()
}

func quoteList(texts []string) string {
	shown := make([]string, 0, 6)
	for i, t := range texts {
		if i == 5 {
			shown = append(shown, fmt.Sprintf("%d more", len(texts)-i))
			break
		}
		shown = append(shown, quote(t))
	}
	return strings.Join(shown, ", ")
}

func quoteAny(texts []string) string {
	if len(texts) == 1 {
		return quote(texts[0])
	}
	return "one of " + quoteList(texts)
}
