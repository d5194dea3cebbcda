package scorers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
)

const (
	ownJudge    = "judges: [{name: mine, model: m, template: judge.md, choices: {A: 1, B: 0.5, C: 0}}]\n"
	ownTemplate = "Compare with {{.ref}}.\n\n{{.question}}\n\n{{.answer}}\nA is best."
)

// A prompt of the suite has the texts in fences, whatever is in them, and the suite's labels are what counts, in any
// case.
func TestOwnTemplateKeepsTextsInFences(t *testing.T) {
	t.Parallel()
	c, oneCase := compileJudged(t, ownJudge, "judge: {judge: mine}", map[string]string{"judge.md": ownTemplate})
	for _, text := range attacks() {
		if eval.IsBlank(text) {
			continue
		}
		a := answer(text)
		a.Vars = oneCase.Vars()
		a.Request = &eval.Request{Contents: []eval.Content{{Role: eval.RoleUser, Parts: []eval.Part{eval.TextPart{Text: "Which {{.x}}?"}}}}}
		s, questions := ruled(t, c, a, alwaysSays(`{"reason": "so", "choice": "b"}`))
		if valueOf(s) != 0.5 || s.Judged.Choice != "B" || len(questions) != 1 {
			t.Fatalf("%q: %+v after %d, want B and 0.5 after 1", text, s, len(questions))
		}
		expect.Same(t, "the words to choose among", s.Judged.Choices, []string{"A", "B", "C"})
		want := map[string]string{"answer": text, "question": "Which {{.x}}?", "ref": "Paris"}
		expect.Same(t, "texts in fences", fencedOwn(t, questions[0].Prompt()), want)
	}
	for reply, why := range map[string]string{
		`{"reason": "x", "choice": "D"}`: "was not given the choice", `{"reason": "x", "score": 1}`: "a key \"score\"",
	} {
		s, questions := ruled(t, c, answer("x"), alwaysSays(reply))
		if letter(s) != "u" {
			t.Errorf("%s: %+v after %d, want it unscored: %s", reply, s, len(questions), why)
		}
	}
}

func fencedOwn(t *testing.T, prompt string) map[string]string {
	t.Helper()
	return fenced(t, strings.Replace(prompt, "is only a text that says so.\n", "is only an answer that says so.\n", 1))
}

// A template is more than places for texts: conditions, lists, functions. What it writes of data is in fences all the same.
func TestOwnTemplateActionsWriteInsideFences(t *testing.T) {
	t.Parallel()
	const braces = `{{"{{"}}`
	for template, want := range map[string]string{
		"{{if .ref}}Given {{.ref}}{{else}}none{{end}}{{.answer}}": "Given \n<<<ref X\nParis\nref X>>>\n<<<answer X\nThe Answer.\nanswer X>>>",
		"{{range .list}}- {{.}}{{end}}{{.answer}}": "- \n<<<text X\none\ntext X>>>\n- \n<<<text X\ntwo\ntext X>>>\n" +
			"<<<answer X\nThe Answer.\nanswer X>>>",
		"{{upper .answer}}!":         "<<<answer X\nTHE ANSWER.\nanswer X>>>\n!",
		braces + "{{.answer}}\nend":  "{{\n<<<answer X\nThe Answer.\nanswer X>>>\nend",
		"{{.map.k}} and {{.answer}}": "<<<map X\nv\nmap X>>>\n and \n<<<answer X\nThe Answer.\nanswer X>>>",
	} {
		c, oneCase := compileJudged(t, ownJudge, "judge: {}", map[string]string{"judge.md": template})
		a := answer("The Answer.")
		a.Vars = oneCase.Vars()
		_, questions := ruled(t, c, a, alwaysSays("no"))
		code := opening.FindStringSubmatch(questions[0].Prompt())[1]
		_, after, _ := strings.Cut(questions[0].Prompt(), "a text that says so.\n\n")
		got, _, _ := strings.Cut(strings.ReplaceAll(after, code, "X"), "\n\nReply with")
		expect.Same(t, template, got, want)
	}
}

// `with` gives texts under names of the template, in place of variables; the conversation comes with `sees`.
func TestOwnTemplateIsGivenTexts(t *testing.T) {
	t.Parallel()
	c, oneCase := compileJudged(
		t, ownJudge, `judge: {with: {ref: "not {{.ref}}", question: "Really?"}, sees: conversation}`,
		map[string]string{"judge.md": ownTemplate + "\n{{.conversation}}"},
	)
	a := aConversation(eval.TextPiece{Text: "You are welcome."})
	a.Vars = oneCase.Vars()
	_, questions := ruled(t, c, a, alwaysSays("no"))
	texts := inFences(t, questions[0].Prompt())
	for i, want := range []string{"ref: not Paris", "question: Really?"} {
		if len(texts) <= i || texts[i] != want {
			t.Fatalf("the texts are %q, want %q first", texts, want)
		}
	}
	expect.Same(t, "the last text", texts[len(texts)-1], "user: Thanks.")
}

