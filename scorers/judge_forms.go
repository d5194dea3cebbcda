package scorers

// formNames are the questions to a judge, in the order of the docs.
func formNames() []string {
	return []string{
		"rubric", "factuality", "closedQA", "faithfulness", "relevance", "contextRecall", "contextPrecision",
		"answerCorrectness", "steps", "goal",
	}
}

func forms() map[string]questionForm {
	return map[string]questionForm{
		"rubric": {
			task:  "Say how well the answer satisfies the rubric.",
			reply: shareReply("it does not satisfy it at all; it satisfies it fully"),
		},
		"factuality": {
			task: "Compare the facts in the answer with the facts in the reference, which is taken to be right. Leave style, " +
				"grammar and punctuation aside.",
			needs: []string{"reference"},
			reply: choiceReply{
				{"same", "it states the same facts as the reference", 1},
				{"differsHarmlessly", "it differs, but not in anything that matters for being right", 1},
				{"superset", "it states all facts of the reference and more, and contradicts none", 0.6},
				{"subset", "it states a part of the facts of the reference and contradicts none", 0.4},
				{"disagrees", "it contradicts the reference", 0},
			},
		},
		"closedQA": {
			task: "Say whether the answer is right: it must meet the criteria, where they are given, and say what the " +
				"reference says, where one is given.",
			needs: []string{"criteria", "reference"},
			reply: choiceReply{{"yes", "the answer is right", 1}, {"no", "it is not", 0}},
		},
		"faithfulness": {
			task: "Say how far the answer is faithful to the context: what share of its statements stands in the context or " +
				"follows from it. What is true but not in the context is not faithful.",
			needs: []string{"context"}, reply: shareReply("nothing in it is borne out by the context; everything is"),
		},
		"relevance": {
			task: "Say how relevant the answer is to the question: whether it answers what was asked, fully and without going " +
				"elsewhere. Leave aside whether it is right.",
			reply: shareReply("it has nothing to do with the question; it answers just that"),
		},
		"contextRecall":     contextRecall(),
		"contextPrecision":  contextPrecision(),
		"answerCorrectness": answerCorrectness(),
		"steps":             stepwise(),
		"goal":              goalForm(),
	}
}

// contextRecall is RAGAS's context recall: the share of the statements of the reference that the context supports.
// See docs.ragas.io, "Context Recall"; Es et al., RAGAS, EACL 2024 demo, arXiv:2309.15217, describe the framework.
// RAGAS, too, gets all statements in one request and does not look at the answer.
func contextRecall() questionForm {
	return questionForm{
		given: "Another system searched for texts that help to answer a question, and found the contexts.",
		task: "Split the reference into its statements, and say of each whether the contexts support it: it is in them or " +
			"follows from them. What is true but not in the contexts is not supported.",
		needs: []string{"reference"}, also: []string{contextPart}, lists: []string{contextPart}, noAnswer: true,
		reply: supportedTally(),
	}
}

// contextPrecision is RAGAS's context precision: average precision, the mean over the useful contexts of the share of
// useful ones among those up to it. It is sum(precision@k × useful(k)) / number of useful contexts, 0 without any
// (docs.ragas.io, "Context Precision"). RAGAS sends one request for each context; here one has them all.
func contextPrecision() questionForm {
	return questionForm{
		given: "Another system searched for texts that help to answer a question, and found the contexts.",
		task: "Say of each context whether it was useful for arriving at the reference, or, where there is no reference, " +
			"at the answer.",
		needs: []string{"reference", contextPart}, lists: []string{contextPart}, reply: usefulTally(),
	}
}

// answerCorrectness is RAGAS's answer correctness (docs.ragas.io, "Answer Correctness"). It is the F1 of statements,
// TP / (TP + (FP + FN) / 2), and the cosine of the embeddings of answer and reference, weighted .75 and .25. RAGAS
// splits both texts into statements in requests of their own; here one request does it all.
func answerCorrectness() questionForm {
	return questionForm{
		task: "Split the answer and the reference into their statements. The reference is taken to be right. Each " +
			"statement is in one list: those of the answer that the reference supports in `both`, the other ones of the " +
			"answer in `answerOnly`, and those of the reference that the answer does not state in `referenceOnly`.",
		needs: []string{"reference"}, reply: correctTally(), similarity: 0.25,
	}
}

// stepwise is the form of G-Eval (Liu et al., EMNLP 2023, arXiv:2303.16634): criteria, evaluation steps that are
// followed one by one, and a score from 1 to 5. The paper weighs scores with the probabilities of their tokens, and
// estimates these by the mean of 20 samples at temperature 1 where a service gives none: that is `repeats: 20`.
func stepwise() questionForm {
	return questionForm{
		task: "Follow the evaluation steps one after the other. Then say how well the answer does by the criteria, where " +
			"they are given, and by what the steps came to.",
		needs: []string{"steps"}, also: []string{"criteria"}, lists: []string{"steps"},
		reply: scoreReply{low: 1, high: 5, ends: "worst; best"}, reason: "what each step came to, in order and in a few words",
	}
}

// goalForm is like RAGAS's agent goal accuracy with a reference, which is 1 or 0 (docs.ragas.io, "Agent Goal Accuracy").
func goalForm() questionForm {
	return questionForm{
		given: "Another system worked towards a goal, with tools, and gave an answer, which you judge. " + shownConversation +
			" A status says how a call, or all of it, ended. Texts may be cut in the middle.",
		task: "Say whether it has reached the goal. Go by what was done and what came back: that the answer claims something is no proof " +
			"that it was done.",
		conversation: true, trajectory: true,
		reply: choiceReply{{"reached", "the goal is reached", 1}, {"missed", "it is not, or not fully, or nothing shows it", 0}},
	}
}

// JudgeChoices are the words that judges can choose, over all questions.
func JudgeChoices() []string {
	var out []string
	for _, name := range formNames() {
		form := forms()[name]
		out = append(out, form.choices().words()...)
	}
	return out
}
