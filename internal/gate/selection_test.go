package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

func drawnCases(cases []planned) map[string][]string {
	out := map[string][]string{}
	for _, c := range cases {
		if !slices.Contains(out[c.suite], c.caseID) {
			out[c.suite] = append(out[c.suite], c.caseID)
		}
	}
	return out
}

func plannedCases() []planned {
	var out []planned
	for _, suite := range []string{"s", "t"} {
		for c := range 50 {
			for range 2 { // arms
				out = append(out, planned{place: len(out), repeats: 1, suite: suite, caseID: fmt.Sprint(c), ordinal: len(out)/2 + 1})
			}
		}
	}
	return out
}

func TestASampleTakesWholeCases(t *testing.T) {
	t.Parallel()
	before := map[string][]string{}
	for n := 1; n <= 60; n++ {
		got := sample(plannedCases(), n, 7)
		if len(got) != 2*2*min(n, 50) {
			t.Fatalf("a sample of %d: got %d cases of arms, want 4 times as many, at most 200", n, len(got))
		}
		if !slices.IsSortedFunc(got, func(a, b planned) int { return a.place - b.place }) {
			t.Fatalf("a sample of %d: got another order, want that of the plan", n)
		}
		cases := drawnCases(got)
		for suite, smaller := range before {
			for _, c := range smaller {
				if !slices.Contains(cases[suite], c) {
					t.Errorf("the case %s of %s: got it in a sample of %d and not in one of %d, want it in both", c, suite, n-1, n)
				}
			}
		}
		before = cases
	}
	one, other := drawnCases(sample(plannedCases(), 10, 1)), drawnCases(sample(plannedCases(), 10, 2))
	if slices.Equal(one["s"], other["s"]) || slices.Equal(one["s"], one["t"]) {
		t.Error("got the same sample for another seed or suite, want another one")
	}
}

func TestASampleCountsEqualCasesSeparately(t *testing.T) {
	t.Parallel()
	var equal []planned
	for i := range 9 {
		equal = append(equal, planned{place: i, repeats: 1, suite: "s", caseID: "same", ordinal: i + 1})
	}
	if got := sample(equal, 4, 0); len(got) != 4 || got[0].place != 0 || got[3].place != 3 {
		t.Errorf("4 of 9: %v, want 4 with the first and the fourth", got)
	}
}

// cases are the cases of the suite of these tests, on two arms, two repeats each.
const cases = `[{name: a, vars: {x: 1}}, {name: b, vars: {x: 2}}, {name: c, vars: {x: 3}}, {name: d, vars: {x: 4}}]`

// planOf is the plan of a suite with some cases and places of it; nil are all.
func planOf(t *testing.T, cases string, places *eval.Places) *runner.Plan {
	t.Helper()
	var diags diag.List
	text := `version: 1
name: s
targets: [{name: t, model: svc-pro}, {name: u, model: svc-pro}]
prompts: [{name: p, text: "{{.x}}"}]
defaults: {repeats: 2, scorers: [{contains: x}]}
cases: ` + cases
	files := fstest.MapFS{"s.yaml": {Data: []byte(text)}}
	s := suite.Load(files, "s.yaml", scorers.Builtin(), suite.Options{Getenv: func(string) string { return "" }}, &diags)
	expect.OK(t, diags.Err())
	return runner.NewPlan([]*suite.Suite{s}, scorers.Builtin(), runner.Filter{Places: places}, "v1")
}

