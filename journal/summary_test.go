package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
