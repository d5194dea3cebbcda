package eval

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/internal/textmetric"
)

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return appendAny(dst, s)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendAny(dst []byte, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // strings always encode
		return append(dst, err.Error()...)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// Fold normalizes a text for comparison with classes: Unicode form NFC, case folded, white space trimmed and collapsed
// to single spaces.
func Fold(text string) string {
	return norm.NFC.String(textmetric.FoldCase(norm.NFC.String(strings.Join(strings.Fields(text), " "))))
}

// ClassOf returns the index of the class that equals the text after Fold; -1 if there is none.
func ClassOf(classes []string, text string) int {
	folded := Fold(text)
	return slices.IndexFunc(classes, func(class string) bool { return Fold(class) == folded })
}

// IsBlank reports whether a text shows nothing: it is empty, or has only white space and characters that cannot be seen.
func IsBlank(text string) bool { return !strings.ContainsFunc(text, shows) }

func shows(r rune) bool { return !space(r) && !Hidden(r) }

// space includes characters that show nothing although Unicode classes them as letters or symbols.
func space(r rune) bool {
	switch r {
	case '\u2800', '\u115f', '\u1160', '\u3164', '\uffa0': // the blank of Braille, the fillers of Hangul
		return true
	}
	return unicode.IsSpace(r)
}

// Hidden reports whether a character has no width and shows nothing. Such are control and format characters, joiners,
// variation selectors, marks of writing direction, tags, and code points without a character. White space is not
// hidden.
func Hidden(r rune) bool {
	if r < 0x80 || space(r) {
		return r < ' ' && !unicode.IsSpace(r) || r == 0x7f
	}
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // the signs of Arabic numbers can be seen
		return false
	}
	return unicode.In(
		r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
		unicode.Noncharacter_Code_Point,
	)
}

// Visible is a text without its hidden characters.
func Visible(text string) string {
	if !strings.ContainsFunc(text, Hidden) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, text)
}
