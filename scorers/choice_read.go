package scorers

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/textmetric"
)

// choices are the letters of a multiple-choice question, with the texts of their options as far as the suite has them.
type choices struct {
	letters []string
	texts   map[string]string // by letter, as sameText has them
}

type letterReading struct {
	letters []string // named in one of the forms
	how     string   // the form of the first one
	doubt   bool     // words near the letter may take it back
}

type choiceUnit struct {
	text       string
	affirms    string // the letter of an option of which a list in the explanation says that it is correct
	explains   bool   // it follows "Explanation:"
	begins     bool   // its line
	first, end bool   // of the answer
	only       bool
}

// read returns the letters that an answer names in one of the documented forms.
func (c choices) read(text string) letterReading {
	text = plainChoice(answerMember(text))
	if l := c.ofText(text); l != "" {
		return letterReading{letters: []string{l}, how: "the text of the option"}
	}
	units := c.units(text)
	var out letterReading
	seen, last := map[string]bool{}, -1
	for i, u := range units {
		letter, how, clear := c.named(u)
		if letter == "" || u.affirms != "" {
			continue
		}
		if last < 0 {
			out.how = how
		}
		seen[letter], last, out.doubt = true, i, out.doubt || !clear
	}
	out.letters = slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return slices.Index(c.letters, a) - slices.Index(c.letters, b)
	})
	if len(out.letters) == 1 {
		unread := out.how == lastOption && len(c.mentions(text)) > 1 // Paris (A) is the largest, the second is B) Lyon
		out.doubt = out.doubt || unread || strings.Contains(text, "~~") || c.takenBack(out.letters[0], units[last+1:])
	}
	return out
}

// named returns the letter that a sentence names, and whether the rest of the sentence leaves no doubt.
func (c choices) named(u choiceUnit) (letter, how string, clear bool) {
	for _, f := range choiceForms() {
		m, ok := c.match(f, u)
		if !ok {
			continue
		}
		if letter != "" && letter != m.letter {
			return letter, how, false // the answer is A, but B is correct
		}
		clear = !strings.Contains(u.text, "?") && c.endsWell(m)
		if clear || letter == "" && m.explicit(u) {
			letter, how = m.letter, m.how
		}
		if clear {
			break
		}
	}
	return letter, how, clear
}

type letterMatch struct {
	letter, how          string
	before, closer, rest string // the parts of the sentence around the letter; closer are the brackets behind it
}

// explicit reports whether the form names the letter whatever follows: "answer B" and "B" alone may be about something else.
func (m letterMatch) explicit(u choiceUnit) bool {
	switch m.how {
	case answerNoun:
		return separated().MatchString(m.before)
	case letterAlone:
		return u.only
	}
	return true
}

// maxLetterSentence is the longest sentence, in bytes, in which a letter is looked for.
const maxLetterSentence = 4000

func (c choices) match(f choiceForm, u choiceUnit) (letterMatch, bool) {
	if len(u.text) > maxLetterSentence {
		return letterMatch{}, false
	}
	at := f.pattern.FindStringSubmatchIndex(u.text)
	if at == nil {
		return letterMatch{}, false
	}
	group := func(name string) (begin, end int) { i := 2 * f.pattern.SubexpIndex(name); return at[i], at[i+1] }
	begin, end := group("letter")
	_, closed := group("closer")
	rest, _ := group("rest")
	m := letterMatch{how: f.how, before: u.text[:begin], closer: u.text[end:closed], rest: u.text[rest:]}
	i := foldedIndex(c.letters, u.text[begin:end])
	if i < 0 || hasWord(m.before, unsaid()) && !thinking().MatchString(m.before) {
		return m, false
	}
	m.letter = c.letters[i]
	exact := m.letter == u.text[begin:end]
	if f.how == lastMatch || f.how == lastOption {
		return m, u.end && !hasWord(m.before, doubting())
	}
	return m, f.how != letterAlone && f.how != letterCorrect || f.how == letterAlone && u.alone(exact) || f.how == letterCorrect && exact
}

// alone reports where a letter without an announcement counts: as the first or last line, and in another case only as the whole answer.
func (u choiceUnit) alone(exact bool) bool {
	return u.begins && (u.first || u.end) && (exact || u.only)
}

var (
	thinking  = compiled(`(?i)\b(?:i|we) (?:think|believe)|\bi(?: would|'d) say`)
	separated = compiled(`[:=→>-][^\pL]*$`)
	// not A; rather than A
	otherLetter = compiled(`(?i)^,? ?(?:and not|not|und nicht|nicht|et non|pas|y no|no|rather than|statt) ` +
		`(?:option )?\(?([\pL\pN]{1,3})\)?$`)
	because = compiled(`(?i),? ?\b(?:because|weil|denn|car|parce que|puisque|porque|ya que)\b|,? as (?:it|this|they|there) |` +
		`, (?:since|as|da|pues|comme|which (?:states|says|describes|means)) `)
	// ) Lyon; - Lyon; (Lyon)
	optionText = compiled(`^(?:[).:\]]+ | ?[–—-] | ?\(|, |\. )([^,;()]{1,60}?)\)?$`)
	allOfThem  = compiled(`(?i)^(?:all|none) of (?:the above|these)$`)
	theOthers  = compiled(`(?i)^(?:(?:all|none|neither|no)\b ?(?:of )?)?(?:the )?others?\b`)
	initial    = compiled(`^\p{Lu}\. `)
)

// marksOfDoubt change the meaning of a letter, or of the text after it.
const marksOfDoubt = "❌✗✘✖×%~/&+=…<>?#'"

// endsWell reports whether what follows a letter in its sentence leaves it named: nothing, a reason, another letter that is denied,
// or the text of the option.
func (c choices) endsWell(n letterMatch) bool {
	rest := strings.TrimRight(n.rest, " ")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, "."), "!")
	if rest == "" || rest == "," {
		return true
	}
	if m := otherLetter().FindStringSubmatch(rest); m != nil {
		i := foldedIndex(c.letters, m[1])
		return i >= 0 && c.letters[i] != n.letter
	}
	if at := because().FindStringIndex(rest); at != nil {
		others := c.mentions(rest[at[1]:])
		if others[n.letter] || hasWord(rest[at[1]:], spoiling()) || len(others) == 0 && hasWord(rest[at[1]:], denying()) {
			return false
		}
		rest = rest[:at[0]]
	}
	return rest == "" || c.isOption(n, rest)
}

// isOption reports whether the rest of a sentence is the text of the option, or looks like one.
func (c choices) isOption(n letterMatch, rest string) bool {
	bracket := strings.ContainsAny(n.closer, ")]")
	if bracket {
		rest = ")" + rest
	}
	m := optionText().FindStringSubmatch(rest)
	if m == nil {
		return false
	}
	text := m[1]
	if own := c.ofText(text); own != "" {
		return own == n.letter
	}
	first, _ := utf8.DecodeRuneInString(text)
	bracket = bracket || strings.IndexAny(strings.TrimLeft(m[0], " "), "–—-") == 0
	likely := n.how != letterAlone && bracket || unicode.IsUpper(first) || !unicode.IsLetter(first)
	unclear := initial().MatchString(text) || doubtful(text) || strings.Contains(text, "..") || len(c.mentions(text)) > 0
	return allOfThem().MatchString(text) || likely && !unclear
}

// takenBack reports whether a sentence after the last one that names the letter may take it back.
func (c choices) takenBack(letter string, after []choiceUnit) bool {
	return slices.ContainsFunc(after, func(u choiceUnit) bool {
		if u.affirms != "" {
			return u.affirms != letter
		}
		return strings.Contains(u.text, "?") || !c.deniesOthers(letter, u.text) && !c.explains(letter, u) && c.unsettles(letter, u.text)
	})
}

// deniesOthers reports a sentence such as "A is wrong" or "The others are too small".
func (c choices) deniesOthers(letter, text string) bool {
	others := c.mentions(text)
	if len(others) == 0 {
		return theOthers().MatchString(text)
	}
	return !others[letter] && foldedIndex(c.letters, strings.Trim(firstWord(text), "(.:)")) >= 0 && hasWord(text, denying())
}

var (
	inBrackets = compiled(`\(([\pL\pN]{1,3})\),? \pL`)
	othersTold = compiled(`(?i)^(?:the )?(?:options |choices |answers |statements )?([\pL\pN]{1,3}(?:, [\pL\pN]{1,3})*,? ` +
		`(?:and|und|et|y) [\pL\pN]{1,3}) `)
	optionOf    = compiled(`^\(?([\pL\pN]{1,3})[).:] `)
	certainty   = compiled(`(?i)^(?:confidence(?: level)?|konfidenz|confiance|confianza): ?(?:high|medium|\d+ ?%?)\.?$`)
	explanation = compiled(`(?i)^(?:(?:brief |short )?(?:explanation|reasoning|rationale|justification|analysis)|` +
		`(?:here's|let me explain) why[^.?!:]*|why the others?[^.?!:]*|` +
		`erklärung|begründung|explication|raisonnement|explicación|justificación|razonamiento):\s*`)
)

