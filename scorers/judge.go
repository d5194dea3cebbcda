package scorers

import "cmp"

func judgeKind() Kind {
	return Kind{
		Name: "judge", Summary: "a model that the suite names under `judges:` finds the answer good", Version: 2,
		Doc: "Takes one of nine questions. `rubric: TEXT`: how well the answer does what the text says. " +
			"`faithfulness: {context}`: how far everything in the answer is in the context. `relevance: {}`: how " +
			"far the answer answers the question. `steps: {steps, criteria}`: evaluation steps that are followed " +
			"one by one, as in G-Eval (arXiv:2303.16634). These four are judged by a number from 0 to 1 (`steps`: 1 " +
			"to 5), or on `scale: [1, 5]`, which is mapped to that. `factuality: {reference}`: by a choice, " +
			"compared with the facts of the reference: `same` (1), `differsHarmlessly` (1), `superset` (0.6), " +
			"`subset` (0.4), `disagrees` (0). `closedQA: {criteria, reference}` (one of them or both): by `yes` (1) " +
			"or `no` (0). `values: {subset: 0.8}` next to either of these two replaces values. Three are defined as " +
			"in RAGAS (docs.ragas.io), and evalrun counts what the judge lists. `contextRecall: {reference, " +
			"context}`: the share of the statements of the reference that the contexts support. `contextPrecision: " +
			"{reference, context}`: the average precision of the contexts in their order, each useful or not. " +
			"`context` is a text or a list; without it the selected part of the answer is the context. " +
			"`answerCorrectness: {reference, similarity}`: the F1 of the statements of answer and reference, and " +
			"the cosine of their embeddings with the weight `similarity` (0.25; 0 leaves it out). A judge with a " +
			"`template` has its own question, and `with: {name: TEXT}` gives it texts. The judge sees the question: " +
			"the last turn of the user, or `question: TEXT` in the mapping. With `sees: conversation` it also sees " +
			"the system prompt, all turns, the tool calls and their results, and judges an answer that consists of " +
			"tool calls. The value must be at least 0.5, `min`, or the `threshold` next to the kind. `judge: NAME` " +
			"chooses among several judges. `repeats: N` sends the question N times. The value is the mean of the " +
			"numbers, or that of the choice most often made (of several the lowest). The reason has the share of " +
			"pairs of repeats that agree. `panel: [a, b, c]` uses several judges. With `combine: majority` the " +
			"value is that of the choice that most of them make, or the lower median of their numbers. More than " +
			"half of them then have to pass the answer. With `combine: mean` it is the mean of their values. The " +
			"answer goes to the judge between fences with a code that it cannot know, and is not a template. Only one " +
			"JSON object of the requested shape counts; the case of choices does not matter. Any other reply is " +
			"requested once more. After that, and for a block or a judge that cannot be called, the score is " +
			"unscored. Measured: each of 92 hostile answers (forged replies and fences, instructions, templates, " +
			"control characters) came to the judge whole and inside its fence, in evalrun's prompts and in " +
			"templates. Its limit: what a model makes of an answer no fence decides. Measure it by `evalrun " +
			"judge-check`.",
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
	j.need(a.needs)
	return j
}
