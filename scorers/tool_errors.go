package scorers

import (
	"fmt"

	"github.com/evalrun/evalrun/diag"
)

func toolErrorsKind() Kind {
	return Kind{
		Name: "toolErrors", Summary: "this number of tool calls ended in an error",
		Doc: "Takes `{max}` (and `min`), or the largest number alone. It counts results that the suite gave to the model as an " +
			"error: a command of `toolResults` that failed, or a template that could not be filled in. Of a program with `models` " +
			"it counts the results that it sent as errors (`is_error`, or JSON with `error` or `isError`). Not for other " +
			"applications.",
		Example: "- toolErrors: {max: 0}", takes: countBounds(), compile: compileToolErrors,
	}
}

func compileToolErrors(a args) AnswerScorer {
	a.needs.Model = a.Kind
	s := countOf(a)
	return Func(func(a *Answer) Finding {
		n, shown := 0, ""
		for _, r := range a.toolResults() {
			if !r.Failed {
				continue
			}
			if n++; n <= maxShownCalls {
				shown += fmt.Sprintf("; %s: %s", visibleText(r.Name), quote(r.Text))
			}
		}
		if s.holds(float64(n)) {
			return Pass("%s%s", diag.Count(n, "tool error"), shown)
		}
		return Fail("%s, expected %s%s", diag.Count(n, "tool error"), s, shown)
	})
}
