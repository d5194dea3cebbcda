package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// repeatedRun has one case with 300 repeats on each of two arms, and one whose texts were not kept.
func repeatedRun() (eval.Run, func(yield func(*eval.Result) bool)) {
	run := eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00Z", Emulator: true,
		CommandOptions: &eval.RunOptions{Options: eval.Options{NoContent: true}},
		Suites:         []eval.RunSuite{{Name: "s"}, {Name: "t"}},
		Plan:           eval.RunPlan{Trials: 700, Arms: []string{"pro/a", "pro/b"}},
	}
	return run, func(yield func(*eval.Result) bool) {
		n := 0
		for k := range 300 {
			for _, arm := range run.Plan.Arms {
				r := bigTrial(0) // it passes
				r.Trial = eval.Trial{N: n, ID: fmt.Sprint(n), CaseID: "c", Suite: "s", Case: "a / b? 100 %", Arm: arm, Repeat: k + 1}
				r.Response.Candidates[0].Text = fmt.Sprintf("answer %d on %s", k+1, arm)
				if arm == "pro/a" && k == 4 {
					r.Ending, r.Scores[0].Grade = eval.Failed{}, eval.Graded{}
					r.Scores[0].Diff = "expected: one green word\nactual:   one red word, and more"
				}
				if n++; !yield(r) {
					return
				}
			}
		}
		r := bigTrial(0)
		r.Trial = eval.Trial{N: n, ID: "kept", Suite: "t", Case: "a / b? 100 %", Arm: "pro/a", Repeat: 1}
		r.Withhold()
		yield(r)
	}
}

// The page of a case shows each arm's worst repeat first, any repeat on request, and what differs word by word.
func TestThePageOfACaseShowsTheWorstRepeatFirst(t *testing.T) {
	t.Parallel()
	run, trials := repeatedRun()
	b := open(t, record(t, run, trials, nil), 1600, 1000, "light")
	text := func(selector string) string {
		t.Helper()
		return evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(el => el.textContent).join('|')`, selector))
	}
	is := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	const address = "#/case/s/a%20%2F%20b%3F%20100%20%25"
	b.visit(address, ".answer")
	is("title", text("h1"), "a / b? 100 %")
	is("answers", text(".answer .text .prose"), "answer 5 on pro/a|answer 1 on pro/b")
	is("removed", text(".diff del"), "green")
	is("added", text(".diff ins"), "red|, and more")
	is("one prompt for each text", fmt.Sprint(strings.Count(text(".prompt h2"), "Prompt as sent")), "1")
	evaluate[chromedp.Void](b, `void document.querySelectorAll('.answer')[1].querySelectorAll('.repeats button')[41].click()`)
	is("another repeat", text(".answer .text .prose"), "answer 5 on pro/a|answer 42 on pro/b")
	b.visit(address+"?arm=pro%2Fb&repeat=299", ".answer")
	is("a repeat beyond those that are shown", text(".answer.chosen .text .prose"), "answer 299 on pro/b")
	b.visit("#/case/t/a%20%2F%20b%3F%20100%20%25", ".answer")
	is("no text is shown", text(".prose"), "")
	if notes := text(".note"); strings.Count(notes, "Not kept: ") != 2 {
		t.Errorf("prompt and answer are said to be withheld: %s, want 2 notes `Not kept: `", notes)
	}
	is("what the reader must know", text("header .chip"), "emulator|incomplete|no content")
	b.visit("#/case/s/nobody", "h1")
	is("an unknown case", text("h1"), "No such case")
	b.visit("#/cases?note=flaky", "#grid")
	is("flaky", found(b), "300 of 601 trials")
	b.quiet()
}

// A run without trials, and one without anything, are shown as what they are.
func TestEmptyRunsAreShownAsEmpty(t *testing.T) {
	t.Parallel()
	none := func(func(*eval.Result) bool) {}
	for name, change := range map[string]func(*journal.Document){
		"empty": nil,
		"not compared": func(d *journal.Document) {
			decided(d).NotCompared = true
		},
		"not comparable": func(d *journal.Document) {
			arms := []compare.ArmComparison{{HeadArm: "a/b"}}
			decided(d).Comparison = &compare.Comparison{Verdict: eval.Invalid, Why: "the baseline is gone", Arms: arms}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, record(t, eval.Run{ID: "r"}, none, change), 390, 800, "dark")
			for _, hash := range []string{"#/", "#/cases", "#/comparison", "#/nonsense"} {
				b.visit(hash, "h1")
			}
			b.quiet()
		})
	}
}