// ranWith records a run of the cases in which some trials, as CASE ARM REPEAT, have other outcomes than to pass.
func ranWith(t *testing.T, in rundir.Dir, name string, outcomes map[string]eval.Outcome) {
	t.Helper()
	w, err := journal.Create(in.Join(name), &eval.Run{ID: "id-of-" + name, StartedAt: "2026-01-02T03:04:05Z"}, nil)
	expect.OK(t, err)
	for trial := range planOf(t, cases, nil).Trials() {
		r := &eval.Result{Trial: trial.Trial, Ending: eval.Passed{}, Scores: []eval.Score{}}
		if o, ok := outcomes[fmt.Sprintf("%s %s %d", r.Case, r.Arm, r.Repeat)]; ok {
			r.Ending = testrun.Ending(o)
		}
		expect.OK(t, w.Append(r))
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
}

// selectedPlaces are the trials that options leave of the cases: each case of an arm with the number of its repeats.
func selectedPlaces(t *testing.T, in rundir.Dir, cases string, o eval.SelectionOptions) (left string, s *Selection) {
	t.Helper()
	s, err := NewSelection(&eval.Options{SelectionOptions: o}, in, "", func() *runner.Plan { return planOf(t, cases, nil) })
	expect.OK(t, err)
	var names []string
	for trial := range planOf(t, cases, s.Places).Trials() {
		if trial.Repeat == 2 { // the last one
			names = append(names, trial.Case+" "+trial.Target)
		}
	}
	return strings.Join(names, ", "), s
}

// --failed-in takes each case with all of its repeats on those arms on which a repeat failed or ended in an error, also under another
// name.
func TestFailedInTakesWhatFailed(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	ranWith(t, in, "run", map[string]eval.Outcome{"a t/p 2": eval.Fail, "b u/p 1": eval.Err, "c t/p 1": eval.Skip})
	ranWith(t, in, "good", nil)
	renamed := strings.Replace(cases, "name: a,", "name: first,", 1)
	replaced := strings.Replace(cases, "{name: a, vars: {x: 1}}", "{name: a, vars: {x: 9}}", 1)
	swapped := strings.NewReplacer("name: a,", "name: d,", "name: d,", "name: a,").Replace(cases)
	for _, test := range []struct{ cases, want string }{
		{cases, "a t, b u"},
		{swapped, "d t, b u, a t"}, // by variables, and by name
		{renamed, "first t, b u"},
		{replaced, "a t, b u"},
		{strings.Replace(cases, "{name: a, vars: {x: 1}}, ", "", 1), "b u"},
	} {
		got, s := selectedPlaces(t, in, test.cases, eval.SelectionOptions{FailedIn: "run"})
		if got != test.want || s.FailedIn != "id-of-run" || s.Nothing != "" {
			t.Errorf("of %s: %q of %s, want %q of id-of-run", test.cases, got, s.FailedIn, test.want)
		}
	}
	got, s := selectedPlaces(t, in, cases, eval.SelectionOptions{FailedIn: "good"})
	if got != "" || !strings.Contains(s.Nothing, "--failed-in good") {
		t.Errorf("where nothing failed: %q, %q, want nothing, and the filter that left it", got, s.Nothing)
	}
}

// --changed-since takes new cases, other requests, other variables, other scorers, and what the run skipped.
func TestChangedSinceTakesWhatIsNotInTheRun(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	ranWith(t, in, "run", map[string]eval.Outcome{"c u/p 2": eval.Skip, "d t/p 1": eval.Fail})
	ranWith(t, in, "same", nil)
	for change, want := range map[string]string{
		"|": "c u", // a failure is no change
		"{name: a, vars: {x: 1}}|{name: a, vars: {x: 9}}":                             "a t, a u, c u",
		"{name: a, vars: {x: 1}}|{name: e, vars: {x: 9}}, {name: a, vars: {x: 1}}":    "e t, e u, c u",
		"{name: a, vars: {x: 1}}|{name: a, vars: {x: 1}, scorers: [{contains: y}]}":   "a t, a u, c u",
		"{name: a, vars: {x: 1}}|{name: a, vars: {x: 1}, repeats: 3}":                 "a t, a u, c u",
		"{name: a, vars: {x: 1}}|{name: a, tags: [new], vars: {x: 1}}":                "c u",
		"{name: b, vars: {x: 2}}|{name: b, arms: [t/*], vars: {x: 2, unused: other}}": "b t, c u",
	} {
		old, changed, _ := strings.Cut(change, "|")
		got, s := selectedPlaces(t, in, strings.Replace(cases, old, changed, 1), eval.SelectionOptions{ChangedSince: "run"})
		if got != want || s.ChangedSince != "id-of-run" {
			t.Errorf("%s: %q, want %q", change, got, want)
		}
	}
	got, s := selectedPlaces(t, in, cases, eval.SelectionOptions{ChangedSince: "same"})
	if got != "" || !strings.Contains(s.Nothing, "--changed-since same") {
		t.Errorf("where nothing has changed: %q, %q, want nothing, and the filter that left it", got, s.Nothing)
	}
}

// Different filters are and, a sample is drawn from what they leave, and the first that leaves nothing is named.
func TestFiltersAreCombined(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	ranWith(t, in, "failed", map[string]eval.Outcome{"a t/p 1": eval.Fail, "b t/p 1": eval.Fail, "c t/p 1": eval.Fail})
	ranWith(t, in, "skipped", map[string]eval.Outcome{"b t/p 1": eval.Skip, "b u/p 1": eval.Skip, "d t/p 1": eval.Skip})
	ranWith(t, in, "same", nil)
	if got, _ := selectedPlaces(t, in, cases, eval.SelectionOptions{FailedIn: "failed", ChangedSince: "skipped"}); got != "b t" {
		t.Errorf("failed and changed: %q, want b t", got)
	}
	got, _ := selectedPlaces(t, in, cases, eval.SelectionOptions{FailedIn: "failed", Sample: 2})
	if strings.Count(got, " t") != 2 || strings.Contains(got, "d") {
		t.Errorf("two of those that failed: %q, want 2 of t alone", got)
	}
	if got, s := selectedPlaces(t, in, cases, eval.SelectionOptions{FailedIn: "same", ChangedSince: "same"}); got != "" ||
		!strings.Contains(s.Nothing, "--failed-in") {
		t.Errorf("both leave nothing: %q, %q, want the first one named", got, s.Nothing)
	}
}

func TestKnownSelectionsNeedNoOtherRun(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	plan := func() *runner.Plan { t.Error("a plan was made, want none"); return nil }
	var places eval.Places
	places.Add(0, 2)
	known := &eval.Options{SelectionOptions: eval.SelectionOptions{Selected: &places, FailedIn: "gone", Sample: 1}}
	if s, err := NewSelection(known, in, "", plan); err != nil || s.Places != &places || s.FailedIn != "gone" {
		t.Errorf("%+v, %v, want the known places", s, err)
	}
	o := &eval.Options{SelectionOptions: eval.SelectionOptions{Cases: []string{"a"}}}
	if s, err := NewSelection(o, in, "", plan); err != nil || s != nil {
		t.Errorf("without a filter: %+v, %v, want none", s, err)
	}
	_, err := NewSelection(&eval.Options{SelectionOptions: eval.SelectionOptions{FailedIn: "gone"}}, in, "", plan)
	if eval.CodeOf(err) != eval.CodeBadInput || err == nil || !strings.Contains(err.Error(), "--failed-in") {
		t.Errorf("a run that is gone: exit %d with %v, want bad input that names the flag", eval.CodeOf(err), err)
	}
}

func TestFindTrialWantsRequestAndNames(t *testing.T) {
	t.Parallel()
	in := rundir.At(t.TempDir())
	ranWith(t, in, "run", nil)
	d, err := in.Open("run")
	expect.OK(t, err)
	defer d.Close()
	found := func(cases string) (names []string) {
		for trial := range planOf(t, cases, nil).Trials() {
			place, ok := FindTrial(d, &trial.Trial)
			if ok && trial.Repeat == 1 {
				names = append(names, trial.Case+" "+trial.Target)
			}
			if k := d.Indexed(max(0, place)); ok && (k.Case != trial.Case || k.Arm != trial.Arm) {
				t.Errorf("got %[3]s on %[4]s, want %[1]s on %[2]s", trial.Case, trial.Arm, k.Case, k.Arm)
			}
		}
		return names
	}
	for change, want := range map[string]int{"|": 8, "name: a|name: z": 6, "x: 1|x: 9": 6} {
		old, changed, _ := strings.Cut(change, "|")
		if got := found(strings.Replace(cases, old, changed, 1)); len(got) != want {
			t.Errorf("%s: found %v, want %d", change, got, want)
		}
	}
	expect.Same(t, "result", found("[{name: a, vars: {x: 1}}]"), []string{"a t", "a u"})
}

// An export of version 0.1 does not say what it left out: it has a verdict only while the run has about as many cases.
func TestTheCoverageOfAnOldExportIsUnknown(t *testing.T) {
	t.Parallel()
	exported := func(r *eval.Run) { r.CommandOptions = nil }
	base := runOf(t, "base", exported, chosen("a", 20)...)
	for name, test := range map[string]struct {
		letters string
		each    int
		why     string
	}{
		"as many cases":       {"a", 20, ""},
		"few more":            {"a", 22, ""},
		"more than minPaired": {"a", 23, "coverage unknown"},
		"many more":           {"ab", 20, "coverage unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen(test.letters, test.each)...), byRule(passRule(0.3))))
			if !strings.HasPrefix(c.Why, test.why) || test.why == "" && c.Why != "" {
				t.Errorf("got %q, want %q", c.Why, test.why)
			}
			expect.Same(t, "coverage", strings.Contains(c.Cases.Coverage(), "coverage unknown"), true)
		})
	}
}

// A run of version 0.1 with a selection records it, and not what it left out.
func TestTheCoverageOfAnOldSelectionIsUnknown(t *testing.T) {
	t.Parallel()
	base := runOf(t, "base", func(r *eval.Run) { r.CommandOptions.Tags = []string{"tag-a"} }, chosen("a", 20)...)
	c := onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen("ab", 20)...), byRule(passRule(0.3))))
	expect.Same(t, "verdict", c.Verdict, eval.Invalid)
	c = onlyArm(t, compared(t, base, runOf(t, "head", nil, chosen("a", 20)...), byRule(passRule(0.3))))
	expect.Same(t, "why, with the same cases", c.Why, "")
}
