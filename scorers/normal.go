package scorers

import (
	"slices"

	"github.com/evalrun/evalrun/internal/lazy"
)

// normal joins the letters of a sentence and removes commas around adverbs. A "no" between marks becomes a
// correction.
func (s sentence) normal() sentence {
	all := slices.Clone(s.lexemes)
	for _, m := range ownNo.Regexp().FindAllStringSubmatchIndex(s.classes(), -1) {
		all[m[2]].class = waitWord
	}
	s.lexemes = joinedLetters(withoutAsides(all))
	return s
}

// withoutAsides removes the commas around adverbs: the answer, therefore, is B.
func withoutAsides(all []lexeme) []lexeme {
	drop := map[int]bool{}
	classes := sentence{lexemes: all}.classes()
	for _, aside := range []lazy.Regex{adverbs, contrast} {
		for _, m := range aside.Regexp().FindAllStringSubmatchIndex(classes, -1) {
			drop[m[2]], drop[m[6]] = true, true
			for i := m[4]; i < m[5]; i++ {
				drop[i] = all[i].class == butWord
			}
		}
	}
	var out []lexeme
	for i, l := range all {
		if !drop[i] {
			out = append(out, l)
		}
	}
	return out
}

// joinedLetters makes one lexeme of several letters: A, B and C.
func joinedLetters(all []lexeme) []lexeme {
	var out []lexeme
	for i := 0; i < len(all); i++ {
		l := all[i]
		for n := joinedAt(out, all[i:]); n > 0; n = joinedAt(out, all[i:]) {
			l = lexeme{class: joined, choices: append(slices.Clone(l.choices), all[i+n].choices...)}
			i += n
		}
		out = append(out, l)
	}
	return out
}

// joinedAt returns the distance to the letter that is joined to the one at the beginning of rest; 0 if
// there is none.
func joinedAt(before, rest []lexeme) int {
	if rest[0].choices == nil {
		return 0
	}
	classes := sentence{lexemes: rest[1:min(9, len(rest))]}.classes()
	m := joinsNext.Regexp().FindStringSubmatchIndex(classes)
	if m == nil {
		return 0
	}
	intro, joint, next := sentence{lexemes: before}.classes(), classes[:m[2]], classes[m[3]:]
	if joint == "," && takenOut.Matches(intro) || saidAlready.Matches(intro) && ownClause.Matches(joint+"|"+next) {
		return 0 // unlike B, A ...; the answer is A, and B is wrong
	}
	return m[3]
}
