package overview_test

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// outcome is a case of a run; trials are its repeats, by letter: p passes, f fails, e is an error.
type outcome struct {
	suite, arm, name, trials string
	quarantined              bool
}

// run is a run in which cases came out as they say.
func run(t *testing.T, cases ...outcome) *journal.Document {
	t.Helper()
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 'e': eval.Err}
	var trials []*eval.Result
	for _, c := range cases {
		for i, letter := range c.trials {
			r := &eval.Result{
				Trial: eval.Trial{
					N: len(trials), ID: fmt.Sprintf("%016x", len(trials)), CaseID: "id " + c.name, Suite: c.suite, Case: c.name, Arm: c.arm,
					Repeat: i + 1,
				},
				Ending: testrun.Ending(kinds[letter]), Response: testrun.Answered("x", "STOP"), Timing: &eval.Timing{Attempts: 1},
			}
			if c.quarantined {
				r.Quarantine = &eval.Quarantine{Reason: "flaky", Owner: "me", Until: "2026-12-31"}
			}
			if r.Outcome() == eval.Err {
				r.Ending, r.Response = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}, nil
			}
			trials = append(trials, r)
		}
	}
	head := &eval.Run{
		ID: "r", StartedAt: "2026-01-01T00:00:00Z", Suites: []eval.RunSuite{{Name: "s"}, {Name: "other"}},
		Plan: eval.RunPlan{Trials: len(trials), Arms: []string{"t/a", "t/b"}},
	}
	return testrun.Record(t, head, &eval.End{Reason: eval.EndCompleted}, trials...)
}

// compared is an arm that was compared with the baseline, where 9 cases are.
func compared(change func(*compare.ArmComparison)) *compare.Comparison {
	a := compare.ArmComparison{Suite: "s", BaseArm: "t/a", HeadArm: "t/a", Cases: compare.Pairing{Of: 9}}
	if change != nil {
		change(&a)
	}
	return &compare.Comparison{Arms: []compare.ArmComparison{a}}
}

func flip(name string, basePassed, headPassed int) compare.Flip {
	return compare.Flip{Case: name, BasePassed: basePassed, BaseScored: 3, HeadPassed: headPassed, HeadScored: 3}
}

// flipped is a change of an arm in which a case of three repeats passes more or less often than before.
func flipped(name string, basePassed, headPassed int) func(*compare.ArmComparison) {
	return func(a *compare.ArmComparison) { a.Flips = []compare.Flip{flip(name, basePassed, headPassed)} }
}

func TestAFailureIsWhatTheComparisonSays(t *testing.T) {
	t.Parallel()
	const name = "שלום `x` \x1b[31m"
	for what, test := range map[string]struct {
		trials string
		change func(*compare.ArmComparison)
		want   overview.Standing
	}{
		"a case that passed before":       {"fff", flipped(name, 3, 0), overview.NewlyFailing},
		"one that is less often right":    {"fpf", flipped(name, 2, 1), overview.NewlyFailing},
		"one that is more often right":    {"fpp", flipped(name, 1, 2), ""},
		"one that is new":                 {"f", func(a *compare.ArmComparison) { a.Cases.Added = []string{name} }, overview.NotInBaseline},
		"one whose variables differ":      {"f", func(a *compare.ArmComparison) { a.Cases.Changed = []string{name} }, overview.Changed},
		"one that was not judged":         {"f", func(a *compare.ArmComparison) { a.Cases.Unscored = []string{name} }, ""},
		"one in quarantine before":        {"f", func(a *compare.ArmComparison) { a.Cases.Quarantined = []string{name} }, ""},
		"one that is as before":           {"f", nil, overview.AlsoFailed},
		"one that fails half of the time": {"fp", nil, overview.AlsoFailed},
		"one that mostly passes":          {"fpp", nil, ""},
		"one that passes":                 {"ppp", nil, ""},
		"one with errors alone":           {"ee", nil, ""},
		"one with an error and a failure": {"ef", nil, overview.AlsoFailed},
		"a baseline without cases":        {"f", func(a *compare.ArmComparison) { a.Cases.Of = 0 }, ""},
		"another suite":                   {"f", func(a *compare.ArmComparison) { a.Suite = "other" }, ""},
		"another arm":                     {"f", func(a *compare.ArmComparison) { a.HeadArm = "t/b" }, ""},
	} {
		d := run(t, outcome{"s", "t/a", name, test.trials, false})
		d.Decision.Comparison = compared(test.change)
		failures := overview.NewFailures(d)
		expect.Same(t, what, failures.Of("s", "t/a", name), test.want)
	}
}

