package textmetric

import (
	"strings"
	"unicode"
)

// SquadWords is the normalization of SQuAD's official script: lower case, no ASCII punctuation, no articles; the words that
// are left.
func SquadWords(s string) []string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, lower(s))
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		end := strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) })
		if end < 0 {
			end = len(s)
		}
		switch word := s[:end]; word {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		next := strings.IndexFunc(s[end:], wordRune)
		if next < 0 {
			next = len(s) - end
		}
		b.WriteString(s[end : end+next])
		s = s[end+next:]
	}
	return Fields(b.String())
}

// wordRune is what \w stands for in Python. Combining marks are not.
func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }
