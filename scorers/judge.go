package scorers

import "cmp"

func judgeKind() Kind {
	return Kind{
		Name: "judge", Summary: "a model that the suite names under `judges:` finds the answer good", Version: 2,
		Doc: "Takes one of ten questions: `rubric: TEXT`, `steps: {steps, criteria}`, `faithfulness: {context}`, `relevance: {}`, " +
			"`factuality: {reference}`, `closedQA: {criteria, reference}`, `goal: TEXT`, `contextRecall: {reference, context}`, " +
			"`contextPrecision: {reference, context}` or `answerCorrectness: {reference, similarity}`. A judge with a `template` " +
			"has its own question. The value must be at least 0.5, `min`, or the `threshold` next to the kind. `evalrun help " +
			"judge-questions` has all keys and rules.",
		Example: "- judge:\n    rubric: The answer names the capital of France and nothing else.\n    repeats: 3\n  threshold: 0.8",
		takes:   judgeShape(), compile: compileJudge,
	}
}

func compileJudge(a args) AnswerScorer {
	m := a.Args.Map(judgeKeys().Names()...)
	if !a.Args.IsMapping() {
		return nil
	}
	j := &judgeScorer{
		judges: a.judges(m), repeats: cmp.Or(m.Get("repeats").Int(1, maxJudgeRepeats), 1), least: a.passMark(m),
	}
	ok := j.readQuestion(a, m)
	j.readCombine(m)
	if !ok || len(j.judges) == 0 {
		return nil
	}
	j.warnOfRepeats(m)
	if j.similarity > 0 {
		a.needs.References = append(a.needs.References, j.reference())
	}
	if j.trajectory {
		a.needs.Model = "goal"
	}
	j.need(a.needs)
	return j
}
