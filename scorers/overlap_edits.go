package scorers

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
)

// maxEdit bounds texts whose edit distance is computed: the time grows with the product of their lengths.
const maxEdit = 20_000

// edits compares the spelling of texts.
type edits struct {
	overlapTarget
	fold    fold
	folded  []string
	longest int
	total   int // characters of all references
}

func (a args) edits(refs []string) edits {
	e := edits{overlapTarget: overlapTarget{refs: refs, least: math.Inf(-1)}, fold: a.fold()}
	for _, ref := range refs {
		text := e.fold.text(ref)
		n := utf8.RuneCountInString(text)
		e.folded = append(e.folded, text)
		e.longest, e.total = max(e.longest, n), e.total+n
	}
	return e
}

// tooLong is the finding for texts that would be too slow to compare: a failure when no reference has a length
// that can pass.
func (e edits) tooLong(text, what string, mayPass func(characters, reference int) bool) (Finding, bool) {
	n := utf8.RuneCountInString(text)
	longer := max(n, e.longest)
	switch {
	case longer <= maxEdit && n*e.total <= maxEdit*maxEdit:
		return Finding{}, false
	case !slices.ContainsFunc(e.folded, func(ref string) bool { return mayPass(n, utf8.RuneCountInString(ref)) }):
		return Uncheckable("an answer of %s is too long or too short to be near enough to %s", diag.Count(n, "character"),
			quoteAny(e.refs)), true
	case longer > maxEdit:
		return Unscored("%d characters are too many for %s; at most %d", longer, what, maxEdit), true
	}
	return Unscored(
		"%d characters are too many for %s from %d references of %d in all; at most %d", n, what, len(e.refs), e.total,
		maxEdit*maxEdit/e.total,
	), true
}

// entryThreshold is the threshold next to the kind, 0 without one.
func (a args) entryThreshold() float64 {
	if a.Threshold == nil {
		return 0
	}
	return *a.Threshold
}
