package scorers

import (
	"fmt"
	"math"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/shape"
)

func stepsKind() Kind {
	return Kind{
		Name: "steps", Summary: "the answer took this number of calls of the model",
		Doc: "Takes `{max}` (and `min`), or the largest number alone. A step is one call of the model, and " +
			"`maxSteps` bounds them. Where the suite answers tool calls (`toolResults`), each answer with calls is " +
			"a step and the last answer is one more. In a live chat the steps of all turns count, or those of the " +
			"`turn` that is chosen. An answer of one call, and one of an application, is one step.",
		Example: "- steps: {max: 4}", takes: countBounds(), compile: compileSteps,
	}
}

func toolErrorsKind() Kind {
	return Kind{
		Name: "toolErrors", Summary: "this number of tool calls ended in an error",
		Doc: "Takes `{max}` (and `min`), or the largest number alone. What counts are the results that the suite gave to the model as an " +
			"error: a command of `toolResults` that failed, or a template that could not be filled in.",
		Example: "- toolErrors: {max: 0}", takes: countBounds(), compile: compileToolErrors,
	}
}

func countBounds() shape.Shape { return shape.Either(naturalNumber(), boundsKeys().Shape()) }

// countOf reads the bounds of a count: a mapping, or the largest number alone.
func countOf(a args) span {
	if !a.Args.IsMapping() {
		return span{max: new(float64(a.Args.Int(0, math.MaxInt32)))}
	}
	s := spanOf(a.Args.Map(boundsKeys().Names()...))
	if s.min == nil && s.max == nil {
		a.Args.Errorf("such as {max: 3}", "`%s` needs max or min", a.Kind)
	}
	return s
}

func compileSteps(a args) Scorer {
	s := countOf(a)
	return Func(func(a *Answer) Finding {
		n := a.stepCount()
		if s.holds(float64(n)) {
			return yes("%s", diag.Count(n, "step"))
		}
		return no("%s, expected %s", diag.Count(n, "step"), s)
	})
}

func compileToolErrors(a args) Scorer {
	s := countOf(a)
	return Func(func(a *Answer) Finding {
		n, shown := 0, ""
		for i := range a.Turns {
			for _, r := range a.Turns[i].Results {
				if !r.Failed {
					continue
				}
				if n++; n <= maxShownCalls {
					shown += fmt.Sprintf("; %s: %s", visibleText(r.Name), quote(r.Text))
				}
			}
		}
		if s.holds(float64(n)) {
			return yes("%s%s", diag.Count(n, "tool error"), shown)
		}
		return no("%s, expected %s%s", diag.Count(n, "tool error"), s, shown)
	})
}