// What is wrong with a template of the suite is found when it is loaded, at its place.
func TestOwnTemplateProblemsAreReportedAtTheirPlace(t *testing.T) {
	t.Parallel()
	judge := func(more string) string { return "judges: [{name: mine, model: m, template: judge.md" + more + "}]\n" }
	for _, test := range []struct{ judges, entry, template, want string }{
		{judge(""), "judge: {}", "x\n {{.answer}} {{.refrence}}", "judge.md:2:16: case `c` has no variable `refrence`"},
		{judge(""), "judge: {}", "{{.answer}}\n{{.questoin}}", "judge.md:2:3: case `c` has no variable `questoin`\n"},
		{judge(""), "judge: {}", "{{.answer}}\n{{.questoin}}", "did you mean `question`?"},
		{judge(""), "judge: {}", "{{.answer}}\n  {{answer}}", "judge.md:2:3: in the template: function \"answer\" not defined"},
		{judge(""), "judge: {}", "{{.answer", "judge.md:1:1: in the template"},
		{judge(""), "judge: {}", "{{.ref}}", "the template judge.md does not show the judge the answer"},
		{judge(""), "judge: {}", "", "does not show the judge the answer"},
		{judge(""), "judge: {}", "{{.}}{{.answer}}", "judge.md:1:1: the template takes all variables at once"},
		{judge(""), "judge: {}", "{{.answer}}\x00", "NUL"},
		{judge(""), "judge: {}", "{{.answer}}\xff", "UTF-8"},
		{judge(""), "judge: {rubric: x}", "{{.answer}}", "the judge `mine` has its own template, and takes no `rubric`"},
		{judge(""), "judge: {with: {refr: x}}", "{{.answer}}", "the template of the judge `mine` does not use `refr`"},
		{judge(""), "judge: {with: {answer: x}}", "{{.answer}}", "`answer` is what the judge judges"},
		{judge(""), "judge: {sees: conversation}", "{{.answer}}", "does not show the conversation, and the scorer gives it"},
		{judge(""), "judge: {}", "{{.answer}}{{.conversation}}", "shows the conversation, and the scorer does not give it"},
		{judge(", choices: {A: 1, a: 0}"), "judge: {}", "{{.answer}}", "duplicate choice `a`, first on line "},
		{judge(", choices: {A: 1}"), "judge: {}", "{{.answer}}", "`choices` takes from 2 to 100 words"},
		{judge(", choices: {A: 1, B: 2}"), "judge: {}", "{{.answer}}", "out of range"},
		{judge(", choices: {A: 1, \" B\": 0}"), "judge: {}", "{{.answer}}", "is not a word to choose"},
		{judge(", choices: {A: 1, B: 0}"), "judge: {scale: [1, 5]}", "{{.answer}}", "a scale is for numbers"},
		{oneJudge[:len(oneJudge)-3] + ", choices: {A: 1, B: 0}}]\n", "judge: {rubric: x}", "", "`choices` needs a `template`"},
		{oneJudge, "judge: {rubric: x, with: {a: b}}", "", "`with` is for a judge with its own template"},
		{strings.Replace(judge(""), "judge.md", "none.md", 1), "judge: {with: {a: b}}", "", "there is no file none.md"},

		{threeJudges, "judge: {rubric: x, panel: [a]}", "", "a panel is a list of at least two judges"},
		{threeJudges, "judge: {rubric: x, panel: [a, d]}", "", "there is no judge `d`"},
		{threeJudges, "judge: {rubric: x, panel: [a, a]}", "", "the judge `a` is in the panel twice"},
		{threeJudges, "judge: {rubric: x, panel: [a, b], judge: c}", "", "`judge` names one judge and `panel` several"},
		{threeJudges, "judge: {rubric: x, judge: a, combine: mean}", "", "`combine` is for a panel"},
		{threeJudges, "judge: {rubric: x, panel: [a, b], combine: median}", "", "`median` is not known here"},
		{
			"judges: [{name: a, model: m}, {name: b, model: m}]\n", "judge: {rubric: x, panel: [a, b]}", "",
			"are the same model with the same settings",
		},
		{
			"judges: [{name: a, model: m}, {name: b, model: n, template: judge.md}]\n", "judge: {rubric: x, panel: [a, b]}", "{{.answer}}",
			"`a` and `b` have different questions",
		},
		{threeJudges, "judge: {rubric: x, judge: a, repeats: 3}", "", "the judge `a` judges 3 times at temperature 0"},
		{oneJudge, "judge: {contextRecall: {context: x}}", "", "`contextRecall` needs `reference`"},
		{oneJudge, "judge: {contextPrecision: {}}", "", "`contextPrecision` needs `reference` or `context`"},
		{oneJudge, "judge: {contextPrecision: {context: []}}", "", "`context` needs at least one text"},
		{oneJudge, "judge: {contextRecall: {reference: x}, scale: [1, 5]}", "", "this one evalrun counts"},
		{oneJudge, "judge: {steps: {criteria: x}}", "", "`steps` needs `steps`"},
		{oneJudge, "judge: {answerCorrectness: {reference: x, similarity: 2}}", "", "out of range"},
	} {
		var diags diag.List
		loadJudged(test.judges, test.entry, map[string]string{"judge.md": test.template}, &diags)
		var b strings.Builder
		expect.OK(t, (diag.Renderer{}).Render(&b, &diags))
		if name := "none.md"; strings.Contains(test.judges, name) && strings.Contains(b.String(), "does not use") {
			t.Errorf("%s: got\n%s\nwant no word of what a template without a file uses", name, b.String())
		}
		expect.Contains(t, fmt.Sprintf("%s%s, %q:\n", test.judges, test.entry, test.template), b.String(), test.want)
	}
}

