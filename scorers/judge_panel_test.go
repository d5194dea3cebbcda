package scorers_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/quick"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// threeJudges are judges of one suite; the third has a template.
const threeJudges = "judges: [{name: a, model: m}, {name: b, model: n}, {name: c, model: o}]\n"

// loadJudged loads a suite of judges with one case and one scorer, with files next to it.
func loadJudged(judges, entry string, files map[string]string, diags *diag.List) *suite.Suite {
	text := "version: 1\nname: s\ntargets: [{name: t, model: m}]\nprompts: [{name: p, text: \"{{.q}}{{.ref}}\"}]\n" + judges +
		"cases:\n  - name: c\n    vars: {q: Which, ref: Paris, list: [one, two], map: {k: v}}\n    scorers:\n      - " + entry + "\n"
	all := fstest.MapFS{"s.yaml": {Data: []byte(text)}}
	for name, data := range files {
		all[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return suite.Load(all, "s.yaml", scorers.Builtin(), suite.Options{}, diags)
}

func compileJudged(t testing.TB, judges, entry string, files map[string]string) (*scorers.Compiled, *suite.Case) {
	t.Helper()
	var diags diag.List
	s := loadJudged(judges, entry, files, &diags)
	expect.OK(t, diags.Err())
	for c := range s.Cases() {
		return scorers.Builtin().Compile(c.Scorers[0]), c
	}
	return nil, nil
}

// ruled scores an answer; each judge replies as the function says. It wants vectors where the scorer compares them.
func ruled(t testing.TB, c *scorers.Compiled, a *scorers.Answer, reply func(q scorers.Question) string) (eval.Score, []scorers.Question) {
	t.Helper()
	var questions []scorers.Question
	known := map[string]*eval.Judgement{}
	vectors := map[string][]float64{}
	for range 4 {
		a.Context = &scorers.Context{Judgements: scorers.Judgements{Known: known}, Vectors: scorers.Vectors{Known: vectors}}
		s, err := c.Score(a)
		expect.OK(t, err)
		if len(a.Context.Judgements.Wanted)+len(a.Context.Vectors.Wanted) == 0 {
			return s, questions
		}
		for _, text := range a.Context.Vectors.Wanted {
			vectors[text] = []float64{float64(len(text)), 1}
		}
		for _, q := range a.Context.Judgements.Wanted {
			questions = append(questions, q)
			known[q.Key] = &eval.Judgement{Reply: reply(q), FinishReason: "STOP"}
		}
	}
	t.Fatal("got ever more questions to the judges, want an end")
	return eval.Score{}, nil
}

// each replies for each judge with a score, or a choice.
func each(replies map[string]string) func(scorers.Question) string {
	return func(q scorers.Question) string {
		said := replies[q.Judge.Name]
		if _, err := strconv.ParseFloat(said, 64); err == nil {
			return fmt.Sprintf(`{"reason": "as %s says", "score": %s}`, q.Judge.Name, said)
		}
		return fmt.Sprintf(`{"reason": "as %s says", "choice": %q}`, q.Judge.Name, said)
	}
}

func TestPanelsDecideByTheVotesOfTheirJudges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		entry  string
		says   map[string]string
		want   string // letter, value and choice
		agree  float64
		reason string
	}{
		{
			"{rubric: x, panel: [a, b, c]}",
			map[string]string{"a": "1", "b": "0.6", "c": "0.2"},
			"p 0.6 pass", 1. / 3,
			`the panel a, b, c says 0.6 by mean (a: 1, b: 0.6, c: 0.2), agreement 33 %, at least 0.5 is expected: "as a says"`,
		},
		{
			"{rubric: x, panel: [a, b, c], combine: majority}",
			map[string]string{"a": "0.4", "b": "0.45", "c": "1"},
			"f 0.45 fail", 1. / 3,
			"by majority",
		},
		{
			"{rubric: x, panel: [a, b, c], combine: mean}",
			map[string]string{"a": "0.4", "b": "0.45", "c": "1"},
			"p 0.6167 pass", 1. / 3,
			`"as c says"`,
		},
		{"{rubric: x, panel: [a, b], combine: majority}", map[string]string{"a": "0.2", "b": "1"}, "f 0.2 fail", 0, `"as a says"`},
		{
			"{closedQA: {reference: x}, panel: [a, b, c]}",
			map[string]string{"a": "no", "b": "Yes", "c": "yes"},
			"p 1 yes", 1. / 3,
			`says yes (1) by majority (a: no, b: yes, c: yes)`,
		},
		{"{closedQA: {reference: x}, panel: [a, b]}", map[string]string{"a": "no", "b": "yes"}, "f 0 no", 0, ""},
		{
			"{closedQA: {reference: x}, panel: [a, b, c], combine: mean, min: 0.7}",
			map[string]string{"a": "no", "b": "yes", "c": "yes"},
			"f 0.6667 yes", 1. / 3, "says 0.6667 by mean",
		},
		{
			"{factuality: {reference: x}, panel: [a, b, c], repeats: 2}",
			map[string]string{"a": "same", "b": "subset", "c": "disagrees"},
			"f 0 disagrees", 0, "",
		},
	} {
		c, _ := compileJudged(t, threeJudges, "judge: "+test.entry, nil)
		s, questions := ruled(t, c, answer("Paris"), each(test.says))
		if !isScored(s) {
			t.Fatalf("%s: got no value (%s), want one", test.entry, s.Reason)
		}
		got := fmt.Sprintf("%s %.4g %s", letter(s), valueOf(s), s.Judged.Choice)
		if got != test.want || math.Abs(*s.Judged.Agreement-test.agree) > 1e-12 || !strings.Contains(s.Reason, test.reason) {
			t.Errorf("%s: %s, agreement %v, %s; want %s, %v, %s", test.entry, got, *s.Judged.Agreement, s.Reason, test.want, test.agree, test.reason)
		}
		isWhole(t, s.Judged, len(test.says), len(questions))
		expect.Same(t, "calls that are planned for", len(c.Needs().Judges), len(questions))
	}
}

