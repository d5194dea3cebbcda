package overview

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// trial is a trial of the suite "s"; of errors it has the error, of others an answer.
func trial(n int, name, arm string, repeat int, outcome eval.Outcome) *eval.Result {
	r := &eval.Result{
		Trial: eval.Trial{
			N: n, ID: fmt.Sprintf("%016x", n), CaseID: "id of " + name, Suite: "s", Case: name, Arm: arm, Repeat: repeat,
		},
		Ending: testrun.Ending(outcome), Timing: &eval.Timing{LatencyMs: 100},
		Usage: &eval.Usage{PromptTokens: 4, OutputTokens: 3, TotalTokens: 7, Source: eval.UsageService},
	}
	switch outcome {
	case eval.Err:
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindStatus, "no")}
	case eval.Skip:
		r.Ending = eval.Skipped{Reason: "budget"}
	default:
		r.Response = testrun.Answered("x", "STOP")
	}
	return r
}

// rows is a run of one arm, a line for each case with a letter for each repeat: p passes, f fails, e is an error, s was not sent.
func rows(t *testing.T, change func(*eval.Run), end *eval.End, lines ...string) *journal.Document {
	t.Helper()
	kinds := map[rune]eval.Outcome{'p': eval.Pass, 'f': eval.Fail, 'e': eval.Err, 's': eval.Skip}
	var trials []*eval.Result
	for i, line := range lines {
		for k, letter := range line {
			trials = append(trials, trial(len(trials), fmt.Sprint("c", i), "t/p", k+1, kinds[letter]))
		}
	}
	run := eval.Run{ID: "r", Suites: []eval.RunSuite{{Name: "s"}}, Plan: eval.RunPlan{Trials: len(trials), Arms: []string{"t/p"}}}
	if change != nil {
		change(&run)
	}
	return testrun.Record(t, &run, end, trials...)
}

func completed() *eval.End { return &eval.End{Reason: eval.EndCompleted, FinishedAt: "later"} }

// The figures of a run are those of its arms, with rates by case and Wilson's interval.
func TestFiguresOfARunAreThoseOfItsArms(t *testing.T) {
	t.Parallel()
	got := New(rows(t, nil, completed(), "pp", "pf", "ff", "e"))
	expect.Same(t, "counts", got.Totals.Counts, eval.Counts{Pass: 3, Fail: 3, Error: 1})
	expect.Same(t, "trials", got.Totals.Trials, 7)
	expect.Same(t, "pass rate", *got.Totals.PassRate, 0.5)
	expect.Same(t, "rules of a gate without any", got.Gate.Rules, []journal.GateRule{})
	if len(got.Arms) != 1 {
		t.Fatalf("got %d arms, want one", len(got.Arms))
	}
	a := got.Arms[0]
	expect.Same(t, "arm and level", []any{a.Suite, a.Arm, *a.PassRate, a.Level}, []any{"s", "t/p", 0.5, 0.9})
	// Wilson with three cases and z = 1.6449: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
	const z, n, p = 1.6448536269514722, 3.0, 0.5
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n)) / (1 + z*z/n)
	expect.Same(t, "interval", *a.Interval, [2]float64{p - half, p + half}, cmpopts.EquateApprox(0, 1e-9))
}

// Without a gate there is no verdict, and each suite that states one has a case that could not be judged.
func TestWithoutAGateThereIsNoVerdict(t *testing.T) {
	t.Parallel()
	d := rows(t, func(r *eval.Run) { r.Suites[0].Gate = &eval.GateConfig{} }, completed(), "p")
	d.Decision = nil
	got := New(d)
	expect.Same(t, "gate", got.Gate, nil)
	expect.Same(t, "why", got.NotApplied, NotApplied)
	expect.Same(t, "cases", got.Totals.Cases, journal.CaseCounts{Tests: 2, Errors: 1})
	if HasPassed(d) || len(Rules(d)) > 0 {
		t.Errorf("got passed %v and the rules %v, want neither", HasPassed(d), Rules(d))
	}
}

// Without anything judged there is no rate, and no interval.
func TestWithoutJudgedTrialsThereIsNoRate(t *testing.T) {
	t.Parallel()
	got := New(rows(t, nil, completed(), "e", "s"))
	expect.Same(t, "rates", [2]*float64{got.Totals.PassRate, got.Arms[0].PassRate}, [2]*float64{})
	expect.Same(t, "interval", got.Arms[0].Interval, nil)
}

