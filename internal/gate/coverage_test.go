package gate

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// An export of version 0.1 does not say what it left out: it has a verdict only while the run has about as many cases.
func TestTheCoverageOfAnOldExportIsUnknown(t *testing.T) {
	t.Parallel()
	exported := func(r *eval.Run) { r.CommandOptions = nil }
	base := runOf(t, "base", exported, chosen("a", 20)...)
	for name, test := range map[string]struct {
		letters string
		each    int
		why     string
	}{
		"as many cases":       {"a", 20, ""},
		"few more":            {"a", 22, ""},
		"more than minPaired": {"a", 23, "coverage unknown"},
		"many more":           {"ab", 20, "coverage unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen(test.letters, test.each)...), byRule(passRule(0.3))))
			if !strings.HasPrefix(c.Why, test.why) || test.why == "" && c.Why != "" {
				t.Errorf("got %q, want %q", c.Why, test.why)
			}
			expect.Same(t, "coverage", strings.Contains(c.Cases.Coverage(), "coverage unknown"), true)
		})
	}
}

// A run of version 0.1 with a selection records it, and not what it left out.
func TestTheCoverageOfAnOldSelectionIsUnknown(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", func(r *eval.Run) { r.CommandOptions.Tags = []string{"tag-a"} }, chosen("a", 20)...)
	c := onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen("ab", 20)...), byRule(passRule(0.3))))
	expect.Same(t, "verdict", c.Verdict, eval.Invalid)
	c = onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen("a", 20)...), byRule(passRule(0.3))))
	expect.Same(t, "why, with the same cases", c.Why, "")
}
