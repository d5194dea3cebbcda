package scorers

import (
	"slices"
	"strings"
	"unicode"
)

// squad is the normalization of SQuAD's official script: lower case, no ASCII punctuation, no articles; the words that
// are left.
func squad(s string) []string {
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
	return fields(b.String())
}

// wordRune is what \w stands for in Python. Combining marks are not.
func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

func compileTokenF1(a args) Scorer {
	m := a.Args.Map(overlapKeys().Names()...)
	r, ok := a.overlapRule(m)
	if !ok {
		return nil
	}
	type indexed struct {
		words []string
		*counts
	}
	index := func() []indexed {
		return mapped(r.refs, func(s string) indexed { return indexed{squad(s), newCounts(1, wordUnits(squad(s)))} })
	}
	return compileOverlap(r, index, func(refs []indexed, got string) Finding {
		words := squad(got)
		u := wordUnits(words)
		return r.each(got, func(i int) (float64, string) {
			s := overlapOf(refs[i].shared(u)[0], len(words), len(refs[i].words))
			if len(words)+len(refs[i].words) == 0 {
				s = prf{1, 1, 1} // both are nothing but articles and punctuation
			}
			return s.f, "F1 (squad words; " + s.String() + ")"
		})
	})
}

func compileExactMatch(a args) Scorer {
	if a.Args.IsMapping() {
		a.Args.Errorf("", "`exactMatch` takes a text or a list of texts, found a mapping")
		return nil
	}
	want := a.references(a.Args)
	normal := mapped(want, func(s string) string { return strings.Join(squad(s), " ") })
	return onText(fold{normalize: "none"}, func(got, _ string) Finding {
		if i := slices.Index(normal, strings.Join(squad(got), " ")); i >= 0 {
			return yes("the answer is %s (squad): %s", quote(want[i]), quote(got))
		}
		return no("expected %s (squad), got %s", quoteAny(want), quote(got))
	})
}
