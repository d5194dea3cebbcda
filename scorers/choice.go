package scorers

import (
	"slices"
	"strings"
	"unicode"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func choiceKind() Kind {
	return Kind{
		Name: "choice", Summary: "the answer chooses this letter of a multiple-choice question",
		Version: 2,
		Doc: "Takes the letter, or `{is, of}` with the letters there are (default A, B, C, D). The answer must state one " +
			"letter and no other: `B`, `(b)`, `B) Lyon`, `Answer: B`, `the answer is (B)`, `B is correct`, `I'd go with B " +
			"because A is wrong`, `not A but B`, `\\boxed{B}`, `{\"answer\": \"B\"}`, and the like in German, French and " +
			"Spanish. Sentences are read by their grammar: a letter counts when all words that connect it with the statement " +
			"are known. Letters that are denied (`B is wrong`, `the wrong answer is B`), left out (`all except B`, `rather " +
			"than B`), left open (`B or C`, `maybe B`, `if B`, `is it B?`), reported (`he says B`) or part of a name " +
			"(`hepatitis B`, `plan A`) do not count. A `final answer` counts more than an earlier one, and a correction (`no, " +
			"C`) replaces what it corrects. An answer that names no letter clearly, or several, fails and says so, and `not:` " +
			"does not turn that into a pass. The text of an option is not looked at: for that use `contains`. Letters of " +
			"other alphabets and full-width ones are other letters.",
		Example: "- choice: {is: B, of: [A, B, C, D]}", takes: yaml.Either(yaml.Text, choiceKeys().Shape()), compile: compileChoice,
	}
}

const choiceLetter lazy.Regex = `^[\pL\pN]{1,3}$`

func choiceKeys() yaml.Block {
	return yaml.Block{
		Need: []string{"is"},
		Keys: []yaml.Key{
			{Name: "is", Is: yaml.Text, Doc: "The letter."},
			{Name: "of", Is: yaml.Filled(yaml.Text), Doc: "The letters there are; A, B, C, D when not given."},
		},
	}
}

func compileChoice(a args) AnswerScorer {
	is, of := a.Args, []string{"A", "B", "C", "D"}
	if a.Args.IsMapping() {
		m := a.Args.Map(choiceKeys().Names()...)
		is = m.Need("is")
		if n := m.Get("of"); !n.IsZero() {
			of = choiceLetters(n)
		}
	}
	if is.IsZero() {
		return nil
	}
	c := choiceScorer{textOf(is), of}
	if i := foldedIndex(of, c.want); i >= 0 {
		c.want = of[i]
	} else {
		is.Errorf(
			"name the letters there are with `of: [...]`", "`%s` is not one of the choices %s", c.want, strings.Join(of, ", "),
		)
	}
	return onText(fold{normalize: formNFC}, c.scoreText)
}

type choiceScorer struct {
	want string
	of   []string
}

// maxChoiceText is the longest answer, in bytes, in which a letter is looked for. Reading takes a hundred times its memory.
const maxChoiceText = 2 << 20

func (c choiceScorer) scoreText(got, text string) Finding {
	if len(text) > maxChoiceText {
		return Unscored("the answer is longer than %d bytes: choose the part with the letter by `select`", maxChoiceText)
	}
	chosen, how := Named(text, c.of)
	switch {
	case how == "":
		return Uncheckable("the answer names none of %s, expected %s: %s", strings.Join(c.of, ", "), c.want, quote(got))
	case len(chosen) > 1:
		return Uncheckable("the answer names %s (%s), which is ambiguous; expected %s: %s", strings.Join(chosen, " and "), how,
			c.want, quote(got))
	case chosen[0] == c.want:
		return Pass("the answer chooses %s (%s)", c.want, how)
	}
	return Fail("the answer chooses %s (%s), expected %s: %s", chosen[0], how, c.want, quote(got))
}

// choiceLetters reads the letters of the choices.
func choiceLetters(n yaml.Node) []string {
	var of []string
	places := map[string]diag.Pos{}
	for _, item := range n.Items() {
		letter := textOf(item)
		first, twice := places[textmetric.FoldCase(letter)]
		switch {
		case !choiceLetter.Matches(letter) || strings.ContainsFunc(letter, unspaced):
			item.Errorf("such as A, or 1", "`%s` is not the letter of a choice: one to three letters or digits", letter)
		case twice:
			item.Errorf("remove one of them", "duplicate choice `%s`, first %s", letter, first.SeenFrom(item.Pos()))
		}
		if !twice {
			places[textmetric.FoldCase(letter)] = item.Pos()
		}
		of = append(of, letter)
	}
	if len(of) < 2 {
		n.Errorf("such as [A, B, C, D]", "`of` needs at least two letters")
	}
	return of
}

// unspaced reports characters of scripts without spaces between words.
func unspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// foldedIndex is the index of a letter in a list, ignoring case; -1 when missing.
func foldedIndex(all []string, letter string) int {
	return slices.IndexFunc(all, func(l string) bool { return textmetric.FoldCase(l) == textmetric.FoldCase(letter) })
}
