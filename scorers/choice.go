package scorers

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/shape"
	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

func choiceKind() Kind {
	return Kind{
		Name: "choice", Summary: "the answer chooses this letter of a multiple-choice question",
		Doc: "Takes the letter, or `{is, of}` with the letters there are (default A, B, C, D). The letter is looked for in this order, and " +
			"the first way that finds any counts: the whole answer (`B`, `(b)`, `B.`); " +
			"a letter that is said to be the answer (`Answer: B`, `the answer is (B)`, `B is correct`, `\\boxed{B}`, and `Antwort`, `réponse`, " +
			"`respuesta`, `答案` and the like); a letter that opens a line or stands in brackets (`B) Lyon`, " +
			"`(B)`); a letter that stands alone, in the case of `of` (`A` and `I` before another word are taken for words). Letters behind " +
			"`not` do not count. An answer that names none, or several in the same way, " +
			"fails and says so. Texts of the options are not looked at: for these use `contains`.",
		Example: "- choice: {is: B, of: [A, B, C, D]}", takes: shape.Either(shape.Text, choiceKeys().Shape()), compile: compileChoice,
	}
}

var choiceLabel = lazy.Regexp(`^[\pL\pN]{1,3}$`)

func choiceKeys() shape.Block {
	return shape.Block{
		Need: []string{"is"},
		Keys: []shape.Key{
			{Name: "is", Is: shape.Text, Doc: "The letter."},
			{Name: "of", Is: shape.Filled(shape.Text), Doc: "The letters there are; A, B, C, D when not given."},
		},
	}
}

func compileChoice(a args) Scorer {
	is, of := a.Args, []string{"A", "B", "C", "D"}
	if a.Args.IsMapping() {
		m := a.Args.Map(choiceKeys().Names()...)
		is = m.Need("is")
		if n := m.Get("of"); !n.IsZero() {
			of = labelsOf(n)
		}
	}
	if is.IsZero() {
		return nil
	}
	c := choiceCheck{textOf(is), of}
	if i := foldedIndex(of, c.want); i >= 0 {
		c.want = of[i]
	} else {
		is.Errorf("name the letters there are with `of: [...]`", "`%s` is not one of the choices %s", c.want, strings.Join(of, ", "))
	}
	return onText(fold{normalize: "nfc"}, c.check)
}

type choiceCheck struct {
	want string
	of   []string
}

func (c choiceCheck) check(got, text string) Finding {
	chosen, how := chosenLabels(text, c.of)
	switch {
	case how == "":
		return no("the answer names none of %s, expected %s: %s", strings.Join(c.of, ", "), c.want, quote(got))
	case len(chosen) > 1:
		return no("the answer names %s (%s), which is ambiguous; expected %s: %s", strings.Join(chosen, " and "), how, c.want, quote(got))
	case chosen[0] == c.want:
		return yes("the answer chooses %s (%s)", c.want, how)
	}
	return no("the answer chooses %s (%s), expected %s: %s", chosen[0], how, c.want, quote(got))
}

// labelsOf reads the letters of the choices.
func labelsOf(n yamlnode.Node) []string {
	var of []string
	for _, item := range n.Items() {
		label := textOf(item)
		switch {
		case !choiceLabel().MatchString(label) || strings.ContainsFunc(label, func(r rune) bool { return !inWord(r) }):
			item.Errorf("such as A, or 1", "`%s` is not the letter of a choice: one to three letters or digits", label)
		case foldedIndex(of, label) >= 0:
			item.Errorf("", "`%s` stands twice among the choices", label)
		}
		of = append(of, label)
	}
	if len(of) < 2 {
		n.Errorf("", "`of` needs at least two letters")
	}
	return of
}

// foldedIndex is where a label is in a list, whatever its case: -1 if it is not.
func foldedIndex(labels []string, label string) int {
	return slices.IndexFunc(labels, func(l string) bool { return textmetric.FoldCase(l) == textmetric.FoldCase(label) })
}

// mention is a place where one of the letters stands by itself.
type mention struct {
	label         string
	exact         bool // in the case in which it was given
	start, end    int
	before, after string
}

// maxMentions bounds the letters that are looked at: more are no choice.
const maxMentions = 1000

// chosenLabels are the letters that a text chooses and the way it does so.
func chosenLabels(text string, of []string) (labels []string, how string) {
	found := mentions(text, of)
	if len(found) > maxMentions {
		return []string{fmt.Sprintf("%d letters", maxMentions), "more"}, "standing alone"
	}
	for _, way := range []struct {
		how   string
		test  func(m mention) bool
		joins bool // the next label counts as well: B or C
	}{
		{"the whole answer", func(m mention) bool { return onlyMarks(m.before) && onlyMarks(m.after) }, false},
		{"said to be the answer", saidToBe, true},
		{"at the start of a line or in brackets", opens, false},
		{"standing alone", alone, false},
	} {
		for i, m := range found {
			if !way.test(m) || denied().MatchString(tailOf(m.before)) {
				continue
			}
			labels = append(labels, m.label)
			if way.joins {
				labels = append(labels, joinedLabel(text, found[i:])...)
			}
		}
		if len(labels) > 0 {
			slices.Sort(labels)
			return slices.Compact(labels), way.how
		}
	}
	return nil, ""
}

