package gate

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
)

// No verdict, or an unknown one, is no reason to pass where a rule wants a verdict.
func TestOnlyKnownVerdictsPass(t *testing.T) {
	t.Parallel()
	for v, want := range map[eval.Verdict]int{
		eval.Improved: eval.CodeOK, eval.NotWorse: eval.CodeOK, eval.Regressed: eval.CodeFailed,
		eval.Inconclusive: eval.CodeInconclusive, eval.Invalid: eval.CodeIncomplete, "": eval.CodeIncomplete, "better": eval.CodeIncomplete,
	} {
		if standing, got := decided(v, eval.OnFail); got != want || standing.Holds() != (want == eval.CodeOK) {
			t.Errorf("%q: exit %d, want %d", v, got, want)
		}
		c := &compare.Comparison{Arms: []compare.ArmComparison{{Verdict: v}}}
		if got := Exit(c, &eval.BaselineRule{}); got != want {
			t.Errorf("comparison with %q: exit %d, want %d", v, got, want)
		}
	}
	if _, got := decided("", eval.OnPass); got != eval.CodeIncomplete {
		t.Errorf("no verdict, where inconclusive ones pass: exit %d, want %d", got, eval.CodeIncomplete)
	}
	if got := Exit(&compare.Comparison{}, nil); got != eval.CodeOK {
		t.Errorf("a comparison without a rule: exit %d, want 0", got)
	}
}
