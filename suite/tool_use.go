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

// checkCalls warns about a tool that a scorer lists and no prompt of its arms declares. A scorer that forbids such a tool
// would always pass. Applications have tools that the suite does not know. So may arms without `tools`, if their answers
// come from elsewhere.
func (l *loader) checkCalls(c *Case, arm Arm) {
	for _, sc := range c.ScorersFor(arm) {
		if len(sc.Needs.Tools) == 0 {
			continue
		}
		declared, known := l.declaredTools(sc)
		for _, use := range sc.Needs.Tools {
			if known && !slices.Contains(declared, use.Name) {
				hint := diag.DidYouMean(use.Name, declared)
				l.diags.Warnf(use.Pos, hint, "no prompt of this scorer declares a tool `%s`", use.Name)
			}
		}
	}
}

// declaredTools returns the names of the tools on the arms of a scorer. When known is false, there may be more.
func (l *loader) declaredTools(sc *Scorer) (declared []string, known bool) {
	known = true
	for _, a := range l.arms {
		if !a.Matches(sc.Arms) {
			continue
		}
		known = known && a.Target.App() == nil && len(a.Prompt.Tools) > 0
		for _, t := range a.Prompt.Tools {
			declared = append(declared, t.Name)
		}
	}
	return declared, known
}
