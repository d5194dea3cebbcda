package textmetric

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// lower returns the lower case that Python's str.lower returns.
func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// space reports the characters at which Python's str.split splits.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Fields returns the words between white space.
func Fields(s string) []string { return strings.FieldsFunc(s, space) }

// unicodeWords returns the words of a text by UAX #29 that contain a letter or a number, case folded.
func unicodeWords(s string) []string {
	var out []string
	rest, word, state := norm.NFC.String(FoldCase(norm.NFC.String(s))), "", -1
	for rest != "" {
		word, rest, state = uniseg.FirstWordInString(rest, state)
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			out = append(out, word)
		}
	}
	return out
}

// asciiWords returns the words of rouge-score: runs of a-z and 0-9 in the lower-case text.
func asciiWords(s string) []string {
	return strings.FieldsFunc(lower(s), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// tokenizer returns a tokenizer of sacreBLEU, nil for an unknown name.
func tokenizer(name string) func(string) []string {
	switch name {
	case "13a":
		return tokens13a
	case "intl":
		return func(s string) []string { return Fields(international(s)) }
	case "char":
		return func(s string) []string { return strings.Split(strings.Join(Fields(s), ""), "") }
	case "zh":
		return func(s string) []string { return Fields(western(chinese(s))) }
	case "none":
		return Fields
	}
	return nil
}

// tokens13a splits as mteval-v13a does.
func tokens13a(s string) []string {
	s = strings.ReplaceAll(s, "<skipped>", "")
	s = strings.ReplaceAll(strings.ReplaceAll(s, "-\n", ""), "\n", " ")
	if strings.Contains(s, "&") {
		for _, e := range [][2]string{{"&quot;", `"`}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}} {
			s = strings.ReplaceAll(s, e[0], e[1]) // one after the other, so that &amp;lt; becomes <
		}
	}
	return Fields(western(" " + s + " "))
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// separated are the marks that are always separate tokens.
const separated = " !\"#$%&()*+/:;<=>?@[\\]^_`{|}~"

// western does the four replacements of mteval-v13a. It separates marks, full stops and commas except
// between digits, and a dash after a digit. All of them are ASCII, so it works on bytes.
func western(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(separated, c) >= 0 {
			b.Write([]byte{' ', c, ' '})
		} else {
			b.WriteByte(c)
		}
	}
	point := func(c byte) bool { return c == '.' || c == ',' }
	s = pairs(b.String(), func(x, y byte) bool { return !digit(x) && point(y) }, "\x01 \x02 ")
	s = pairs(s, func(x, y byte) bool { return point(x) && !digit(y) }, " \x01 \x02")
	return pairs(s, func(x, y byte) bool { return digit(x) && y == '-' }, "\x01 \x02 ")
}

// pairs rewrites every two bytes that match, from the left. In form, \x01 is the first byte and \x02 the
// second.
func pairs(s string, match func(x, y byte) bool, form string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	for i := 0; i < len(s); i++ {
		if i+1 == len(s) || !match(s[i], s[i+1]) {
			b.WriteByte(s[i])
			continue
		}
		for j := range len(form) {
			switch form[j] {
			case 1:
				b.WriteByte(s[i])
			case 2:
				b.WriteByte(s[i+1])
			default:
				b.WriteByte(form[j])
			}
		}
		i++
	}
	return b.String()
}

// international is the tokenizer of mteval-v14. It separates punctuation except between numbers, and all
// symbols.
func international(s string) string {
	rs := []rune(s)
	rs = runePairs(rs, func(x, y rune) bool { return !unicode.IsNumber(x) && unicode.IsPunct(y) }, false)
	rs = runePairs(rs, func(x, y rune) bool { return unicode.IsPunct(x) && !unicode.IsNumber(y) }, true)
	var b strings.Builder
	for _, r := range rs {
		if unicode.IsSymbol(r) {
			b.WriteString(" " + string(r) + " ")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// runePairs inserts a space between every two runes that match, and one more before or after them.
func runePairs(in []rune, match func(x, y rune) bool, before bool) []rune {
	out := make([]rune, 0, len(in)+len(in)/4)
	for i := 0; i < len(in); i++ {
		switch {
		case i+1 == len(in) || !match(in[i], in[i+1]):
			out = append(out, in[i])
			continue
		case before:
			out = append(out, ' ', in[i], ' ', in[i+1])
		default:
			out = append(out, in[i], ' ', in[i+1], ' ')
		}
		i++
	}
	return out
}

// han reports whether sacreBLEU treats r as Chinese. It copies a slip of sacreBLEU: 2000 to 2a6d instead of
// 20000 to 2a6d6.
// of 20000 to 2a6d6.
func han(r rune) bool {
	for _, h := range [...][2]rune{
		{0x3400, 0x4db5},
		{0x4e00, 0x9fa5},
		{0x9fa6, 0x9fbb},
		{0xf900, 0xfa2d},
		{0xfa30, 0xfa6a},
		{0xfa70, 0xfad9},
		{0x2001, 0x2a6d},
		{0xff00, 0xffef},
		{0x2e80, 0x2eff},
		{0x3000, 0x303f},
		{0x31c0, 0x31ef},
		{0x2f00, 0x2fdf},
		{0x2ff0, 0x2fff},
		{0x3100, 0x312f},
		{0x31a0, 0x31bf},
		{0xfe10, 0xfe1f},
		{0xfe30, 0xfe4f},
		{0x2600, 0x26ff},
		{0x2700, 0x27bf},
		{0x3200, 0x32ff},
		{0x3300, 0x33ff},
	} {
		if r >= h[0] && r <= h[1] {
			return true
		}
	}
	return false
}

func chinese(s string) string {
	var b strings.Builder
	for _, r := range strings.TrimFunc(s, space) {
		if han(r) {
			b.WriteString(" " + string(r) + " ")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// FoldCase is full Unicode case folding. x/text swaps the two cases of Cherokee, which the standard folds
// to capitals.
func FoldCase(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s) // the same for ASCII, and much faster
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xab70 && r <= 0xabbf:
			return r - 0xab70 + 0x13a0
		case r >= 0x13f8 && r <= 0x13fd:
			return r - 8
		}
		return r
	}, cases.Fold().String(s))
}
