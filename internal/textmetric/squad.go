package textmetric

import (
	"strings"
	"unicode"
)

// SquadWords normalizes as SQuAD's official script does: lower case, without ASCII punctuation and
// articles.
func SquadWords(s string) []string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, lower(s))
	between := func(r rune) bool { return !wordRune(r) }
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		end := indexOrEnd(s, between)
		switch word := s[:end]; word {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		next := end + indexOrEnd(s[end:], wordRune)
		b.WriteString(s[end:next])
		s = s[next:]
	}
	return Fields(b.String())
}

// indexOrEnd returns the index of the first character of a kind, or the length of s.
func indexOrEnd(s string, is func(rune) bool) int {
	if i := strings.IndexFunc(s, is); i >= 0 {
		return i
	}
	return len(s)
}

// wordRune reports what \w matches in Python, which excludes combining marks.
func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }
