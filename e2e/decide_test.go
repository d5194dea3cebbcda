package e2e_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// decideRun is a run of two models and two prompts: case k fails on the arms whose letter it has.
func decideRun(fails ...string) (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{
		ID: "20260102-000000-decide", StartedAt: "2026-01-02T00:00:00Z",
		Suites: []eval.RunSuite{{Name: "s", File: "s.yaml", Classes: []string{"yes", "no"}}},
		Plan:   eval.RunPlan{Trials: 4 * len(fails), Arms: []string{"pro/old", "pro/new", "flash/old", "flash/new"}},
	}
	return run, func(yield func(*eval.Result) bool) {
		for n := range run.Plan.Trials {
			k, arm := n/4, n%4
			r := &eval.Result{
				Trial: eval.Trial{
					N: n, ID: fmt.Sprintf("%016x", n), CaseID: fmt.Sprintf("c%d", k), Suite: "s", Case: fmt.Sprintf("case %d", k),
					Arm: run.Plan.Arms[arm], Target: "pro", Prompt: "old", Model: "svc-pro", Repeat: 1, ScorersHash: "x",
				},
				Ending:   eval.Passed{},
				Response: &eval.Response{Candidates: []eval.Candidate{{Text: "yes", FinishReason: "STOP"}}},
				Usage:    &eval.Usage{Source: eval.UsageCounted, TotalTokens: 10 + arm, OutputTokens: 10 + arm},
				Timing:   &eval.Timing{LatencyMs: float64(100 + k), Attempts: 1},
			}
			score := eval.Score{
				Scorer: "classification", Name: "accuracy", Grade: eval.Graded{Value: 1, Passed: true}, Weight: 1,
				Class: &eval.Pair{Expected: "yes", Answer: "yes"},
			}
			if strings.Contains(fails[k], string("abcd"[arm])) {
				r.Ending, r.Response.Candidates[0].Text = eval.Failed{}, "who knows"
				score.Grade, score.Class = eval.Graded{}, &eval.Pair{Expected: "yes"}
			}
			if r.Scores = []eval.Score{score}; !yield(r) {
				return
			}
		}
	}
}

// comparedWith compares a document with another run, as its gate would.
func comparedWith(t *testing.T, base string) func(*journal.Document) {
	t.Helper()
	before, err := journal.Open(base)
	expect.OK(t, err)
	t.Cleanup(func() { before.Close() })
	return func(d *journal.Document) {
		c, err := gate.Compare(before, d, gate.Comparing{Base: "main", Rules: func(string) *eval.BaselineRule { return nil }})
		expect.OK(t, err)
		decided(d).Comparison = c
	}
}

// A reviewer goes from the verdict of an arm to the answers that got worse with one click. The filters of the matrix are about the arms
// that were chosen, and an answer says of itself that it fails newly.
func TestAReviewerDecidesInOneClick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, before := decideRun("", "d", "cd", "abcd")
	keep(t, dir, "20260101-000000-old", old, before)
	run, trials := decideRun("b", "d", "c", "acd", "b") // the last case is new
	b := open(t, record(t, run, trials, comparedWith(t, filepath.Join(dir, ".evalrun", "runs", "20260101-000000-old"))), 1280, 900, "light")
	b.visit("#/", ".verdict")
	expect.Same(t, "links", texts(b, ".lines a"), []string{"the 1 case that got worse"})
	b.click(".lines a", `document.querySelector('#grid .prose') !== null`)
	expect.Same(t, "address", evaluate[string](b, `location.hash`), "#/matrix?only=regressed&arm=pro%2Fnew")
	cases := func() string { return strings.Join(texts(b, ".line:not(.heads) .case a"), "|") }
	expect.Same(t, "what got worse", cases(), "case 0")
	for address, want := range map[string]string{
		"only=regressed&arm=pro%2Fold":                  "",
		"only=failing&arm=pro%2Fold":                    "case 3",
		"only=failing":                                  "case 0|case 1|case 2|case 3|case 4",
		"only=new":                                      "case 0",
		"only=differs&arm=pro%2Fold&arm=pro%2Fnew":      "case 0|case 3|case 4",
		"only=differs&arm=flash%2Fold&arm=flash%2Fnew":  "case 1|case 2",
		"only=differs&arm=pro%2Fold&arm=nowhere":        "",
		"only=differs&arm=nowhere":                      "case 0|case 1|case 2|case 3|case 4",
		"q=outcome%3Afail&arm=flash%2Fold":              "case 2|case 3",
		"only=failing&arm=pro%2Fold&q=-outcome%3Aerror": "case 3",
	} {
		b.visit("#/matrix?"+address, "#grid .line")
		expect.Same(t, address, cases(), want)
	}
	b.visit("#/matrix?only=failing&arm=pro%2Fnew", "#grid .prose")
	expect.Same(t, "found", ask(b, `class:yes "(?:^x|[" -outcome:pass`), "0 of 5 cases")
	expect.Same(t, "found", ask(b, `class:yes -outcome:pass`), "2 of 5 cases")
	kept := evaluate[string](b, `location.hash`)
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Enter))
	b.wait(".answer")
	evaluate[chromedp.Void](b, `void history.back()`)
	b.wait(".sheet .prose")
	state := evaluate[string](b, `location.hash + ' ' + document.getElementById('search').value`)
	expect.Same(t, "back", state, kept+" class:yes -outcome:pass")
	expect.Same(t, "back", cases(), "case 0|case 4")
	evaluate[chromedp.Void](b, `void history.forward()`)
	b.wait(".answer")
	b.visit("#/comparison", "h1")
	b.until(`document.querySelectorAll('details .chart').length === 1`)
	b.unfold()
	b.until(`document.querySelectorAll('details .chart').length === 4`)
	facts := evaluate[[]string](b, `[...document.querySelectorAll('details .chart')].map(c => c.previousElementSibling.textContent)`)
	expect.Same(t, "the first prompt", facts[0], "pass rate of head is higher in 0 cases, lower in 0, the same in 4.")
	expect.Same(t, "the second", facts[1], "pass rate of head is higher in 1 case, lower in 1, the same in 2.")
	b.plots("comparison")
	b.quiet()
}

// Every count of a confusion matrix leads to its trials, those outside of the classes too.
func TestConfusionLeadsToTrials(t *testing.T) {
	t.Parallel()
	run, trials := decideRun("b", "d", "c", "acd", "")
	b := open(t, record(t, run, trials, nil), 1280, 900, "light")
	b.visit("#/", "table.matrix")
	b.unfold()
	type cell struct{ Count, Href string }
	all := evaluate[[]cell](b, `[...document.querySelectorAll('table.matrix a')].
		map(a => ({Count: a.textContent, Href: a.getAttribute('href')}))`)
	expect.Same(t, "counts", len(all), 8) // of each arm the right ones, and those outside
	for _, c := range all {
		b.visit(c.Href, "#grid .row")
		expect.Same(t, c.Href, found(b), c.Count+" of 20 trials")
	}
	b.quiet()
}

// The points of a comparison are in the page once, and a case without a value has none.
func TestACaseWithoutAValueHasNoPoint(t *testing.T) {
	t.Parallel()
	run, trials := decideRun("", "a")
	b := open(t, record(t, run, trials, func(d *journal.Document) {
		decided(d).Comparison = &compare.Comparison{Arms: []compare.ArmComparison{{Suite: "s", HeadArm: "pro/old", BaseArm: "pro/old"}, {
			Suite: "s", HeadArm: "pro/new", BaseArm: "pro/new", Points: &compare.Points{
				Cases: []string{"case 0"}, Metrics: []compare.PointMetric{{Name: "pass", Base: []float64{math.NaN()}, Head: []float64{1}}},
			},
		}}}
	}), 1280, 900, "dark")
	b.visit("#/comparison", "details")
	b.unfold()
	b.until(`document.querySelectorAll('#main details').length === 2 && !document.getElementById('main').textContent.includes('Reading')`)
	text := evaluate[string](b, `document.getElementById('main').textContent`)
	if !strings.Contains(text, "Not drawn") || !strings.Contains(text, "No case has a value on both.") {
		t.Errorf("got %q, want `Not drawn`, and that no case has a value on both", text)
	}
	b.quiet()
}
