package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/journal"
)

// explainVersions says why cases of an arm changed although the suite did not: where the arm cannot be compared, as a
// part of that reason.
func explainVersions(c *compare.Comparison, arm *compare.ArmComparison) {
	words := arm.Cases.Rescore(c.Base.Run, c.Head.Run)
	switch {
	case words == "":
	case arm.Why != "":
		arm.Why += "; " + words
	case !slices.Contains(c.Warnings, words):
		c.Warnings = append(c.Warnings, words)
	}
}

// toolsOf names the versions of evalrun when each side was scored by another one, "" when both were scored by one or
// it is not known.
func toolsOf(base, head *journal.Document) string {
	b, h := base.Run.Tool, head.Run.Tool
	if b == h || b == "" || h == "" {
		return ""
	}
	return fmt.Sprintf("scored by %s and %s", b, strings.TrimPrefix(h, "evalrun "))
}
