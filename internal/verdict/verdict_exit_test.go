package verdict

import (
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/option"
)

// No verdict, or an unknown one, is no reason to pass where a rule wants a verdict.
func TestOnlyKnownVerdictsPass(t *testing.T) {
	t.Parallel()
	for v, want := range map[eval.Verdict]int{
		eval.Improved: exit.CodeOK, eval.NotWorse: exit.CodeOK, eval.Regressed: exit.CodeFailed,
		eval.Inconclusive: exit.CodeInconclusive, eval.Invalid: exit.CodeIncomplete, "": exit.CodeIncomplete, "better": exit.CodeIncomplete,
	} {
		if got := verdictExit(v, option.OnFail); got != want || holdsUp(v, option.OnFail) != (want == exit.CodeOK) {
			t.Errorf("%q: exit %d, want %d", v, got, want)
		}
		c := &compare.Comparison{Arms: []compare.ArmComparison{{Verdict: v}}}
		if got := Exit(c, &option.BaselineRule{}); got != want {
			t.Errorf("comparison with %q: exit %d, want %d", v, got, want)
		}
	}
	if got := verdictExit("", option.OnPass); got != exit.CodeIncomplete {
		t.Errorf("no verdict, where inconclusive ones pass: exit %d, want %d", got, exit.CodeIncomplete)
	}
	if got := Exit(&compare.Comparison{}, nil); got != exit.CodeOK {
		t.Errorf("a comparison without a rule: exit %d, want 0", got)
	}
}