// explains reports a sentence that mentions other letters only to name their options: "Lyon (A) lies on the Rhône", "A and C are ports",
// and in an explanation "A) Lyon is the third-largest city". A word that takes a letter back is not in it.
func (c choices) explains(letter string, u choiceUnit) bool {
	if certainty().MatchString(u.text) {
		return true
	}
	others := c.mentions(u.text)
	if len(others) == 0 || others[letter] || hasWord(u.text, taking()) || hasWord(u.text, changing()) {
		return false
	}
	aside := map[string]bool{}
	for _, m := range inBrackets().FindAllStringSubmatch(u.text, -1) {
		aside[m[1]] = true
	}
	if m := othersTold().FindStringSubmatch(u.text); m != nil && len(strings.Fields(u.text)) > shortRemark {
		maps.Copy(aside, c.mentions(m[1]))
	}
	if m := optionOf().FindStringSubmatch(u.text); m != nil && u.explains {
		aside[m[1]] = true
	}
	return !slices.ContainsFunc(slices.Collect(maps.Keys(others)), func(l string) bool { return !aside[l] })
}

// unsettles reports a sentence that names another letter, or may take back the letter that was named before.
func (c choices) unsettles(letter, text string) bool {
	others := c.mentions(text)
	switch {
	case len(others) > 1, len(others) == 1 && !others[letter], hasWord(text, taking()):
		return true
	case others[letter], len(strings.Fields(text)) <= shortRemark:
		return doubtful(text)
	}
	return false
}

// shortRemark is how many words a later line has at most that is taken for a remark about the answer.
const shortRemark = 6

// firstWord is the first word of a sentence, without a noun in front of a letter.
func firstWord(text string) string {
	words := strings.Fields(text)
	if len(words) > 1 && slices.Contains([]string{"option", "choice", "answer"}, strings.ToLower(words[0])) {
		return words[1]
	}
	return words[0]
}

// mentions returns the letters that are words of a text, as they are spelled in the suite.
func (c choices) mentions(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range wordsIn(strings.ReplaceAll(text, "°C", "")) {
		if slices.Contains(c.letters, word) {
			out[word] = true
		}
	}
	return out
}

// ofText returns the letter of the option with this text, ignoring case and punctuation; "" without one.
func (c choices) ofText(text string) string {
	text = sameText(text)
	for _, l := range c.letters {
		if text != "" && c.texts[l] == text {
			return l
		}
	}
	return ""
}

// sameText has the words of a text, ignoring case and punctuation.
func sameText(text string) string { return strings.Join(wordsIn(textmetric.FoldCase(text)), " ") }

func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '\'' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

func doubtful(text string) bool {
	return strings.ContainsAny(text, marksOfDoubt) || hasWord(text, doubting())
}

// hasWord reports whether a text has one of the words, or one with n't or n' when the words deny.
func hasWord(text string, words map[string]bool) bool {
	return slices.ContainsFunc(wordsIn(strings.ToLower(text)), func(word string) bool {
		return words[word] || words["not"] && strings.HasSuffix(word, "n't") || words["ne"] && strings.HasPrefix(word, "n'")
	})
}

var (
	choiceTags  = compiled(`(?i)</?(?:final_?)?(?:answer|choice)>|<br ?/?>|</?p>`)
	boldTags    = compiled(`(?i)</?(?:b|i|em|strong)>`)
	markdown    = compiled("(?m)[*`]|__|^[#> ]+|^[✅✔☑👉➡\ufe0f ]+|[✅✔☑\ufe0f ]+$|" + `\\[()\[\]]`)
	texStyle    = compiled(`\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}`)
	choiceMarks = strings.NewReplacer("’", "'", "“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`,
		"：", ": ", "。", ". ", "\u00a0", " ", "\u202f", " ", "\r", "")
)