// joinedLabel is the second of the mentions, if the text joins it to the first.
func joinedLabel(text string, found []mention) []string {
	if len(found) > 1 && joined().MatchString(text[found[0].end:found[1].start]) {
		return []string{found[1].label}
	}
	return nil
}

const (
	answerWord = `(?i:answer|choice|antwort|lösung|réponse|respuesta|risposta|resposta|antwoord|ответ|答案|回答|正解|정답|الإجابة)`
	isWord     = `(?i:is|are|would be|must be|should be|has to be|ist|lautet|est|es|è|é|это|是|は|为|為|:|：|=|-|–|—|->|→)`
)

var (
	saidBefore = lazy.Regexp(
		`(?:(?:` + answerWord + `|(?i:option))\s*(?i:choice|option|letter)?(?i:\s+(?:to|for|of)\s+[^.:\n]{1,40})?[\s*_"']*` + isWord +
			`(?:[\s*_"':([{]|(?i:option|choice|letter|answer|clearly|therefore|definitely))*` +
			`|(?i:\b(?:choose|pick|select|go with)\s+(?:the\s+)?(?:option|answer|choice|letter)?)[\s*_"'([{]*` +
			`|\\boxed\{(?:\\text\{|\\textbf\{|\\mathrm\{)?[\s(]*|(?:^|\n)[\s*_#]*` + answerWord + `[\s*_"'([{]*)$`,
	)
	saidAfter = lazy.Regexp(
		`^[)\].*_"'\s]*(?i:is|ist|est|es|è)\s+(?i:definitely\s+|clearly\s+)?` +
			`(?i:the\s+)?(?i:correct|right|best|answer|richtig|correcte|correcta)\b`,
	)
	denied = lazy.Regexp(
		`(?i)(?:\b(?:not|nor|neither|never|nicht|pas)|n['’]t(?: be)?)[\s*_"'(]*(?:option|choice|answer|letter)?[\s*_"'(]*$`,
	)
	joined      = lazy.Regexp(`^[)\]}*_"'\s]*(?:,|/|&|\+|(?i:and|or|und|oder|et|ou|y|o)\s)[\s,(*_"'\[]*(?i:and|or)?[\s(*_"'\[]*$`)
	conjunction = lazy.Regexp(`^ +(?i:and|or|nor|und|oder|et|ou|y|o|is|was)\b`)
	suffixed    = lazy.Regexp(`^'\pL`) // A's
	opensLine   = lazy.Regexp(`(?:^|\n)[\s*_>#"'(\[-]*$`)
)

// saidToBe: the words around it say that this is the answer.
func saidToBe(m mention) bool {
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(m.after, "*_\"'"))
	if !m.exact && m.after != "" && !strings.ContainsRune(").],:;}\r\n", next) {
		return false // "the answer is a dog"
	}
	return saidBefore().MatchString(tailOf(m.before)) || m.exact && saidAfter().MatchString(headOf(m.after))
}

// opens: it opens a line, with a mark behind it, or stands in brackets.
func opens(m mention) bool {
	after := strings.TrimLeft(m.after, "*_")
	bracketed := strings.HasSuffix(m.before, "(") && strings.HasPrefix(after, ")") ||
		strings.HasSuffix(m.before, "[") && strings.HasPrefix(after, "]")
	if bracketed {
		return true
	}
	marked := after == "" || strings.ContainsRune(".):]\r\n", rune(after[0]))
	return marked && opensLine().MatchString(tailOf(m.before))
}

// alone: it stands by itself, as it was given, and is no word of English.
func alone(m mention) bool {
	if !m.exact {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(m.after, " "))
	if conjunction().MatchString(headOf(m.after)) {
		return true
	}
	return m.label != "A" && m.label != "I" || !strings.HasPrefix(m.after, " ") || !unicode.IsLetter(next)
}

// mentions are the places where a letter stands with no letter, digit or mark beside it.
func mentions(text string, of []string) []mention {
	folded := make([]string, len(of))
	for i, l := range of {
		folded[i] = textmetric.FoldCase(l)
	}
	var out []mention
	for start := 0; start < len(text) && len(out) <= maxMentions; {
		r, n := utf8.DecodeRuneInString(text[start:])
		if !inWord(r) {
			start += n
			continue
		}
		end := start + strings.IndexFunc(text[start:], func(r rune) bool { return !inWord(r) })
		if end < start {
			end = len(text)
		}
		word := strings.TrimRight(text[start:end], "-’")
		at := start + len(word)
		word = strings.TrimLeft(word, "-’")
		if i := slices.IndexFunc(folded, func(l string) bool { return len(word) <= 16 && l == textmetric.FoldCase(word) }); i >= 0 &&
			!suffixed().MatchString(text[at:]) {
			out = append(out, mention{of[i], of[i] == word, at - len(word), at, text[:at-len(word)], text[at:]})
		}
		start = end
	}
	return out
}

// inWord tells the characters of a word, with what joins two parts of it.
func inWord(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return false // these are written without spaces
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '-' || r == '’' || r == '\u200d'
}

// onlyMarks: no letter and no digit.
func onlyMarks(s string) bool {
	return len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.L, unicode.N) })
}

// tailOf and headOf are what stands near.
func tailOf(s string) string {
	at := max(0, len(s)-80)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

func headOf(s string) string { return s[:min(len(s), 80)] }
