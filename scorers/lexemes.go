package scorers

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/lazy"
)

// lexeme is a word, a phrase or a mark with its class. The grammar reads only classes.
type lexeme struct {
	class   byte
	choices []int // the letters that it names
	cut     bool  // an unknown character of a script without spaces
}

// sentence is a part of a text that says one thing.
type sentence struct {
	lexemes  []lexeme
	question bool
	opens    bool // the first one of its line
	ends     bool // the last one of its line
}

// maxSentence bounds the lexemes of a sentence. Longer ones are split.
const maxSentence = 300

// reader groups marks into sentences.
type reader struct {
	marks     []mark
	sentences []sentence
	now       sentence
}

func sentencesOf(marks []mark) []sentence {
	r := &reader{marks: marks, now: sentence{opens: true}}
	for i := 0; i < len(marks); {
		i += r.read(i)
	}
	r.end(true)
	return r.sentences
}

// read reads the marks at an index and returns how many it has read.
func (r *reader) read(i int) int {
	m := r.marks[i]
	switch {
	case m.text == "\n":
		return r.line(i)
	case m.word:
		return r.word(i)
	case m.text == "." && r.abbreviated(i), m.text == ":" && len(r.now.lexemes) == 0:
	case m.text == ";" && r.lists(i):
		r.add(',', nil)
	case oneOf(".;?", m.text):
		r.now.question = r.now.question || m.text == "?"
		r.end(i+1 < len(r.marks) && r.marks[i+1].text == "\n")
	default:
		if n := r.wrapped(i); n > 0 {
			return n
		}
		r.add(m.text[0], nil)
	}
	return 1
}

func (r *reader) add(class byte, choices []int) {
	if len(r.now.lexemes) == maxSentence {
		r.end(false)
		r.now.lexemes = []lexeme{{class: unknownWord}} // the next marks are not the beginning of a sentence
	}
	r.now.lexemes = append(r.now.lexemes, lexeme{class: class, choices: choices})
}

func (r *reader) end(line bool) {
	r.now.ends = line
	if len(r.now.lexemes) > 0 {
		r.sentences = append(r.sentences, r.now)
		r.now = sentence{}
	}
	r.now.opens = r.now.opens || line
}

// continuesBehind has the classes after which a sentence continues.
var continuesBehind = []byte{
	':', ',', isWord, areWord, mustBeWord, wouldBeWord, notWord, exceptWord, insteadWord, maybeWord, aboutWord, articleWord,
	theWord, andWord, orWord, thatWord, auxiliary, firstPerson, onlyWord, butWord, chooseWord, thinkWord, preferWord, soWord,
}

// line reads one or more line breaks. A line that announces an answer, or that the next line continues,
// does not end a sentence.
func (r *reader) line(i int) int {
	n := 1
	for i+n < len(r.marks) && r.marks[i+n].text == "\n" {
		n++
	}
	classes := r.now.classes()
	switch {
	case r.repeatsAt(i + n):
		r.end(true)
	case endsWith(classes, continuesBehind...):
	case headingClasses.Matches(classes):
		r.add(':', nil)
	case n == 1 && classes != "" && i+n < len(r.marks) && r.marks[i+n].lower && !r.listItem(i+n):
	default:
		r.end(true)
	}
	return n
}

// repeatsAt reports whether the line is an option and the next line is another one.
func (r *reader) repeatsAt(i int) bool {
	next := slices.IndexFunc(r.marks[min(i, len(r.marks)):], func(m mark) bool { return m.text == "\n" })
	return next > 0 && r.optionAt(i) && r.optionAt(i+next+1)
}

func (r *reader) optionAt(i int) bool {
	if i < len(r.marks) && r.marks[i].text == "(" {
		i++
	}
	return i < len(r.marks) && r.marks[i].choice != notALetter && r.listItem(i)
}

// listItem reports a word with a mark after it, such as b).
func (r *reader) listItem(i int) bool {
	return i+1 < len(r.marks) && oneOf(").:", r.marks[i+1].text)
}

// lists reports whether only a letter follows, as in B; C.
func (r *reader) lists(i int) bool {
	return i+1 < len(r.marks) && r.marks[i+1].choice != notALetter &&
		(i+2 == len(r.marks) || oneOf("\n.;", r.marks[i+2].text))
}

