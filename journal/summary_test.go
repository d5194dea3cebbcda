package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// letters are trials of cases on one arm: a word for each case, a letter for each repeat.
func letters(text string) (out []*eval.Result) {
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 'e': eval.Err, 's': eval.Skip}
	for i, word := range strings.Fields(text) {
		for k, letter := range word {
			r := answered(fmt.Sprint("c", i), "t/p", kinds[letter], 10)
			r.Repeat = k + 1
			if r.Outcome() == eval.Err {
				r.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
			}
			out = append(out, r)
		}
	}
	return out
}

// A case is folded into its worst repeat; its rate is the mean over its scored repeats.
func TestTheSummaryIsByCase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		cases   CaseCounts
		rate    float64 // -1: none
		repeats RepeatCounts
	}{
		"p p f":     {CaseCounts{Tests: 3, Failures: 1}, 2.0 / 3, RepeatCounts{}},
		"pppp f":    {CaseCounts{Tests: 2, Failures: 1}, 0.5, RepeatCounts{StablePass: 1}},
		"pf ff pp":  {CaseCounts{Tests: 3, Failures: 2}, 0.5, RepeatCounts{1, 1, 1}},
		"pe pes ps": {CaseCounts{Tests: 3, Errors: 2, Skipped: 1}, 1, RepeatCounts{}},
		"fe fs":     {CaseCounts{Tests: 2, Failures: 2}, 0, RepeatCounts{}},
		"e s":       {CaseCounts{Tests: 2, Errors: 1, Skipped: 1}, -1, RepeatCounts{}},
	} {
		s := document(t, nil, letters(text)...).Summary
		rate, ok := s.PassRate()
		if !ok {
			rate = -1
		}
		expect.Same(t, text, s.Cases, want.cases)
		expect.Same(t, text+": pass rate", rate, want.rate, cmpopts.EquateApprox(0, 1e-12))
		expect.Same(t, text+": repeats", s.Suites[0].Arms[0].Repeats, want.repeats)
	}
}

func TestArmsAreInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	d := document(
		t,
		nil,
		answered("a", "z/z", eval.Pass, 1),
		answered("a", "t/q", eval.Pass, 1),
		answered("a", "a/a", eval.Pass, 1),
		answered("a", "t/p", eval.Pass, 1),
	)
	var got []string
	for _, a := range d.Summary.Suites[0].Arms {
		got = append(got, a.Name)
	}
	expect.Same(t, "arms", got, []string{"t/p", "t/q", "a/a", "z/z"})
}

// The mean of a metric is over cases, repeats averaged inside.
func TestMeansOfMetricsAreByCase(t *testing.T) {
	t.Parallel()
	trials := letters("pp p")
	for i, v := range []float64{0, 1, 1} {
		trials[i].Scores = []eval.Score{{Scorer: "x", Name: "tone", Grade: eval.Graded{Value: v}}}
	}
	arm := document(t, nil, trials...).Summary.Suites[0].Arms[0]
	mean, ok := arm.Mean("tone")
	expect.Same(t, "mean", []any{mean, ok, arm.Metrics[0].N}, []any{0.75, true, 2})
	_, ok = arm.Mean("gone")
	expect.Same(t, "a metric that no scorer has", ok, false)
}

func TestTheLastLineOfATrialCounts(t *testing.T) {
	t.Parallel()
	trials := letters("e p")
	d := document(t, func(w *Writer) {
		second := *trials[0]
		second.Ending = eval.Passed{}
		expect.OK(t, w.Append(&second))
	}, trials...)
	expect.Same(t, "counts", d.Summary.Counts, eval.Counts{Pass: 2})
	expect.Same(t, "trials", d.Len(), 2)
	place, ok := d.Find(trials[1].ID)
	expect.Same(t, "the place of the second", [2]any{place, ok}, [2]any{1, true})
	_, ok = d.Find("ffffffffffffffff")
	expect.Same(t, "an id that is not there", ok, false)
}

func TestARunWithMissingTrialsIsPartial(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		trial int // of the plan
		end   *eval.End
		want  bool
	}{
		"complete":    {"p f e", 3, &eval.End{Reason: eval.EndCompleted}, false},
		"missing":     {"p f e", 4, &eval.End{Reason: eval.EndCompleted}, true},
		"skipped":     {"p f s", 3, &eval.End{Reason: eval.EndCompleted}, true},
		"interrupted": {"p f e", 3, &eval.End{Reason: eval.EndInterrupted}, true},
		"killed":      {"p f e", 3, nil, true},
	} {
		dir := t.TempDir()
		w, err := Create(dir, &eval.Run{ID: "r", Plan: eval.RunPlan{Trials: test.trial}}, nil)
		expect.OK(t, err)
		for n, r := range letters(test.text) {
			r.N, r.ID = n, fmt.Sprintf("%016x", n)
			expect.OK(t, w.Append(r))
		}
		if test.end != nil {
			expect.OK(t, w.Finish(test.end))
		} else {
			expect.OK(t, w.Close())
		}
		expect.Same(t, name, followed(t, dir).Partial(), test.want)
	}
}

