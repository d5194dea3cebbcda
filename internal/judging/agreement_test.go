package judging

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/journal"
)

// ruled is an answer that judges have judged: each says pass, fail, or a choice, by the name of its scorer.
func ruled(caseName string, repeat int, said map[string]string) *eval.Result {
	r := &eval.Result{
		Trial:  eval.Trial{ID: fmt.Sprintf("%s-%d", caseName, repeat), Suite: "s", Case: caseName, Arm: "t/p", Repeat: repeat},
		Ending: eval.Passed{}, Scores: []eval.Score{{Scorer: "contains", Grade: eval.Graded{Value: 1, Passed: true}}},
	}
	for _, name := range []string{"tone", "facts"} {
		if word, ok := said[name]; ok {
			r.Scores = append(r.Scores, eval.Score{
				Scorer: "judge", Name: name, Grade: eval.Graded{Passed: word == passWord},
				Judged: &eval.Judged{Judge: "judge of " + name, Choice: word},
			})
		}
	}
	return r
}

func tone(caseName, said string) *eval.Result {
	return ruled(caseName, 1, map[string]string{"tone": said})
}

func runOf(t *testing.T, results ...*eval.Result) *journal.Document {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := journal.Create(dir, &eval.Run{ID: "r", StartedAt: "2026-01-02T03:04:05Z", Plan: eval.RunPlan{Trials: len(results)}}, nil)
	expect.OK(t, err)
	for i, r := range results {
		r.N = i
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	d, err := journal.Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func labelsFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// confused makes a run and labels with this number of answers for each word of people and judge, each in its own
// case.
func confused(t *testing.T, words []string, counts [][]int) (*journal.Document, string) {
	t.Helper()
	var results []*eval.Result
	labels := "label,case\n"
	for i, row := range counts {
		for j, n := range row {
			for range n {
				name := fmt.Sprintf("c%d", len(results))
				results = append(results, tone(name, words[j]))
				labels += words[i] + "," + name + "\n"
			}
		}
	}
	return runOf(t, results...), labelsFile(t, "labels.csv", labels)
}

// isWilson holds that an interval is Wilson's for a share of n: its bounds are where the share is just z standard errors away.
func isWilson(t *testing.T, what string, p wilsonShare, n int) {
	t.Helper()
	const z = 1.6448536269514722 // 95 % of the standard normal distribution
	for _, bound := range p.Interval {
		if off := math.Abs(*p.Share-bound) - z*math.Sqrt(bound*(1-bound)/float64(n)); math.Abs(off) > 1e-9 {
			t.Errorf("%s: got %g, want a bound of %d of %d over %d cases", what, bound, p.Part, p.Of, n)
		}
	}
	if p.Interval[0] > *p.Share || p.Interval[1] < *p.Share {
		t.Errorf("%s: got %v, want it around %g", what, p.Interval, *p.Share)
	}
}

// Agreement, kappa and both kinds of error of 20 answers, by the formulas for a table of two words.
func TestCheckMeasuresPassAndFail(t *testing.T) {
	t.Parallel()
	const a, b, c, d = 6, 2, 3, 9 // fail as fail, fail as pass, pass as fail, pass as pass
	run, file := confused(t, []string{failWord, passWord}, [][]int{{a, b}, {c, d}})
	report, err := Check(run, file)
	expect.OK(t, err)
	if len(report.Judges) != 1 || report.Unjudged != 0 {
		t.Fatalf("%+v, want one judge", report)
	}
	got := report.Judges[0]
	kappa := 2 * float64(a*d-b*c) / float64((a+b)*(b+d)+(a+c)*(c+d))
	want := agreement{
		Suite: "s", Scorer: "tone", Judge: "judge of tone", Answers: 20, Cases: 20,
		Agreement: wilsonShare{Part: a + d, Of: 20, Share: new(15. / 20)}, Kappa: &kappa,
		FalsePass: &wilsonShare{Part: b, Of: a + b, Share: new(2. / 8)}, FalseFail: &wilsonShare{Part: c, Of: c + d, Share: new(3. / 12)},
		Words: []string{failWord, passWord}, Confusion: [][]int{{a, b}, {c, d}}, Disagreed: b + c,
	}
	ignored := cmp.Options{
		cmpopts.IgnoreFields(wilsonShare{}, "Interval"), cmpopts.IgnoreFields(agreement{}, "KappaInterval", "Arms", "Disagreements"),
		cmpopts.EquateApprox(0, 1e-12),
	}
	expect.Same(t, "result", got, want, ignored)
	expect.Same(t, "a disagreement", got.Disagreements[0], Disagreement{"c6", "t/p", 1, failWord, passWord})
	// The lower bounds of Clopper and Pearson for 9 of 12 and 6 of 8: where that many or more have a probability of 5 %.
	expect.Same(t, "on the arm", []float64{got.Arms[0].Sensitivity.AtLeast, got.Arms[0].Specificity.AtLeast},
		[]float64{0.47267, 0.40031}, cmpopts.EquateApprox(0, 1e-5))
	isWilson(t, "agreement", got.Agreement, 20)
	isWilson(t, "false pass", *got.FalsePass, 8)
	isWilson(t, "false fail", *got.FalseFail, 12)
	chance := float64((a+b)*(a+c)+(c+d)*(b+d)) / 400
	for i, bound := range got.KappaInterval {
		if want := (got.Agreement.Interval[i] - chance) / (1 - chance); math.Abs(bound-want) > 1e-12 {
			t.Errorf("bound %d of kappa is %g, want %g", i, bound, want)
		}
	}
}

// Three choices: of 32 answers 24 agree, and (12·11 + 12·12 + 8·9)/32² would by chance, so that kappa is 105/169.
func TestCheckMeasuresChoices(t *testing.T) {
	t.Parallel()
	counts := [][]int{{10, 2, 0}, {1, 8, 3}, {0, 2, 6}}
	run, file := confused(t, []string{"disagrees", "same", "subset"}, counts)
	report, err := Check(run, file)
	expect.OK(t, err)
	got := report.Judges[0]
	if math.Abs(*got.Kappa-105./169) > 1e-12 || got.Agreement.Part != 24 || got.FalsePass != nil || got.FalseFail != nil {
		t.Errorf("%+v with kappa %g, want 24 of 32, kappa %g and no false pass", got, *got.Kappa, 105./169)
	}
	expect.Same(t, "confusion", got.Confusion, counts)
}

// Several answers to a case are not independent: shares count answers, intervals count cases.
func TestCheckIntervalsCountCases(t *testing.T) {
	t.Parallel()
	var results []*eval.Result
	labels := "case,repeat,label\n"
	for c := range 4 {
		for repeat := 1; repeat <= 5; repeat++ {
			name := fmt.Sprintf("c%d", c)
			results = append(results, ruled(name, repeat, map[string]string{"tone": passWord}))
			word := passWord
			if repeat == 1 {
				word = failWord
			}
			labels += fmt.Sprintf("%s,%d,%s\n", name, repeat, word)
		}
	}
	report, err := Check(runOf(t, results...), labelsFile(t, "l.csv", labels))
	expect.OK(t, err)
	got := report.Judges[0]
	if got.Answers != 20 || got.Cases != 4 || got.Agreement.Part != 16 {
		t.Errorf("%+v, want 16 of 20 answers to 4 cases", got)
	}
	isWilson(t, "agreement", got.Agreement, 4)
}

// Judges are measured apart, in the order in which they are met. Answers without a label are left out, and unscored
// ones are counted.
func TestCheckMeasuresEachJudgeAlone(t *testing.T) {
	t.Parallel()
	both := map[string]string{"tone": passWord, "facts": "same"}
	failed := ruled("lost", 1, nil)
	failed.Ending = eval.Errored{}
	d := runOf(t, ruled("one", 1, both), ruled("two", 1, both), ruled("three", 1, both), failed)
	want := []string{"facts 1/1", "tone 1/2"}
	csv := "case,scorer,label,remark\none,facts,same,\none,tone,pass,mine\ntwo,tone,fail,\nthree,tone,,later\nlost,tone,fail,\n"
	lines := `{"case":"one","scorer":"facts","label":"same"}
{"case":"one","scorer":"tone","label":"pass"}

{"case":"two","scorer":"tone","label":"fail","arm":"t/p","suite":"s","repeat":1}
{"case":"three","scorer":"tone","label":""}
{"case":"lost","label":"fail"}`
	for name, text := range map[string]string{"l.csv": csv, "L.CSV": "\ufeff" + strings.ToUpper(csv[:25]) + csv[25:], "l.jsonl": lines} {
		report, err := Check(d, labelsFile(t, name, text))
		if err != nil {
			t.Errorf("%s: %v, want no error", name, err)
			continue
		}
		var got []string
		for _, j := range report.Judges {
			got = append(got, fmt.Sprintf("%s %d/%d", j.Scorer, j.Agreement.Part, j.Agreement.Of))
		}
		if diff := cmp.Diff(want, got); diff != "" || report.Unjudged != 1 {
			t.Errorf("%s: %d untold, want 1; judges (-want +got):\n%s", name, report.Unjudged, diff)
		}
	}
}

func TestCheckReportsEveryLabelThatFitsNothing(t *testing.T) {
	t.Parallel()
	d := runOf(
		t, tone("one", passWord), ruled("twice", 1, map[string]string{"tone": passWord}),
		ruled("twice", 2, map[string]string{"tone": passWord}),
		ruled("both", 1, map[string]string{"tone": passWord, "facts": passWord}), ruled("plain", 1, nil), tone("choice", "same"),
	)
	for file, wants := range map[string][]string{
		"case,label\none,pass\nonne,pass\ntwice,fail\nboth,pass\nplain,pass\nchoice,same\n": {
			":3: ", "`one`", ":4: ", "`repeat`", ":5: ", "tone, facts", ":6: ", "`plain`", ":7: ", "`same`",
		},
		"case,arm,repeat,label\none,t/q,1,pass\none,t/p,7,pass\n": {":2: ", ":3: "},
		"case,scorer,label\none,taste,pass\n":                     {":2: ", "`taste`"},
		"case,repeat,label\none,zero,pass\none,0,pass\n,1,pass\none,1,maybe\n": {
			":2: ", "`zero`", ":3: ", ":4: ", "`case`", ":5: ", "`maybe`",
		},
		"name,label\none,pass\n":  {":1: ", "`case`"},
		"case,label\n\"one,pass":  {"l.csv"},
		"case\none\n":             {":1: ", "`label`"},
		"case,label\nplain,pass,": {":2: "},
	} {
		path := labelsFile(t, "l.csv", file)
		_, err := Check(d, path)
		if eval.CodeOf(err) != eval.CodeBadInput || err == nil {
			t.Errorf("%q: exit %d with %v, want bad input", file, eval.CodeOf(err), err)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want it to name %s", file, err, want)
			}
		}
	}
}

// A run without judges and a file that cannot be read are bad input; labels without a judged answer leave nothing to
// compare.
func TestCheckOfNothingIsBadInput(t *testing.T) {
	t.Parallel()
	lost := tone("lost", passWord)
	lost.Scores, lost.Ending = nil, eval.Errored{}
	judged, plain := runOf(t, tone("one", passWord), lost), runOf(t, ruled("one", 1, nil))
	one := labelsFile(t, "l.csv", "case,label\none,pass\n")
	for _, test := range []struct {
		run  *journal.Document
		file string
		code int
	}{
		{judged, one, eval.CodeOK},
		{plain, one, eval.CodeBadInput},
		{judged, one + ".gone.csv", eval.CodeBadInput},
		{judged, labelsFile(t, "l.xlsx", "case,label\none,pass\n"), eval.CodeBadInput},
		{judged, labelsFile(t, "l.jsonl", `{"case":"one","lable":"pass"}`), eval.CodeBadInput},
		{judged, labelsFile(t, "l.csv", "case,label\nlost,pass\n"), eval.CodeIncomplete},
		{judged, labelsFile(t, "l.csv", ""), eval.CodeIncomplete},
	} {
		if _, err := Check(test.run, test.file); eval.CodeOf(err) != test.code {
			t.Errorf("%s: exit %d with %v, want %d", test.file, eval.CodeOf(err), err, test.code)
		}
	}
}

// FuzzLabels holds that a file of labels is read, or refused with the line of each problem.
func FuzzLabels(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:20], "case,label\nc,pass\n\"a\nb\",fail", "\ufeffCASE , Label\r\nc,same\r\n", "case,label\n\"",
		"case,label,repeat\nc,pass,-1\nc,pass,x\nc", `{"case":"c","label":"pass"}`,
		`{"case":"c","label":"pass"} {}`, `{"case":"","label":"pass"}`, `{"case":"c","repeat":-1,"label":"fail"}`, "null",
		"case,label\n"+strings.Repeat("c,", 5000),
	) {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, lines bool) {
		path := filepath.Join(t.TempDir(), "l.csv")
		if lines {
			path = filepath.Join(filepath.Dir(path), "l.jsonl")
		}
		expect.OK(t, os.WriteFile(path, data, 0o600))
		l, err := readLabels(path)
		if err != nil {
			namesFile(t, err, path)
			return
		}
		if err := l.err(); err != nil {
			namesFile(t, err, path)
		}
		for _, one := range l.all {
			if one.Case == "" || one.Label == "" || one.Repeat < 0 || one.line < 1 {
				t.Errorf("%+v, want a label with its case and line", one)
			}
			anywhere := one.Repeat == 0 && one.Arm == "" && one.Suite == ""
			if fits := one.fits(&eval.Result{Trial: eval.Trial{Repeat: one.Repeat + 1}}); fits != anywhere {
				t.Errorf("%+v fits another repeat: %t, want %t", one, fits, anywhere)
			}
		}
	})
}