// plainChoice removes formatting, and quotation marks around the whole text.
func plainChoice(text string) string {
	text = boldTags().ReplaceAllString(choiceTags().ReplaceAllString(choiceMarks.Replace(eval.Visible(text)), "\n"), "")
	text = strings.TrimSpace(texStyle().ReplaceAllString(markdown().ReplaceAllString(text, ""), "$1"))
	if n := len(text); n > 2 && strings.ContainsAny(text[:1], `"'`) && text[n-1] == text[0] && strings.Count(text, text[:1]) == 2 {
		return text[1 : n-1]
	}
	return text
}

var (
	lineMark    = compiled(`^(?:[-•–] |\d+\. )`)
	listed      = compiled(`^[(\[]?([\pL\pN]{1,3})[).:\]]`)
	announces   = compiled(`(?i)^(?:` + theAnswer + `)(?: ` + choiceIs + `)?:?$`)
	sentEnd     = compiled(`[.!?;]\s+`)
	abbreviated = compiled(`(?i:\b(?:mr|mrs|ms|dr|st|vs|ans))\.$|^(?:\p{Lu}\. ?)+$`)
)

// units splits a text into sentences. It drops lists of the options, and joins a heading, such as "Final answer", with the line below it.
func (c choices) units(text string) (out []choiceUnit) {
	answer, reasons := explained(linesOf(text))
	answer, _ = c.withoutOptions(answer)
	reasons, options := c.withoutOptions(reasons)
	lines := slices.Concat(answer, reasons)
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		if announces().MatchString(line) && n+1 < len(lines) {
			n++
			line = strings.TrimSuffix(line, ":") + ": " + lines[n]
		}
		for i, s := range sentencesIn(line) {
			out = append(out, choiceUnit{text: s, begins: i == 0, explains: n >= len(answer)})
		}
	}
	if len(out) > 0 {
		out[0].first, out[len(out)-1].end, out[0].only = true, true, len(out) == 1
	}
	for _, line := range options {
		if hasWord(line, affirming()) && !hasWord(line, denying()) {
			out = append(out, choiceUnit{text: line, affirms: listed().FindStringSubmatch(line)[1]})
		}
	}
	return out
}

// linesOf returns the lines with a text, without marks of lists.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(lineMark().ReplaceAllString(strings.TrimSpace(line), "")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// explained splits lines at the only heading such as "Explanation:", which is left out.
func explained(lines []string) (answer, reasons []string) {
	is := explanation().MatchString
	at := slices.IndexFunc(lines, is)
	if at < 0 || slices.ContainsFunc(lines[at+1:], is) {
		return lines, nil
	}
	reasons = slices.Clone(lines[at:])
	if reasons[0] = explanation().ReplaceAllString(reasons[0], ""); reasons[0] == "" {
		reasons = reasons[1:]
	}
	return lines[:at], reasons
}

// withoutOptions leaves several lines out that begin with a letter, because they repeat the options.
func (c choices) withoutOptions(lines []string) (kept, options []string) {
	for _, line := range lines {
		if m := listed().FindStringSubmatch(line); m != nil && slices.Contains(c.letters, m[1]) {
			options = append(options, line)
		} else {
			kept = append(kept, line)
		}
	}
	if len(options) > 1 {
		return kept, options
	}
	return lines, nil
}

// sentencesIn splits a line. A period after an initial or a title ends no sentence.
func sentencesIn(line string) (out []string) {
	begin := 0
	for _, m := range sentEnd().FindAllStringIndex(line, -1) {
		if sentence := line[begin : m[0]+1]; !abbreviated().MatchString(sentence) {
			out = append(out, sentence)
			begin = m[1]
		}
	}
	if rest := strings.TrimSpace(line[begin:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

var (
	wholeBlock = compiled("(?s)^```\\w*\n(.*)\n```$")
	answerKey  = compiled(`(?i)^(?:(?:final|correct|selected|chosen)_?)?(?:answer|choice|option|letter)$`)
)

// answerMember returns the value of the only member of a JSON object whose name says that it is the answer, such as
// {"reason": ..., "answer": "B"}. Other texts are returned unchanged.
func answerMember(text string) string {
	object := strings.TrimSpace(text)
	if m := wholeBlock().FindStringSubmatch(object); m != nil {
		object = m[1]
	}
	var members map[string]any
	if !strings.HasPrefix(object, "{") || json.Unmarshal([]byte(object), &members) != nil {
		return text
	}
	var found []string
	for name, value := range members {
		if value, ok := value.(string); ok && answerKey().MatchString(name) {
			found = append(found, value)
		}
	}
	if len(found) != 1 {
		return text
	}
	return found[0]
}