func TestAnImageIsReadWhileItIsTheSame(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	hash := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	for name, text := range map[string]string{"a.png": "picture", "big.png": strings.Repeat("x", 100)} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	expect.OK(t, os.WriteFile(filepath.Join(outside, "b.png"), []byte("picture"), 0o600))
	expect.OK(t, os.Symlink(filepath.Join(outside, "b.png"), filepath.Join(dir, "link.png")))
	d := &Document{Run: eval.Run{Suites: []eval.RunSuite{{Name: "s", Dir: dir}, {Name: "old"}}}}
	same := hash("picture")
	for name, test := range map[string]struct {
		suite string
		image eval.Image
		ok    bool
	}{
		"the same":          {"s", eval.Image{Path: "a.png", SHA256: same}, true},
		"resized":           {"s", eval.Image{Path: "a.png", SHA256: "other", SourceSHA256: same}, true},
		"changed":           {"s", eval.Image{Path: "a.png", SHA256: "other"}, false},
		"gone":              {"s", eval.Image{Path: "gone.png", SHA256: same}, false},
		"too large":         {"s", eval.Image{Path: "big.png", SHA256: hash(strings.Repeat("x", 100))}, false},
		"a folder":          {"s", eval.Image{Path: ".", SHA256: same}, false},
		"a link out":        {"s", eval.Image{Path: "link.png", SHA256: same}, false},
		"above the folder":  {"s", eval.Image{Path: "../" + filepath.Base(outside) + "/b.png", SHA256: same}, false},
		"of an old run":     {"old", eval.Image{Path: "a.png", SHA256: same}, false},
		"of no such suite":  {"other", eval.Image{Path: "a.png", SHA256: same}, false},
		"by its whole path": {"s", eval.Image{Path: filepath.Join(dir, "a.png"), SHA256: same}, false},
	} {
		data, err := d.Image(test.suite, &test.image, 50)
		if got := err == nil && string(data) == "picture"; got != test.ok {
			t.Errorf("%s: got %q, %v; want it read: %v", name, data, err, test.ok)
		}
	}
}

// What judges cost is counted apart from the answers, once for each call, by the last line of a trial.
func TestJudgingIsCounted(t *testing.T) {
	t.Parallel()
	judgement := func(id string, tokens int) eval.Judgement {
		return eval.Judgement{
			ID:       id,
			Judge:    "j",
			Model:    "m",
			Repeat:   1,
			Reply:    `{"reason": "attempts\": 99", "score": 1}`,
			Attempts: 2,
			Usage:    &eval.Usage{PromptTokens: tokens, OutputTokens: 1, TotalTokens: tokens + 1},
		}
	}
	first, cached, failed := judgement("a", 10), judgement("a", 10), judgement("b", 0)
	cached.Cached, cached.Attempts = true, 0
	failed.Error, failed.Usage, failed.Attempts = eval.Errorf(eval.KindStatus, "500"), nil, 5
	one, two, second := result(0, eval.Err), result(1, eval.Pass), result(0, eval.Pass)
	one.Judgements = []eval.Judgement{first, failed}
	two.Judgements = []eval.Judgement{cached}
	second.Judgements = []eval.Judgement{first, judgement("b", 20)}
	d, err := open(t, write(t, t.TempDir(), false, one, two))
	expect.OK(t, err)
	want := JudgeRequests{Replies: 2, Attempts: 7, Tokens: Tokens{Prompt: 10, Output: 1, Total: 11}}
	if d.Summary.JudgeRequests != want || d.Summary.Tokens.Total != 6 || d.Spent.Attempts != 7 || d.Spent.Tokens != 6+11 {
		t.Errorf("%+v, spent %+v, want %+v, and both judges in what was spent", d.Summary, d.Spent, want)
	}
	expect.Same(t, "prompt tokens", d.Unpriced["m"].PromptTokens, 10)
	d, err = open(t, write(t, t.TempDir(), true, one, two, second))
	expect.OK(t, err)
	want = JudgeRequests{Replies: 3, Attempts: 4, Tokens: Tokens{Prompt: 30, Output: 2, Total: 32}}
	expect.Same(t, "judging", d.Summary.JudgeRequests, want)
	second.Judgements = nil
	if d, err = open(t, write(t, t.TempDir(), true, one, second)); err != nil || d.Summary.JudgeRequests != (JudgeRequests{}) {
		t.Errorf("%+v %v, want none", d.Summary.JudgeRequests, err)
	}
	r, err := d.Trial(0)
	expect.OK(t, err)
	expect.Same(t, "judgements", len(r.Judgements), 0)
}