func TestNoFailureIsNewWithoutABaseline(t *testing.T) {
	t.Parallel()
	for name, decision := range map[string]journal.Decision{
		"no comparison": {}, "not compared": {NotCompared: true}, "no arms": {Comparison: &compare.Comparison{}},
	} {
		d := run(t, outcome{"s", "t/a", "c", "f", false})
		d.Decision = &decision
		failures := overview.NewFailures(d)
		expect.Same(t, name, failures.Of("s", "t/a", "c"), "")
	}
}

func TestCasesInQuarantineStandNowhere(t *testing.T) {
	t.Parallel()
	d := run(t, outcome{"s", "t/a", "c", "fff", true}, outcome{"s", "t/a", "d", "fff", false})
	d.Decision.Comparison = compared(func(a *compare.ArmComparison) { a.Flips = []compare.Flip{flip("c", 3, 0), flip("d", 3, 0)} })
	failures := overview.NewFailures(d)
	expect.Same(t, "in quarantine", failures.Of("s", "t/a", "c"), "")
	expect.Same(t, "not in quarantine", failures.Of("s", "t/a", "d"), overview.NewlyFailing)
}

// A case of the same name in another suite, or on another arm, has a standing of its own.
func TestStandingsOfOneNameAreKeptApart(t *testing.T) {
	t.Parallel()
	d := run(
		t,
		outcome{"s", "t/a", "c", "f", false}, outcome{"s", "t/b", "c", "f", false}, outcome{"other", "t/a", "c", "f", false},
	)
	d.Decision.Comparison = compared(func(a *compare.ArmComparison) { a.Flips = []compare.Flip{flip("c", 3, 0)} })
	d.Comparison().Arms = append(d.Comparison().Arms, compare.ArmComparison{
		Suite: "s", BaseArm: "t/b", HeadArm: "t/b", Cases: compare.Pairing{Of: 9},
	})
	failures := overview.NewFailures(d)
	expect.Same(t, "the arm that got worse", failures.Of("s", "t/a", "c"), overview.NewlyFailing)
	expect.Same(t, "the arm that is as before", failures.Of("s", "t/b", "c"), overview.AlsoFailed)
	expect.Same(t, "the suite without a baseline", failures.Of("other", "t/a", "c"), "")
	for row := range d.Rows() {
		if row.Suite == "s" {
			expect.Same(t, "over its arms", failures.OfRow(row, []journal.ArmSummary{{Name: "t/a"}, {Name: "t/b"}}), overview.NewlyFailing)
			expect.Same(t, "over one arm", failures.OfRow(row, []journal.ArmSummary{{Name: "t/b"}}), overview.AlsoFailed)
			expect.Same(t, "over no arm", failures.OfRow(row, nil), "")
		}
	}
}

func TestOnlyTrialsThatFailedHaveAStanding(t *testing.T) {
	t.Parallel()
	d := run(t, outcome{"s", "t/a", "c", "fpe", false})
	d.Decision.Comparison = compared(nil)
	failures := overview.NewFailures(d)
	want := map[eval.Outcome]overview.Standing{eval.Fail: overview.AlsoFailed}
	for _, o := range []eval.Outcome{eval.Pass, eval.Fail, eval.Err, eval.Skip} {
		r := &eval.Result{Trial: eval.Trial{Suite: "s", Arm: "t/a", Case: "c"}, Ending: testrun.Ending(o)}
		expect.Same(t, "standing of "+string(o), failures.OfTrial(r), want[o])
	}
}

func TestNewFailuresComeFirstAndOldOnesLast(t *testing.T) {
	t.Parallel()
	order := []overview.Standing{overview.NewlyFailing, overview.NotInBaseline, overview.Changed, "", overview.AlsoFailed}
	expect.Same(t, "standings", overview.Standings(), order)
	for rank, s := range order {
		expect.Same(t, fmt.Sprintf("rank of %q", s), s.Rank(), rank)
	}
}