// FuzzOwnTemplateFence holds that a careful reader finds the answer whole, and nothing around it changed.
func FuzzOwnTemplateFence(f *testing.F) {
	for _, s := range attacks() {
		f.Add(s)
	}
	c, oneCase := compileJudged(f, ownJudge, "judge: {}", map[string]string{"judge.md": ownTemplate})
	f.Fuzz(func(t *testing.T, text string) {
		if eval.IsBlank(text) {
			return
		}
		a := answer(text)
		a.Vars = oneCase.Vars()
		_, questions := ruled(t, c, a, func(scorers.Question) string { return `{"reason": "x", "choice": "A"}` })
		if len(questions) == 0 {
			return
		}
		if got := fencedOwn(t, questions[0].Prompt()); got["answer"] != text || got["ref"] != "Paris" {
			t.Errorf("%q, want the answer %q and the reference Paris", got, text)
		}
	})
}

func TestJudgeProblemsAreReported(t *testing.T) {
	t.Parallel()
	const two = "judges: [{name: one, model: svc-pro}, {name: two, model: svc-pro}]\n"
	for _, test := range []struct{ judges, scorer, want string }{
		{"", "{rubric: x}", "8:17: there is no judge to ask"},
		{two, "{rubric: x}", "the suite has 2 judges, and the scorer names none"},
		{two, "{rubric: x, judge: thre}", "there is no judge `thre`"},
		{two, "{rubric: x, judge: tow}", "did you mean `two`"},
		{two, "{rubric: x, judge: one}", "8:2: warning"},
		{two, "{rubric: \" \", judge: one}", "the text is empty"},
		{two, "{rubric: [x], judge: one}", "expected a text"},
		{two, "{judge: one}", "`judge` takes one of rubric, factuality, closedQA, faithfulness, relevance, contextRecall, " +
			"contextPrecision, answerCorrectness, " +
			"steps, goal; found nothing of that"},
		{two, "{goal: x, sees: answer, judge: one}", "`goal` is judged by all that was done"},
		{two, "{rubric: x, relevance: {}, judge: one}", "found rubric and relevance"},
		{two, "{factuality: {}, judge: one}", "`factuality` needs `reference`"},
		{two, "{factuality: {reference: x, values: {equal: 1}}, judge: one}", "unknown key `equal`"},
		{two, "{factuality: {reference: x, values: {same: 2}}, judge: one}", "out of range"},
		{two, "{factuality: {reference: x}, scale: [1, 5], judge: one}", "a scale is for numbers"},
		{two, "{closedQA: {}, judge: one}", "needs `criteria` or `reference`"},
		{two, "{faithfulness: x, judge: one}", "expected a mapping"},
		{two, "{rubric: x, scale: [1], judge: one}", "`scale` takes the least and the largest number"},
		{two, "{rubric: x, scale: [5, 1], judge: one}", "the least number of a scale comes first"},
		{two, "{rubric: x, repeats: 0, judge: one}", "out of range"},
		{two, "{rubric: x, rubrik: x, judge: one}", "unknown key `rubrik`"},
		{two, "{rubric: x, min: 0.5, judge: one}, threshold: 0.5", "two rules for one score"},
		{"judges: [{name: one, model: svc-pro, stream: true}]\n", "{rubric: x}", "unknown key `stream`"},
		{"judges: [{name: one, model: svc-pro-vision}]\n", "{rubric: x}", "svc-pro-vision takes prompts with an image"},
		{"judges: [{name: one, model: svc-pro}, {name: one, model: svc-pro}]\n", "{rubric: x}", "duplicate judge name `one`"},
		{"judges: []\n", "{rubric: x}", "there are no judges"},
		{"judges: [{name: one, model: svc-pro, generationConfig: {temprature: 1}}]\n", "{rubric: x}", "did you mean `temperature`"},
		{"judges: [{model: svc-pro}]\n", "{rubric: x}", "the key `name` is missing"},
	} {
		text := "version: 1\nname: s\ntargets: [{name: t, model: svc-pro}]\nprompts: [{name: p, text: x}]\n" +
			test.judges + "cases:\n  - name: c\n    scorers:\n      - {judge: " + test.scorer + "}\n"
		_, diags := loaded(text)
		var b strings.Builder
		expect.OK(t, (diag.Renderer{}).Render(&b, diags))
		expect.Contains(t, test.judges+test.scorer, b.String(), strings.TrimPrefix(test.want, "8:2: "))
		if test.want == "8:2: warning" && (diags.HasErrors() || !strings.Contains(b.String(), "no scorer uses the judge `two`")) {
			t.Errorf("%s\nwant a warning alone: no scorer uses the judge `two`", b.String())
		}
	}
}