// namesFile wants an error to be bad input, with the name of the file.
func namesFile(t *testing.T, err error, path string) {
	t.Helper()
	var coded *eval.CodedError
	if !errors.As(err, &coded) || coded.Code != eval.CodeBadInput || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("got %v, want exit code %d and the file %s", err, eval.CodeBadInput, filepath.Base(path))
	}
}

// The numbers of a check, worked out by hand: 60 cases, and people failed 23 of them.
func TestCheckNumbersAreThoseWorkedOutByHand(t *testing.T) {
	t.Parallel()
	var pairs []labelled
	add := func(n int, people, said string) {
		for range n {
			pairs = append(pairs, labelled{caseName: string(rune('A' + len(pairs))), people: people, said: said})
		}
	}
	add(19, failWord, failWord)
	add(4, failWord, passWord)
	add(1, passWord, failWord)
	add(36, passWord, passWord)
	c := newAgreement(checkKey{suite: "s", scorer: "q", judge: "j"}, pairs, false)
	for _, test := range []struct{ got, want float64 }{
		{*c.Agreement.Share, 55. / 60},
		{c.Agreement.Interval[0], 0.8385295580433538},
		{c.Agreement.Interval[1], 0.9588481097955877},
		{*c.Kappa, 0.8192771084337349},
		{c.KappaInterval[0], 0.6498231379253456},
		{c.KappaInterval[1], 0.9107549369060938},
		{*c.FalsePass.Share, 4. / 23},
		{c.FalsePass.Interval[1], 0.3359021320939197},
		{*c.FalseFail.Share, 1. / 37},
		{c.FalseFail.Interval[0], 0.006052795573242118},
		{float64(c.Confusion[0][1]), 4},
		{float64(c.Cases), 60},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%.16g, want %.16g", test.got, test.want)
		}
	}
	// Complete agreement is not certainty; one word alone is agreement by chance; several answers to a case count as one.
	pairs = []labelled{{caseName: "a", people: passWord, said: passWord}, {caseName: "b", people: failWord, said: failWord}}
	if c := newAgreement(checkKey{}, pairs, false); *c.Kappa != 1 || c.KappaInterval[0] > 0 || c.KappaInterval[1] != 1 {
		t.Errorf("%+v, want a kappa of 1 with an interval from at most 0 to 1", c)
	}
	if c := newAgreement(checkKey{}, pairs[:1], false); c.Kappa != nil || c.FalsePass.Share != nil ||
		c.FalsePass.Interval != [2]float64{0, 1} {
		t.Errorf("%+v, want no kappa and no share, within 0 to 1", c)
	}
	pairs[1].caseName = "a"
	if one := newAgreement(checkKey{}, pairs, false); one.Cases != 1 || one.Agreement.Interval[0] >= c.Agreement.Interval[0] ||
		one.Agreement.Of != 2 {
		t.Errorf("%+v, want a wider interval of one case of 2 pairs", one)
	}
}
