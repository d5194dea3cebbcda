package history

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

func nights(t *testing.T, s *Store, most int) []Night {
	t.Helper()
	all, err := s.Nights("suite", "pro/ask", most, func(*RunRecord) bool { return true })
	expect.OK(t, err)
	return all
}

// Nights come by their start, whatever the order in which they were added; which runs are none, and why, is kept; and what is
// not from the answer leaves a result out.
func TestNightsAreWholeRunsInTheOrderOfTheirStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "history.db"))
	rules := []eval.DriftRule{eval.DefaultDrift()}
	gated := func(r *eval.Run) { r.Suites[0].Gate = &eval.GateConfig{Drift: rules} }
	half := func(k, _ int) eval.Outcome { return []eval.Outcome{eval.Pass, eval.Fail, eval.Skip}[k%3] }
	for _, one := range []sample{
		{id: 3, cases: 3, repeats: 2, outcome: half, change: gated},
		{id: 1, cases: 3},
		{id: 2, cases: 3, change: func(r *eval.Run) { r.Emulator = true }},
		{id: 4, cases: 3, killed: true},
		{id: 5, cases: 3, change: func(r *eval.Run) { r.Replay = "answers" }},
		{id: 6, cases: 3, change: func(r *eval.Run) {
			r.CommandOptions = &eval.RunOptions{}
			r.CommandOptions.Cases = []string{"a*"}
		}},
	} {
		add(t, s, one.write(t, dir))
	}
	all := nights(t, s, 10)
	var parts, ids []string
	for _, n := range all {
		ids, parts = append(ids, n.Run.ID), append(parts, n.Part)
	}
	expect.Same(t, "runs", ids, []string{"run-0001", "run-0002", "run-0003", "run-0004", "run-0005", "run-0006"})
	expect.Same(t, "parts", parts, []string{"", "emulator", "incomplete", "incomplete", "recorded answers", "selection"})
	expect.Same(t, "cases", len(all[0].Cases), 3)
	expect.Same(t, "passed", [2]int{all[0].Cases[0].Passed, all[0].Cases[0].Scored}, [2]int{1, 1})
	labels, err := s.Labels([]string{all[0].Cases[2].Key, "gone"})
	expect.OK(t, err)
	expect.Same(t, "labels", len(labels), 1)
	expect.Same(t, "name", labels[all[0].Cases[2].Key].Name, "case 2")
	expect.Same(t, "the newest night alone", len(nights(t, s, 1)), 6)
	known, err := s.DriftRules("suite", "pro/ask")
	expect.OK(t, err)
	expect.Same(t, "rules of the newest run", len(known), 0)
}

// A night that is gone is missed. One that is added again is not another one.
func TestAHistoryThatShrankKnowsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "history.db"))
	var dirs []string
	for id := 1; id <= 3; id++ {
		dirs = append(dirs, sample{id: id, cases: 2}.write(t, dir))
		add(t, s, dirs[id-1])
	}
	lost := func(want int) {
		t.Helper()
		n, err := s.Lost("suite", "pro/ask")
		expect.OK(t, err)
		expect.Same(t, "lost nights", n, want)
	}
	add(t, s, dirs[1])
	lost(0)
	execute(t, s, "DELETE FROM night WHERE run = (SELECT n FROM run WHERE id = 'run-0001')")
	lost(1)
	expect.Same(t, "a run without a night is of an earlier evalrun", nights(t, s, 9)[0].Part, "older")
}

// A run that waits for its batches is no night and no point of a trend until it is complete, and keeps the verdict that it had before.
func TestARunThatWaitsBecomesANight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "history.db"))
	of := sample{id: 1, cases: 3}.write(t, dir)
	add := func(verdict string) (RunRecord, []Point) {
		t.Helper()
		d, err := journal.Open(of)
		expect.OK(t, err)
		d.Decision = &journal.Decision{Verdict: verdict}
		expect.OK(t, s.Add(d), d.Close())
		runs, err := s.Runs(RunFilter{})
		expect.OK(t, err)
		points, err := s.Trend(Query{Suite: "suite", Arm: "pro/ask"})
		expect.OK(t, err)
		return runs[0], points
	}
	run, points := add("Incomplete")
	expect.Same(t, "points", len(points), 1)
	expect.Same(t, "part", nights(t, s, 9)[0].Part, "")
	for range 2 {
		expect.OK(t, os.RemoveAll(of))
		sample{id: 1, cases: 3, waits: true}.write(t, dir)
		run, points = add("Waiting")
		expect.Same(t, "waits for", *run.Waiting, journal.Waiting{Calls: 2, Batches: 1})
		expect.Same(t, "the verdict before", run.Earlier, "Incomplete")
		expect.Same(t, "points", len(points), 0)
		expect.Same(t, "part", nights(t, s, 9)[0].Part, "waiting")
	}
	expect.OK(t, os.RemoveAll(of))
	sample{id: 1, cases: 3}.write(t, dir)
	run, points = add("Passed")
	expect.Same(t, "the verdict", run.Verdict, "Passed")
	expect.Same(t, "points", len(points), 1)
	expect.Same(t, "part", nights(t, s, 9)[0].Part, "")
}
