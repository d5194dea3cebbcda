package scorers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/textmetric"
)

// mark is a word or a punctuation mark of a text.
type mark struct {
	text   string // in lower case
	choice int    // index of the choice, -1 for none
	exact  bool   // in upper case, or spelled as in the list of choices
	lower  bool   // begins with a small letter and has more characters
	word   bool
	spaced bool // white space precedes it
}

const notALetter = -1

const (
	struckOut  lazy.Regex = `~~[^~\n]*~~|(?i)<(?:s|del|strike)>[^<]*</(?:s|del|strike)>`
	answerTag  lazy.Regex = `(?i)<(?:final_?)?(?:answer|choice)>`
	lineTag    lazy.Regex = `</?(?:br|p|div|li|ul|ol|tr|table|h[1-6]|[a-z_]*(?:answer|choice|think|thinking|reasoning|explanation))\s*/?>`
	otherTag   lazy.Regex = `</?[a-z][a-z_]{0,20}/?>`
	texCommand lazy.Regex = `\\(?:text|textbf|textit|mathrm|mathbf|mbox|quad|left|right|,|!|;|\(|\)|\[|\])`
	arrow      lazy.Regex = `[-=]+>|[→⇒➡⟶]`
)

// plainText removes formatting. It drops struck-out text, and turns tags around an answer into "answer:".
func plainText(text string) string {
	text = struckOut.Regexp().ReplaceAllString(text, " ")
	text = answerTag.Regexp().ReplaceAllString(text, "\nanswer: ")
	text = otherTag.Regexp().ReplaceAllString(lineTag.Regexp().ReplaceAllString(text, "\n"), " ")
	text = strings.ReplaceAll(texCommand.Regexp().ReplaceAllString(text, " "), `\boxed`, " boxed:")
	text = arrow.Regexp().ReplaceAllString(text, " : therefore ")
	return letterMarks.Replace(text)
}

// unquoted removes quotation marks around the whole text.
func unquotedLetter(text string) string {
	text = strings.TrimSpace(text)
	if n := len(text); n > 2 && strings.IndexByte(`"'`, text[0]) >= 0 && text[n-1] == text[0] &&
		strings.Count(text[1:n-1], text[:1]) == 0 {
		return text[1 : n-1]
	}
	return text
}

// sameMarks replaces marks by one that means the same.
var letterMarks = strings.NewReplacer(
	"’", "'", "‘", "'", "ʼ", "'", "´", "'", "“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‹", `"`, "›", `"`, "「", `"`, "」", `"`,
	"。", ". ", "！", "! ", "？", "? ", "：", ": ", "，", ", ", "、", ", ", "；", "; ",
	"（", " (", "）", ") ", "【", " [", "】", "] ", "؟", "? ", "،", ", ", "؛", "; ", "।", ". ", "…", "...", "¿", " ¿ ",
	"\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u2212", "-", "\u2011", "-", "\u2010", "-",
)

// marker splits a text into marks.
type marker struct {
	of, folded []string
	out        []mark
	letters    int
	spaced     bool
}

// marksOf returns the marks of a text, and how many of them are letters of the choices. It stops after
// maxMentions letters.
func marksOf(text string, of []string) (marks []mark, letters int) {
	m := &marker{of: of, spaced: true}
	for _, l := range of {
		m.folded = append(m.folded, textmetric.FoldCase(l))
	}
	for text != "" && m.letters <= maxMentions {
		text = text[m.next(text):]
	}
	return m.out, m.letters
}

// next reads one mark at the beginning of a text and returns its length.
func (m *marker) next(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case r == '\n':
		m.add(punctuation("\n"))
		m.spaced = true
	case unicode.IsSpace(r):
		m.spaced = true
	case ideographic(r):
		n = ideographs(text)
		m.word(text[:n])
	case inWord(r):
		n = wordLength(text)
		m.word(text[:n])
	default:
		n = m.sign(r, text)
	}
	return n
}

func (m *marker) add(one mark) {
	one.spaced = m.spaced
	m.out = append(m.out, one)
	m.spaced = false
}

// word reads a word, which may be a letter of the choices or a contraction of two words.
func (m *marker) word(written string) {
	written = strings.Map(visibleRune, written)
	if written == "" {
		return
	}
	folded := textmetric.FoldCase(written)
	at := notALetter
	if len(folded) <= maxLetter {
		at = slices.Index(m.folded, folded)
	}
	if at != notALetter {
		m.letters++
		m.add(mark{text: folded, choice: at, exact: written == m.of[at] || written == strings.ToUpper(written), word: true})
		return
	}
	first, size := utf8.DecodeRuneInString(written)
	for i, part := range contracted(folded) {
		m.add(mark{text: part, choice: notALetter, word: true, lower: i == 0 && unicode.IsLower(first) && len(written) > size})
	}
}

// maxLetter bounds a letter, in bytes.
const maxLetter = 16

func visibleRune(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// inWord includes format characters such as the zero-width joiner.
func inWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Cf)
}

// ideographic also includes Hangul, where particles are joined to foreign words.
func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// wordLength returns the length of the word at the beginning of a text. It includes hyphens and apostrophes
// within words, and points within numbers.
func wordLength(text string) int {
	end := 0
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if inWord(r) && !ideographic(r) {
			end += n
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(text[:end])
		after, _ := utf8.DecodeRuneInString(text[end+n:])
		if !joinsWord(before, r, after) {
			break
		}
		end += n
	}
	return end
}