// A run took what its sessions took, however long it lay there between them.
func TestOnlySessionsCountAsTimeWorked(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	at := func(d time.Duration) string { return begin.Add(d).Format(time.RFC3339Nano) }
	answer := func(d time.Duration) *eval.Result {
		r := result(0, eval.Pass)
		r.Timing = &eval.Timing{StartedAt: begin.Add(d), LatencyMs: 500}
		return r
	}
	end := func(d time.Duration) *eval.End {
		return &eval.End{Reason: eval.EndCompleted, FinishedAt: at(d)}
	}
	resume := func(d time.Duration) *Resumed { return &Resumed{At: at(d)} }
	for name, c := range map[string]struct {
		lines []any
		want  time.Duration
	}{
		"nothing yet":   {nil, 0},
		"one session":   {[]any{answer(time.Second), end(2 * time.Second)}, 2 * time.Second},
		"still goes on": {[]any{answer(time.Second)}, 1500 * time.Millisecond},
		"resumed":       {[]any{end(time.Second), resume(time.Hour), end(time.Hour + 2*time.Second)}, 3 * time.Second},
		"killed": {
			[]any{answer(2 * time.Second), answer(time.Second), resume(time.Hour), end(time.Hour + time.Second)},
			3500 * time.Millisecond,
		},
		"killed, no answer": {[]any{resume(time.Hour), end(time.Hour + time.Second)}, time.Second},
		"killed twice": {
			[]any{answer(0), resume(time.Hour), answer(time.Hour), resume(2 * time.Hour), end(2*time.Hour + time.Second)},
			2 * time.Second,
		},
		"recorded answers": {
			[]any{answer(-time.Hour), resume(time.Hour), answer(0), resume(2 * time.Hour), end(2*time.Hour + time.Second)},
			time.Second,
		},
		"no times": {[]any{&eval.End{Reason: eval.EndCompleted}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := Create(dir, &eval.Run{ID: "r", StartedAt: at(0)}, nil)
			expect.OK(t, err)
			for _, line := range c.lines {
				switch line := line.(type) {
				case *eval.Result:
					err = w.Append(line)
				case *eval.End:
					err = w.write("end", line)
				case *Resumed:
					err = w.Resumed(line)
				}
				expect.OK(t, err)
			}
			expect.OK(t, w.Close())
			expect.Same(t, "result", followed(t, dir).Worked(), c.want)
		})
	}
}

// Labels with quotes and line breaks are read by the slow reader of lines, all others by the fast one.
func TestClassificationsAreReadByBothReaders(t *testing.T) {
	t.Parallel()
	const odd = "a \"b\"\u2028"
	classified := func(name, label, answer string, outcome eval.Outcome) *eval.Result {
		r := answered(name, "t/p", outcome, 1)
		r.Scores = []eval.Score{{
			Scorer: "classification", Name: "accuracy", Grade: eval.Graded{}, Class: &eval.Pair{Expected: label, Answer: answer},
		}}
		return r
	}
	isolated := classified("d", "x", "x", eval.Pass)
	isolated.Quarantine = &eval.Quarantine{Until: "2027-01-01"}
	failed := classified("c", "x", "x", eval.Err)
	failed.Ending = eval.Errored{Error: eval.Errorf(eval.KindUnscored, "a judge did not reply")}
	trials := []*eval.Result{
		classified("a", "x", "x", eval.Pass), classified("a", "x", odd, eval.Fail), classified("a", "x", "", eval.Fail),
		classified("b", odd, odd, eval.Pass), failed, isolated, answered("e", "t/p", eval.Pass, 1),
	}
	d := document(t, nil, trials...)
	arms := d.Summary.Suites
	expect.Same(t, "no classes, no matrix", arms[0].Arms[0].Classified() == nil, true)
	d.Run.Suites = []eval.RunSuite{{Name: "s", Classes: []string{"x", odd}}}
	arm := &summarize(&d.index, &d.Run).Suites[0].Arms[0]
	third := 1.0 / 3
	expect.Same(t, "matrix", arm.Classification.Counts, [][]float64{{third, third, third}, {0, 1, 0}})
	r := arm.Classified()
	expect.Same(t, "errors", r.Errors, 1)
	mean, _ := arm.Mean("accuracy")
	expect.Same(t, "the mean leaves out the error too", mean, 0.0)
	var pairs []eval.Pair
	for f, err := range d.Facts() {
		expect.OK(t, err)
		if f.Class != nil {
			pairs = append(pairs, *f.Class)
		}
	}
	expect.Same(t, "trials with a class", len(pairs), 6)
	expect.Same(t, "an odd label", pairs[3], eval.Pair{Expected: odd, Answer: odd})
}
