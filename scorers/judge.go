package scorers

import "cmp"

func judgeKind() Kind {
	return Kind{
		Name: "judge", Summary: "a model that the suite names under `judges:` finds the answer good", Version: 2,
		Doc: "Takes one of ten questions.\n\n" +
			"- By a number from 0 to 1, or on `scale: [1, 5]`: `rubric: TEXT`, `faithfulness: {context}`, `relevance: {}`, `steps: " +
			"{steps, criteria}` (1 to 5).\n" +
			"- By a choice: `factuality: {reference}` and `closedQA: {criteria, reference}`, where `values: {subset: 0.8}` " +
			"replaces what a choice is worth, and `goal: TEXT`, whether an agent reached it by all that it did.\n" +
			"- By counting what the judge lists: `contextRecall: {reference, context}`, `contextPrecision: {reference, context}`, " +
			"`answerCorrectness: {reference, similarity}`.\n\n" +
			"A judge with a `template` has its own question, and `with: {name: TEXT}` gives it texts. The value must be at least " +
			"0.5, `min`, or the `threshold` next to the kind. `judge: NAME` chooses among several judges, `panel: [a, b, c]` with " +
			"`combine: majority | mean` uses several, `repeats: N` sends the question N times, `question: TEXT` replaces the last " +
			"turn of the user, and `sees: conversation` shows all turns and tool calls.\n\n" +
			"`evalrun help judge-questions` has all keys and rules.",
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