// isWhole wants the rulings of all judges, with their names, judge by judge.
func isWhole(t *testing.T, j *eval.Judged, judges, rulings int) {
	t.Helper()
	if len(j.Panel) != judges || len(j.Rulings) != rulings {
		t.Fatalf("%d votes and %d rulings, want %d and %d", len(j.Panel), len(j.Rulings), judges, rulings)
	}
	for i, r := range j.Rulings {
		expect.Same(t, fmt.Sprintf("the judge of ruling %d", i), r.Judge, j.Panel[i*judges/rulings].Judge)
	}
}

// A panel by majority passes an answer if and only if more than half of its judges do, whatever the numbers, the
// order and their number. Its mean is that of the numbers. Agreement counts pairs.
func TestPanelsByMajorityNeedMoreThanHalf(t *testing.T) {
	t.Parallel()
	judges, names := "judges:\n", []string{}
	for i := range 7 {
		names = append(names, fmt.Sprintf("j%d", i))
		judges += fmt.Sprintf("  - {name: j%d, model: m%d}\n", i, i)
	}
	compiled := map[string]*scorers.Compiled{}
	for n := 2; n <= len(names); n++ {
		for _, how := range []string{"majority", "mean"} {
			entry := fmt.Sprintf("judge: {rubric: x, panel: [%s], combine: %s, min: 0.6}", strings.Join(names[:n], ", "), how)
			compiled[fmt.Sprint(n, how)], _ = compileJudged(t, judges, entry, nil)
		}
	}
	holds := func(raw [7]uint8, size uint8) bool {
		n := 2 + int(size)%6
		says, sum, passing := map[string]string{}, 0.0, 0
		for i := range n {
			v := float64(raw[i]%11) / 10
			says[names[i]] = strconv.FormatFloat(v, 'f', -1, 64)
			sum += v
			if v >= 0.6 {
				passing++
			}
		}
		majority, _ := ruled(t, compiled[fmt.Sprint(n, "majority")], answer("x"), each(says))
		mean, _ := ruled(t, compiled[fmt.Sprint(n, "mean")], answer("x"), each(says))
		pairs := float64(passing*(passing-1)+(n-passing)*(n-passing-1)) / float64(n*(n-1))
		most := 2*passing > n
		passes := valueOf(majority) >= 0.6
		return most == passes && majority.Passed() == passes &&
			math.Abs(valueOf(mean)-sum/float64(n)) < 1e-9 && mean.Passed() == (sum/float64(n) >= 0.6-1e-9) &&
			math.Abs(*majority.Judged.Agreement-pairs) < 1e-12 && math.Abs(*mean.Judged.Agreement-pairs) < 1e-12
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

// One judge of whom no reply counts leaves the score of a panel open, and says which.
func TestAPanelIsUnscoredWhenAJudgeDoesNotReply(t *testing.T) {
	t.Parallel()
	c, _ := compileJudged(t, threeJudges, "judge: {rubric: x, panel: [a, b, c]}", nil)
	s, questions := ruled(t, c, answer("x"), each(map[string]string{"a": "1", "b": "9", "c": "1"}))
	if letter(s) != "u" || len(questions) != 4 || !strings.Contains(s.Reason, "the judge b does not count") {
		t.Errorf("%s after %d: %s, want u after 4, for b", letter(s), len(questions), s.Reason)
	}
}

// A panel that sees the conversation shows all of its judges the same.
func TestPanelSeesTheConversation(t *testing.T) {
	t.Parallel()
	c, _ := compileJudged(t, threeJudges, "judge: {contextRecall: {reference: r, context: c}, panel: [a, b], sees: conversation}", nil)
	a := aConversation(eval.TextPiece{Text: "You are welcome."})
	_, questions := ruled(t, c, a, func(scorers.Question) string {
		return `{"reason": "x", "statements": [{"statement": "s", "supported": true}]}`
	})
	if len(questions) != 2 || questions[0].Prompt() != questions[1].Prompt() {
		t.Fatalf("asked %d, want 2 of the same text", len(questions))
	}
	names := inFences(t, questions[0].Prompt())
	for _, want := range []string{"reference: r", "context1: c", "system: You are a shop.", "user: Thanks."} {
		if !slices.Contains(names, want) {
			t.Errorf("the texts are %q, want %q among them", names, want)
		}
	}
}

// A reply of the wrong shape is requested once more with what is wrong with it, and the next one counts.
func TestJudgeOfTheWrongShapeIsSentACorrection(t *testing.T) {
	t.Parallel()
	for reply, why := range map[string]string{
		`{"reason": "x", "score": 7}`:               "its score 7 is not between 0 and 1",
		`{"reason": "x", "score": "0.8"}`:           `which is no number`,
		`{"score": 1}`:                              "it has no `reason`",
		`{"reason": "x", "score": 1, "extra": 1}`:   "it has a key \"extra\"",
		`{"reason": "x", "score": 0, "score": 0.5}`: "the key \"score\" twice",
	} {
		s, questions := judged(t, compile(t, byRubric), answer("Paris"), reply, `{"reason": "now", "score": 1}`)
		if letter(s) != "p" || len(questions) != 2 {
			t.Fatalf("%s: %s after %d, %s, want p after 2", reply, letter(s), len(questions), s.Reason)
		}
		quotesReply(t, questions)
		if text := questions[1].Prompt(); !strings.HasPrefix(text, "That reply does not count: ") || !strings.Contains(text, why) {
			t.Errorf("%s: asked again with %q, want %s", reply, text, why)
		}
	}
}
