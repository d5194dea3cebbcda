package scorers

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/textmetric"
)

// formNote explains that texts differ only in their Unicode form: at which character, and which option ignores it;
// "" otherwise. same compares both texts in that form, folded by f.
func (f fold) formNote(got string, want []string, same textTest) string {
	note, form := f.formApart(got, want, same)
	if note == "" {
		return ""
	}
	return fmt.Sprintf(" (%s; `normalize: %s` ignores it)", note, form)
}

// formsApart is formNote for a scorer without that option.
func formsApart(got string, want []string, same textTest) string {
	note, _ := fold{normalize: asWritten}.formApart(got, want, same)
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

func (f fold) formApart(got string, want []string, same textTest) (note string, form unicodeForm) {
	for _, form := range []unicodeForm{formNFC, formNFKC} {
		if f.normalize == form || f.normalize == formNFKC {
			continue
		}
		alike := f
		alike.normalize = form
		inside := alike
		inside.trim = false // white space around a searched text is significant
		text := alike.text(got)
		for _, w := range want {
			if same(text, inside.text(w)) || same(text, alike.text(w)) {
				if f.ignoreCase {
					got, w = textmetric.FoldCase(got), textmetric.FoldCase(w)
				}
				return formDifference(got, w, form), form
			}
		}
	}
	return "", ""
}

// formDifference names the first character that the two texts encode differently.
func formDifference(got, want string, name unicodeForm) string {
	form := norm.NFC
	if name == formNFKC {
		form = norm.NFKC
	}
	describe := func(shown, here, there string) string {
		return fmt.Sprintf("equal after %s normalization: %s is %s in the answer and %s in the expected text",
			strings.ToUpper(string(name)), cutText(shown), codePoints(here), codePoints(there))
	}
	inGot, inWant := variants(got, form), variants(want, form)
	for _, w := range segments(want) {
		if plain := form.String(w); inGot[plain] != "" && inGot[plain] != w {
			return describe(plain, inGot[plain], w)
		}
	}
	for _, w := range segments(want) {
		if plain := form.String(w); plain != w && !strings.Contains(got, w) && strings.Contains(got, plain) {
			return describe(plain, plain, w)
		}
	}
	for _, g := range segments(got) {
		if plain := form.String(g); plain != g && inWant[plain] != g && strings.Contains(want, plain) {
			return describe(plain, g, plain)
		}
	}
	return ""
}

// maxForms bounds the bytes of a text that are compared by character.
const maxForms = 100_000

// segments are the characters at the beginning of a text, each with its combining marks.
func segments(text string) (out []string) {
	for text = text[:min(len(text), maxForms)]; text != ""; {
		n := norm.NFC.NextBoundaryInString(text, true)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// variants maps the normal form of a text's characters to how the text writes them.
func variants(text string, form norm.Form) map[string]string {
	out := map[string]string{}
	for _, s := range segments(text) {
		out[form.String(s)] = s
	}
	return out
}

func codePoints(s string) string {
	var out []string
	for _, r := range s {
		if len(out) == 6 {
			out = append(out, "...")
			break
		}
		out = append(out, fmt.Sprintf("U+%04X", r))
	}
	return strings.Join(out, " ")
}

// slight explains that two texts differ only in what an option would ignore.
func slight(got string, want []string) string {
	for _, w := range want {
		switch {
		case strings.TrimSpace(got) == strings.TrimSpace(w):
			return " (they differ only in white space around them; `trim: true` ignores it)"
		case textmetric.FoldCase(got) == textmetric.FoldCase(w):
			return " (they differ only in upper and lower case; `ignoreCase: true` ignores it)"
		case eval.Visible(got) == eval.Visible(w):
			return fmt.Sprintf(" (they differ only in invisible characters: %s in the answer)", cmp.Or(hiddenIn(got), "none"))
		}
	}
	return ""
}

type textTest func(text, want string) bool

func equalTexts(text, want string) bool { return text == want }