// abbreviated reports whether the period belongs to a title or an initial.
func (r *reader) abbreviated(i int) bool {
	if i == 0 || !r.marks[i-1].word || i+1 >= len(r.marks) || !r.marks[i+1].word {
		return false
	}
	if slices.Contains(titles, r.marks[i-1].text) {
		return true
	}
	return r.marks[i-1].choice != notALetter && len(r.marks[i+1].text) == 1 &&
		i+2 < len(r.marks) && r.marks[i+2].text == "."
}

var titles = []string{"mr", "mrs", "ms", "dr", "prof", "st", "vs", "fig", "sr", "sra", "mme", "approx", "ca", "bzw", "inkl"}

// word reads a phrase, a letter or a word.
func (r *reader) word(i int) int {
	phrase, n := phraseAt(r.marks[i:])
	m := r.marks[i]
	switch {
	case n > 1:
		r.add(phrase, nil)
		return n
	case m.choice != notALetter && r.article(i):
		r.add(articleWord, nil)
	case m.choice != notALetter && r.pronoun(i):
		r.add(firstPerson, nil)
	case m.choice != notALetter && (m.exact || r.announced(i)):
		r.add(oneLetter, []int{m.choice})
	case n == 1:
		r.add(phrase, nil)
	case numberedQuestion.Matches(m.text):
		r.add(questionWord, nil)
	case m.text[0] >= '0' && m.text[0] <= '9':
		r.add(numberWord, nil)
	default:
		r.add(unknownWord, nil)
		first, _ := utf8.DecodeRuneInString(m.text)
		r.now.lexemes[len(r.now.lexemes)-1].cut = ideographic(first)
	}
	return 1
}

const numberedQuestion lazy.Regex = `^q\d+$`

// phraseAt returns the class and the length of the longest known phrase at the beginning of marks.
func phraseAt(marks []mark) (class byte, n int) {
	for _, p := range classedPhrases()[marks[0].text] {
		if len(p.words) <= len(marks) &&
			slices.EqualFunc(p.words, marks[:len(p.words)], func(w string, m mark) bool { return m.text == w }) {
			return p.class, len(p.words)
		}
	}
	return 0, 0
}

// article reports an A before a word that is not about letters.
func (r *reader) article(i int) bool {
	if r.marks[i].text != "a" || i+1 == len(r.marks) || !r.marks[i+1].lower {
		return false
	}
	_, known := phraseAt(r.marks[i+1:])
	return known == 0
}

// pronoun reports an I before a verb.
func (r *reader) pronoun(i int) bool {
	if r.marks[i].text != "i" || i+1 == len(r.marks) || !r.marks[i+1].word {
		return false
	}
	class, known := phraseAt(r.marks[i+1:])
	if known == 0 {
		return r.marks[i+1].lower
	}
	return isOf(class, chooseWord, auxiliary, maybeWord, thinkWord, saysWord, rejectWord, notWord)
}

// announced reports a lower-case letter that is not a word here: the text announces it and a mark follows.
func (r *reader) announced(i int) bool {
	after := "\n"
	if i+1 < len(r.marks) {
		after = r.marks[i+1].text
	}
	classes := r.now.classes()
	if classes == "" {
		return r.now.opens && oneOf("\n).:", after)
	}
	announcing := endsWith(classes, ':', isWord, mustBeWord, wouldBeWord, answerWord, optionWord, chooseWord, theWord)
	return announcing && oneOf("\n).,:;\"", after)
}

// wrapped reads a letter in its own brackets or quotation marks.
func (r *reader) wrapped(i int) int {
	at := i
	for at < len(r.marks) && at-i < 3 && oneOf(`("`, r.marks[at].text) {
		at++
	}
	if at == i || at >= len(r.marks) || r.marks[at].choice == notALetter {
		return 0
	}
	class := byte(oneLetter)
	for k := range at - i {
		closer := map[string]string{"(": ")", `"`: `"`}[r.marks[at-1-k].text]
		if at+1+k >= len(r.marks) || r.marks[at+1+k].text != closer {
			return 0
		}
		if closer == ")" {
			class = bracketedLetter
		}
	}
	r.add(class, []int{r.marks[at].choice})
	return 2*(at-i) + 1
}

// classes returns the text that the grammar reads: the class of each lexeme.
func (s sentence) classes() string {
	out := make([]byte, len(s.lexemes))
	for i, l := range s.lexemes {
		out[i] = l.class
	}
	return string(out)
}

// oneOf reports whether a text is in a list of characters. The empty text, at the end, counts too.
func oneOf(list, text string) bool { return strings.Contains(list, text) }
