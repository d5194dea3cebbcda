package scorers

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
)

// maxQuoted bounds the part of a text that a reason shows, in bytes.
const maxQuoted = 120

// quote shows a text in a reason: quoted, escaped and shortened.
func quote(s string) string {
	if cut := cutPoint(s); cut < len(s) {
		return visible(s[:cut]) + "..."
	}
	return visible(s)
}

// cutText shortens a text that is shown verbatim.
func cutText(s string) string {
	if cut := cutPoint(s); cut < len(s) {
		return s[:cut] + "..."
	}
	return s
}

// cutPoint is where a text is cut for a reason, at a character boundary.
func cutPoint(s string) int {
	if len(s) <= maxQuoted {
		return len(s)
	}
	cut := maxQuoted
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return cut
}

// visible is like strconv.Quote, but keeps letters of every script with their combining marks.
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

func fenceHint(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "```") {
		return " (the answer is fenced with ```; `fence: true` reads that)"
	}
	return ""
}

// visibleText puts a message that may quote an answer on one line, shortened.
func visibleText(s string) string {
	s = visible(cutText(s))
	return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
}

// quoteHidden quotes a text without visible characters, with its code points if quotes alone would be ambiguous.
func quoteHidden(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsGraphic(r) }) {
		return quote(s)
	}
	return quote(s) + ", " + codePoints(s)
}

// hiddenIn lists the code points of a text's invisible characters, "" without any.
func hiddenIn(s string) string {
	return codePoints(strings.Map(func(r rune) rune {
		if eval.Hidden(r) {
			return r
		}
		return -1
	}, s))
}
