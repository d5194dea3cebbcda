package scorers_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

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
		var diags diag.List
		suite.Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", scorers.Builtin(), suite.Options{}, &diags)
		var b strings.Builder
		if err := (diag.Renderer{}).Render(&b, &diags); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimPrefix(test.want, "8:2: "); !strings.Contains(b.String(), want) {
			t.Errorf("%s%s:\n%s\nwant %q", test.judges, test.scorer, b.String(), want)
		}
		if test.want == "8:2: warning" && (diags.HasErrors() || !strings.Contains(b.String(), "no scorer uses the judge `two`")) {
			t.Errorf("%s\nwant a warning alone: no scorer uses the judge `two`", b.String())
		}
	}
}
