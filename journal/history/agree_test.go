package history

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
)

// drawn writes a run whose outcomes, repeats, quarantines and scores are drawn.
func drawn(t *testing.T, folder string, seed uint64) *journal.Document {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	run := eval.Run{
		ID: fmt.Sprint("drawn-", seed), StartedAt: fmt.Sprintf("2026-01-01T00:00:%02dZ", seed),
		Plan: eval.RunPlan{Arms: []string{"t/p", "t/q"}},
	}
	dir := filepath.Join(folder, run.ID)
	w, err := journal.Create(dir, &run, nil)
	expect.OK(t, err)
	outcomes := []eval.Outcome{eval.Pass, eval.Pass, eval.Fail, eval.Err, eval.Skip}
	var extra []string
	n := 0
	for caseNo := range 30 {
		isolated := random.IntN(5) == 0
		for _, arm := range run.Plan.Arms {
			for repeat := range 1 + random.IntN(3) {
				r := &eval.Result{
					Trial:  eval.Trial{N: n, ID: fmt.Sprintf("%016x", n), Suite: "s", Case: fmt.Sprint("case ", caseNo), Arm: arm, Repeat: repeat + 1},
					Ending: testrun.Ending(outcomes[random.IntN(len(outcomes))]),
				}
				if isolated {
					r.Quarantine = &eval.Quarantine{Until: "2027-01-01"}
				}
				if r.Outcome() == eval.Pass || r.Outcome() == eval.Fail {
					value := random.Float64()
					r.Scores = []eval.Score{{Scorer: "x", Name: "tone", Grade: eval.Graded{Value: value}}}
					r.Usage = &eval.Usage{PromptTokens: 1, OutputTokens: random.IntN(9), TotalTokens: 10}
					r.Timing = &eval.Timing{LatencyMs: float64(random.IntN(100))}
				}
				if r.Outcome() == eval.Err {
					r.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
				}
				if random.IntN(8) == 0 {
					extra = append(extra, r.ID)
				}
				expect.OK(t, w.Append(r))
				n++
			}
		}
	}
	expect.OK(t, w.WriteStop(&eval.BaseExit{StoppedArm: eval.StoppedArm{Suite: "s", Arm: "t/p", Unused: extra}}))
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	d, err := journal.Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() }) // it was only read
	return d
}

// What the history has of a run is what its reports say: counts, tokens, pass rates, over the same cases.
func TestTheHistorySaysWhatReportsSay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	near := cmpopts.EquateApprox(0, 1e-9)
	for seed := range uint64(6) {
		d := drawn(t, folder, seed)
		expect.OK(t, s.Add(d))
		runs, err := s.Runs(RunFilter{Limit: 1})
		expect.OK(t, err)
		run := runs[0]
		expect.Same(t, "run", run.ID, d.Run.ID)
		expect.Same(t, "counts", run.Counts(), d.Summary.Counts)
		expect.Same(t, "tokens", run.Tokens(), d.Summary.Tokens.Total)
		want, _ := d.Summary.PassRate()
		got, _ := run.PassRate()
		expect.Same(t, "pass rate", got, want, near)
		for i, a := range d.Summary.Suites[0].Arms {
			rate, _ := a.PassRate()
			expect.Same(t, "arm", run.Arms[i].Arm, a.Name)
			expect.Same(t, "cases that were judged", run.Arms[i].Scored, a.Scored)
			expect.Same(t, "pass rate of the arm", *run.Arms[i].PassRate, rate, near)
			points := trend(t, s, Query{Suite: "s", Arm: a.Name, Limit: 1})
			expect.Same(t, "the last point of its trend", points[0].Value, rate, near)
		}
	}
}

func TestARunThatIsAddedAgainIsReplaced(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	d := drawn(t, folder, 1)
	expect.OK(t, s.Add(d), s.Add(d), s.Add(d))
	runs, err := s.Runs(RunFilter{})
	expect.OK(t, err)
	expect.Same(t, "runs", len(runs), 1)
	expect.Same(t, "counts", runs[0].Counts(), d.Summary.Counts)
}

func TestAFilterNarrowsTheFiguresOfARun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, filepath.Join(folder, "history.db"))
	d := drawn(t, folder, 2)
	expect.OK(t, s.Add(d))
	runs, err := s.Runs(RunFilter{Arms: eval.Patterns{"*/q"}})
	expect.OK(t, err)
	want := d.Summary.Suites[0].Arms[1]
	expect.Same(t, "arm", [2]any{len(runs[0].Arms), runs[0].Arms[0].Arm}, [2]any{1, "t/q"})
	expect.Same(t, "counts", runs[0].Counts(), want.Counts)
	rate, _ := want.PassRate()
	got, _ := runs[0].PassRate()
	expect.Same(t, "pass rate", got, rate, cmpopts.EquateApprox(0, 1e-9))
}

// A metric that every run has is distinct from a scorer with its name.
func TestNamedMetricsAreNotBuiltIn(t *testing.T) {
	t.Parallel()
	for scorer, want := range map[string]string{
		"tone": "tone", "pass": "score:pass", "errors": "score:errors", "latency": "score:latency", "tokens": "score:tokens",
		"score:tone": "score:score:tone", "Pass": "Pass", "": "",
	} {
		expect.Same(t, scorer, NamedMetric(scorer), want)
	}
}
