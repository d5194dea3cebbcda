package scorers

import (
	"math"
	"unicode/utf8"
)

// maxEdit bounds the texts whose distance is computed: the time grows with the
// product of their lengths.
const maxEdit = 20_000

// edits compares spellings.
type edits struct {
	rule
	fold    fold
	folded  []string
	longest int
	total   int // characters of all references
}

func (a args) edits(refs []string) edits {
	e := edits{rule: rule{refs: refs, least: math.Inf(-1)}, fold: a.fold()}
	for _, ref := range refs {
		text := e.fold.text(ref)
		n := utf8.RuneCountInString(text)
		e.folded = append(e.folded, text)
		e.longest, e.total = max(e.longest, n), e.total+n
	}
	return e
}

// tooLong is the finding for texts that would take too long to compare.
func (e edits) tooLong(text, what string) (Finding, bool) {
	n := utf8.RuneCountInString(text)
	if longer := max(n, e.longest); longer > maxEdit {
		return unscored("%d characters are too many for %s; at most %d", longer, what, maxEdit), true
	}
	if n*e.total > maxEdit*maxEdit {
		return unscored(
			"%d characters are too many for %s from %d references of %d in all; at most %d", n, what, len(e.refs), e.total,
			maxEdit*maxEdit/e.total,
		), true
	}
	return Finding{}, false
}
