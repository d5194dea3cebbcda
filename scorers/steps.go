package scorers

import "github.com/evalrun/evalrun/diag"

func stepsKind() Kind {
	return Kind{
		Name: "steps", Summary: "the answer took this number of calls of the model",
		Doc: "Takes `{max}` (and `min`), or the largest number alone. A step is one call of the model, over all turns of a live " +
			"chat or those of the chosen `turn`: with `toolResults`, each answer with calls is one, and so is the last answer. " +
			"`maxSteps` of a prompt bounds them. Of a program with `models` it counts the calls that a model answered. Not for " +
			"other applications.",
		Example: "- steps: {max: 4}", takes: countBounds(), compile: compileSteps,
	}
}

func compileSteps(a args) AnswerScorer {
	a.needs.Model = a.Kind
	s := countOf(a)
	return Func(func(a *Answer) Finding {
		n := a.stepCount()
		if s.holds(float64(n)) {
			return Pass("%s", diag.Count(n, "step"))
		}
		return Fail("%s, expected %s", diag.Count(n, "step"), s)
	})
}