// How a run ended is in its overview: killed, interrupted, incomplete.
func TestTheOverviewSaysHowTheRunEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end                  *eval.End
		lines                string
		interrupted, partial bool
	}{
		"completed":     {completed(), "p", false, false},
		"killed":        {nil, "p", true, true},
		"interrupted":   {&eval.End{Reason: eval.EndInterrupted}, "p", true, true},
		"by its budget": {&eval.End{Reason: eval.EndBudget, Message: "spent"}, "s", false, true},
	} {
		got := New(rows(t, nil, test.end, test.lines)).Run
		expect.Same(t, name, [2]bool{got.Interrupted, got.Partial}, [2]bool{test.interrupted, test.partial})
		if test.end != nil {
			expect.Same(t, name+": reason and message", [2]string{string(got.Reason), got.Message}, [2]string{
				string(test.end.Reason), test.end.Message,
			})
		}
	}
}

// Copies and signatures are of use to evalrun alone.
func TestTheOverviewLeavesOutWhatIsForEvalrun(t *testing.T) {
	t.Parallel()
	got := New(
		rows(t, func(r *eval.Run) { r.Copies, r.Signature = map[string]string{"suites/s.yaml": "x"}, "signed" }, completed(), "p"),
	)
	expect.Same(t, "copies and signature", [2]any{len(got.Run.Copies), got.Run.Signature}, [2]any{0, ""})
}

// An arm says which model it is, and how its answers are drawn.
func TestAnArmIsDescribedByItsTarget(t *testing.T) {
	t.Parallel()
	d := rows(t, func(r *eval.Run) {
		r.Models = []eval.Model{{Name: "models/pro", APIVersion: "v1", Version: "007", Temperature: new(0.9), TopK: new(3)}}
		r.Plan.Targets = []eval.RunTarget{{
			Suite: "s", Name: "t", Model: "pro", APIVersion: "v1", Stream: true, GenerationConfig: &eval.GenerationConfig{Temperature: new(0.0)},
		}}
	}, completed(), "p")
	a := New(d).Arms[0]
	expect.Same(t, "target", []any{a.Target, a.Model, a.Version, a.Stream}, []any{"t", "pro", "007", true})
	expect.Same(t, "sampling", a.Sampling.String(), "temperature 0, topK 3 (default)")
	plain := New(rows(t, nil, completed(), "p")).Arms[0]
	expect.Same(t, "an arm of an old run", []any{plain.Target, plain.Sampling}, []any{"", (*sampling)(nil)})
}

// values are the values of a list; nil is -1.
func values(of []*float64) (out []float64) {
	for _, v := range of {
		if v == nil {
			out = append(out, -1)
			continue
		}
		out = append(out, *v)
	}
	return out
}

// Repeats have the states of their cases and the estimates of pass@k and pass^k by k.
func TestRepeatsHaveTheStatesOfTheirCases(t *testing.T) {
	t.Parallel()
	d := rows(t, nil, completed(), "ppp", "fff", "ppf", "pf", "ee")
	r := RepeatsOf(d, "s", &d.Summary.Suites[0].Arms[0])
	expect.Same(t, "states", r.RepeatCounts, journal.RepeatCounts{StablePass: 1, StableFail: 1, Flaky: 2})
	near := cmpopts.EquateApprox(0, 1e-12)
	expect.Same(t, "majority, ties lost", r.Majority, 0.5)
	expect.Same(t, "at least k", values(r.AtLeastK), []float64{0.75, 0.5, 1.0 / 3}, near)
	// pass@k = 1 - C(n-c, k)/C(n, k) and pass^k = C(c, k)/C(n, k), averaged over the cases with k repeats or more
	expect.Same(t, "pass@k", values(r.PassAtK), []float64{(1 + 0 + 2.0/3 + 0.5) / 4, (1 + 0 + 1 + 1) / 4.0, 2.0 / 3}, near)
	expect.Same(t, "pass^k", values(r.PassHatK), []float64{(1 + 0 + 2.0/3 + 0.5) / 4, (1 + 0 + 1.0/3 + 0) / 4, 1.0 / 3}, near)
	expect.Same(t, "in words", r.String(), "of 4 cases 1 always pass, 1 never, 2 are flaky; pass@3 0.667, pass^3 0.333")
}

// Cases that were judged once have no repeats; more than ten are counted together.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	once := rows(t, nil, completed(), "p", "f", "pe")
	if r := RepeatsOf(once, "s", &once.Summary.Suites[0].Arms[0]); r != nil {
		t.Errorf("got %+v of cases that were judged once, want none", r)
	}
	many := rows(t, nil, completed(), strings.Repeat("p", 15))
	r := RepeatsOf(many, "s", &many.Summary.Suites[0].Arms[0])
	expect.Same(t, "most k", [3]int{len(r.AtLeastK), len(r.PassAtK), len(r.PassHatK)}, [3]int{mostK, mostK, mostK})
}
