package suite

import (
	"slices"

	"github.com/evalrun/evalrun/diag"
)

// ToolUse is a tool whose calls a scorer lists.
type ToolUse struct {
	Name string
	Pos  diag.Pos
}

// checkCalls warns of a tool that a scorer lists and no prompt of its arms declares: denied, such a scorer always passes. Applications have
// tools that the suite does not know, and so may arms without `tools`, whose answers come from elsewhere.
func (l *loader) checkCalls(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if len(sc.Needs.Tools) == 0 {
			continue
		}
		declared, known := l.declaredTools(sc)
		for _, use := range sc.Needs.Tools {
			if known && !slices.Contains(declared, use.Name) {
				l.diags.Warnf(use.Pos, diag.DidYouMean(use.Name, declared), "no prompt of this scorer declares a tool `%s`", use.Name)
			}
		}
	}
}

// declaredTools are the names of the tools on the arms of a scorer; known says that the list is complete.
func (l *loader) declaredTools(sc *Scorer) (declared []string, known bool) {
	known = true
	for _, a := range l.arms {
		if !a.Matches(sc.Arms) {
			continue
		}
		known = known && a.Target.App == nil && len(a.Prompt.Tools) > 0
		for _, t := range a.Prompt.Tools {
			declared = append(declared, t.Name)
		}
	}
	return declared, known
}
