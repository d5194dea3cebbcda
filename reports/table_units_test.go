package reports

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// drawnRun writes a run whose cases are sometimes equal, are in quarantine, or come from files that do not say what was
// sent.
func drawnRun(t *testing.T, random *rand.Rand) *journal.Document {
	t.Helper()
	run := eval.Run{ID: "r", StartedAt: "2026-01-01T00:00:00Z", Plan: eval.RunPlan{Arms: []string{"t/p", "t/q"}}}
	dir := filepath.Join(t.TempDir(), "run")
	w, err := journal.Create(dir, &run, nil)
	expect.OK(t, err)
	requests, n := 1+random.IntN(40), 0
	for caseNo := range random.IntN(60) {
		for _, arm := range run.Plan.Arms[:1+random.IntN(2)] {
			request := fmt.Sprint("asks ", random.IntN(requests))
			if random.IntN(20) == 0 {
				request = ""
			}
			quarantine := map[bool]*eval.Quarantine{true: {Until: "2027-01-01"}}[random.IntN(10) == 0]
			for repeat := range 1 + random.IntN(3) {
				expect.OK(t, w.Append(&eval.Result{
					Trial: eval.Trial{
						N: n, ID: fmt.Sprintf("%016x", n), Suite: "s", Case: fmt.Sprint("case ", caseNo), CaseID: fmt.Sprint("id ", caseNo), Arm: arm,
						Repeat: repeat + 1, RequestHash: request, Quarantine: quarantine,
					},
					Ending: eval.Passed{},
				}))
				n++
			}
		}
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	d, err := journal.Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { _ = d.Close() }) // it was only read
	return d
}

// Whether a run has enough independent cases follows from a comparison of it with itself. Where it has too few, the
// table gives that number.
func TestRequestsAreTheUnitsOfAComparison(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(19, 3))
	few, many := 0, 0
	for range 60 {
		d := drawnRun(t, random)
		sides := map[[2]string]*compare.Side{}
		for f, err := range d.Facts() {
			expect.OK(t, err)
			addUnit(sides, f)
		}
		want := mostCounted
		for _, s := range sides {
			want = min(want, compare.NewPreview(s, s, nil).Effective)
		}
		const enough = 12
		if want < enough {
			few++
		} else {
			many, want = many+1, enough
		}
		report := table{screen: screen{d: d}}
		expect.Same(t, "independent cases", min(report.units(enough), enough), want)
	}
	if few == 0 || many == 0 {
		t.Errorf("got %d runs with few independent cases and %d with many, want both drawn", few, many)
	}
}
