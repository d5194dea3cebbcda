package scorers

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/textmetric"
	"github.com/evalrun/evalrun/internal/yaml"
)

func choiceKind() Kind {
	return Kind{
		Name: "choice", Summary: "the answer chooses this letter of a multiple-choice question",
		Version: 3,
		Doc: "Takes the letter, or `{is, of}` with the letters there are (A, B, C, D), perhaps with their texts: `of: {A: Paris, B: " +
			"Lyon}`. [Which forms are read](#which-forms-are-read) lists how the answer may name it, such as `B) Lyon` or `Answer: " +
			"B`. Otherwise it is unscored: ask for a last line `Answer: X` in the prompt, choose the part with the letter by " +
			"`select`, or use a judge. Letters of other alphabets and full-width ones are other letters.",
		Example: "- choice: {is: B, of: [A, B, C, D]}", takes: yaml.Either(yaml.Text, choiceKeys().Shape()), compile: compileChoice,
	}
}

var choiceLetter = compiled(`^[\pL\pN]{1,3}$`)

var choiceKeys = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"is"},
		Keys: []yaml.Key{
			{Name: "is", Is: yaml.Text, Doc: "The letter."},
			{
				Name: "of", Is: yaml.Either(yaml.Filled(yaml.Text), optionTexts),
				Doc: "The letters there are, perhaps with the texts of the options; A, B, C, D when not given.",
			},
		},
	}
})

// optionTexts is the shape of the texts of at least two options.
func optionTexts(templates bool) yaml.Schema {
	out := maps.Clone(yaml.MapShape(yaml.Text)(templates))
	out["minProperties"] = 2
	return out
}

func compileChoice(a args) AnswerScorer {
	is, of := a.Args, choices{letters: []string{"A", "B", "C", "D"}}
	if a.Args.IsMapping() {
		m := a.Args.Map(choiceKeys().Names()...)
		is = m.Need("is")
		if n := m.Get("of"); !n.IsZero() {
			of = readChoices(n)
		}
	}
	if is.IsZero() {
		return nil
	}
	c := choiceScorer{textOf(is), of}
	if i := foldedIndex(of.letters, c.want); i >= 0 {
		c.want = of.letters[i]
	} else {
		is.Errorf(
			"name the letters there are with `of: [...]`", "`%s` is not one of the choices %s", c.want, strings.Join(of.letters, ", "),
		)
	}
	return onText(fold{normalize: formNFC}, c.scoreText)
}

type choiceScorer struct {
	want string
	of   choices
}

// maxChoiceText is the longest answer, in bytes, in which a letter is looked for.
const maxChoiceText = 2 << 20

// choiceHint says what to do about an answer that names no letter in one of the forms.
const choiceHint = "ask for a last line `Answer: X` in the prompt, choose the part with the letter by `select`, or use a judge"

func (c choiceScorer) scoreText(got, text string) Finding {
	if len(text) > maxChoiceText {
		return Unscored("the answer is longer than %d bytes: choose the part with the letter by `select`", maxChoiceText)
	}
	r := c.of.read(text)
	switch {
	case len(r.letters) == 0:
		return Unscored("the answer names none of %s in a form that is read: %s: %s", strings.Join(c.of.letters, ", "), choiceHint, quote(got))
	case len(r.letters) > 1:
		return Unscored("the answer names %s: %s: %s", strings.Join(r.letters, " and "), choiceHint, quote(got))
	case r.doubt:
		return Unscored("the answer names %s (%s) with words that may take it back: %s: %s", r.letters[0], r.how, choiceHint, quote(got))
	case r.letters[0] == c.want:
		return Pass("the answer chooses %s (%s)", c.want, r.how)
	}
	return Fail("the answer chooses %s (%s), expected %s: %s", r.letters[0], r.how, c.want, quote(got))
}

// readChoices reads the letters of the choices: a list, or a mapping with the texts of the options.
func readChoices(n yaml.Node) choices {
	c := choices{texts: map[string]string{}}
	places := map[string]diag.Pos{}
	add := func(item yaml.Node, letter, text string) {
		first, twice := places[textmetric.FoldCase(letter)]
		switch {
		case !choiceLetter().MatchString(letter) || strings.ContainsFunc(letter, unspaced):
			item.Errorf("such as A, or 1", "`%s` is not the letter of a choice: one to three letters or digits", letter)
		case twice:
			item.Errorf("remove one of them", "duplicate choice `%s`, first %s", letter, first.SeenFrom(item.Pos()))
		}
		if !twice {
			places[textmetric.FoldCase(letter)] = item.Pos()
		}
		c.letters, c.texts[letter] = append(c.letters, letter), sameText(text)
	}
	if n.IsMapping() {
		for e := range n.Map().Entries() {
			add(e.Key, e.Key.Str(), textOf(e.Value))
		}
	} else {
		for _, item := range n.Items() {
			add(item, textOf(item), "")
		}
	}
	if len(c.letters) < 2 {
		n.Errorf("such as [A, B, C, D]", "`of` needs at least two letters")
	}
	return c
}

// unspaced reports characters of scripts without spaces between words.
func unspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// foldedIndex is the index of a letter in a list, ignoring case; -1 when missing.
func foldedIndex(all []string, letter string) int {
	return slices.IndexFunc(all, func(l string) bool { return textmetric.FoldCase(l) == textmetric.FoldCase(letter) })
}