// joinsWord reports whether a mark between two characters is a part of a word.
func joinsWord(before, r, after rune) bool {
	switch r {
	case '-', '\'':
		return inWord(after) && !ideographic(after)
	case '.', ',', ':':
		return unicode.IsDigit(before) && unicode.IsDigit(after)
	}
	return false
}

// ideographs returns the length of the longest known word at the beginning of a text, or of one character.
func ideographs(text string) int {
	longest := 0
	for end, r := range text {
		if end > 40 || !ideographic(r) {
			break
		}
		next := end + utf8.RuneLen(r)
		if _, ok := classedPhrases()[text[:next]]; ok || longest == 0 {
			longest = next
		}
	}
	return longest
}

var elisions = []string{"c'", "d'", "j'", "l'", "m'", "n'", "s'", "t'", "qu'", "puisqu'", "lorsqu'", "jusqu'"}

// contracted splits a contraction into its words: isn't, it's, c'est, cannot.
func contracted(word string) []string {
	switch word {
	case "cannot":
		return []string{"can", "not"}
	case "can't":
		return []string{"can", "n't"}
	case "won't":
		return []string{"will", "n't"}
	}
	if stem, ok := strings.CutSuffix(word, "n't"); ok && stem != "" {
		return []string{stem, "n't"}
	}
	at := strings.IndexByte(word, '\'')
	switch {
	case at < 0:
		return []string{word}
	case slices.Contains(elisions, word[:at+1]):
		return append([]string{word[:at+1]}, contracted(word[at+1:])...)
	}
	return []string{word[:at], word[at:]}
}

// sign reads a mark that is not a part of a word and returns its length.
func (m *marker) sign(r rune, text string) int {
	n := utf8.RuneLen(r)
	if r == utf8.RuneError {
		n = 1
	}
	after, _ := utf8.DecodeRuneInString(text[n:])
	class, known := signs[r]
	switch {
	case class == '.':
		return m.stop(text)
	case class == '-':
		m.dash(r, after)
	case r == ':' && (after == '\\' || after == '/'):
		m.add(mark{text: "?:", choice: notALetter, word: true}) // C:\
	case known && class != 0:
		m.add(mark{text: string(class), choice: notALetter})
	case known, m.onlySets(r, after, text):
	default:
		m.symbol(r, after)
	}
	return n
}

// signs maps marks to the ones that the grammar knows; 0 is for formatting marks.
var signs = map[rune]rune{
	'.': '.', '!': '.', '?': '.', '-': '-', '–': '-', '—': '-', '(': '(', '[': '(', ')': ')', ']': ')',
	',': ',', ';': ';', ':': ':', '=': '=', '"': '"', '\'': '"',
	'*': 0, '_': 0, '`': 0, '~': 0, '|': 0, '\\': 0, '{': 0, '}': 0, '•': 0,
}

// onlySets recognizes marks of formulas, and marks at the beginning of a line.
func (m *marker) onlySets(r, after rune, text string) bool {
	if r == '$' {
		return !unicode.IsDigit(after) || closedFormula.Matches(text)
	}
	return (r == '#' || r == '>') && m.spaced
}

const closedFormula lazy.Regex = `^\$[^$\n]{1,40}\$`

func punctuation(text string) mark { return mark{text: text, choice: notALetter} }

// symbol reads other symbols. A symbol that touches a word changes its meaning: B+, C#, 20 °C.
func (m *marker) symbol(r, after rune) {
	touches := inWord(after) || !m.spaced
	switch {
	case strings.ContainsRune("&/+✅✓✔☑❌✗✘✖×", r) && (r != '+' || m.spaced || inWord(after)):
		m.add(mark{text: string(r), choice: notALetter, word: true})
	case unicode.Is(unicode.So, r) && !touches:
	default:
		m.add(mark{text: "?" + string(r), choice: notALetter, word: true})
	}
}

// stop reads marks at the end of a sentence. A point within a word is not one: example.com
func (m *marker) stop(text string) int {
	n := 0
	for n < len(text) && strings.ContainsRune(".!?", rune(text[n])) {
		n++
	}
	after, _ := utf8.DecodeRuneInString(text[n:])
	switch {
	case strings.Contains(text[:n], "?"):
		m.add(punctuation("?"))
	case n > 1 && !m.spaced && inWord(after):
		m.add(punctuation("-")) // A...D
	case text[:n] == "." && !m.spaced && inWord(after) && !ideographic(after):
		m.add(mark{text: "?.", choice: notALetter, word: true})
	default:
		m.add(punctuation("."))
	}
	return n
}

// dash distinguishes the item of a list, a dash between parts of a sentence, and a dash that changes a
// word: B-, -2.
func (m *marker) dash(r, after rune) {
	atLine := len(m.out) == 0 || m.out[len(m.out)-1].text == "\n"
	switch {
	case atLine && !inWord(after):
	case r == '-' && (inWord(after) || !m.spaced):
		m.add(mark{text: "?-", choice: notALetter, word: true})
	default:
		m.add(punctuation("-"))
	}
}
