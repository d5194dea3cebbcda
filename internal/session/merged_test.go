package session

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
)

// shards runs a suite in `of` parts, into directories by their numbers.
func (s *site) shards(of int, prefix string, o eval.Options) (names []string) {
	s.Helper()
	for i := 1; i <= of; i++ {
		o.Shard = eval.Shard{Index: i, Of: of}
		names = append(names, fmt.Sprintf("%s%d", prefix, i))
		s.run(names[i-1], o, "s.yaml")
	}
	return names
}

// Merge joins shards. Package runs, which imports this one, sets it.
var Merge func(dir rundir.Dir, shards []string, out string, getenv func(string) string) (string, error)

// merge joins shards and returns the run directory.
func (s *site) merge(shards []string, out string) (string, error) {
	return Merge(s.at, shards, out, s.getenv)
}

// trialsOfRun are the trials of a run in the order of the plan, without what differs from run to run.
func (s *site) trialsOfRun(name string) (out []string) {
	s.Helper()
	for r, err := range s.open(name).Trials() {
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%d %s %s %s #%d %s %q", r.N, r.ID, r.Case, r.Arm, r.Repeat, r.Outcome(), r.Response.Text()))
	}
	return out
}

// The shards of a plan, in any order, are the run without shards: each trial once, in the order of the plan, and paid once.
func TestMergeIsTheRunWithoutShards(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	repeats := eval.Options{SelectionOptions: eval.SelectionOptions{Repeats: 3}}
	s.run("whole", repeats, "s.yaml")
	shards := s.shards(3, "shard", repeats)
	calls := s.calls()
	dir, err := s.merge([]string{shards[2], shards[0], shards[1]}, "merged")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.at.Join("merged"), dir); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.trialsOfRun("whole"), s.trialsOfRun("merged")); diff != "" {
		t.Errorf("trials (-whole +merged), want no difference:\n%s", diff)
	}
	whole, merged := s.open("whole"), s.open("merged")
	if merged.Partial() || merged.Run.Plan.Shard != nil || merged.Run.Plan.Trials != 12 || merged.Spent.Attempts != whole.Spent.Attempts {
		t.Errorf("plan %+v and %d calls, want one whole of 12 trials and %d calls", merged.Run.Plan, merged.Spent.Attempts, whole.Spent.Attempts)
	}
	if diff := cmp.Diff(whole.Summary.Counts, merged.End.Counts); diff != "" {
		t.Errorf("counts (-whole +merged), want no difference:\n%s", diff)
	}
	for _, shard := range shards {
		if d := s.open(shard); merged.Run.StartedAt > d.Run.StartedAt || merged.End.FinishedAt < d.End.FinishedAt {
			t.Errorf("the merged run is from %s to %s, and the %s of it began at %s and ended at %s; want it to span them",
				merged.Run.StartedAt, merged.End.FinishedAt, shard, d.Run.StartedAt, d.End.FinishedAt)
		}
	}
	if _, err := s.resume("merged", Options{}, true); err != nil { // it is a run like any other, and signed
		t.Errorf("resuming: %v, want no error", err)
	}
	if got := s.calls(); got != calls {
		t.Errorf("%d calls were made, want none", got-calls)
	}
}

// The lines of a merged run are in the order of the plan.
func TestMergeWritesInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	names := s.shards(3, "shard", eval.Options{SelectionOptions: eval.SelectionOptions{Repeats: 3}})
	if _, err := s.merge(names, "merged"); err != nil {
		t.Fatal(err)
	}
	var places []int
	for _, n := range regexp.MustCompile(`(?m)^{"type":"trial","n":(\d+),`).FindAllStringSubmatch(s.read("merged/run.jsonl"), -1) {
		place, _ := strconv.Atoi(n[1]) // digits
		places = append(places, place)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, places); diff != "" {
		t.Errorf("order of the lines (-want +got):\n%s", diff)
	}
}

// Runs that are not the shards of one plan are refused. No directory is made.
func TestMergeRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	s.run("whole", eval.Options{}, "s.yaml")
	s.shards(2, "a", eval.Options{})
	s.shards(3, "three", eval.Options{})
	s.shards(2, "vars", eval.Options{Vars: map[string]string{"w": "x"}})
	half := 0.5
	s.shards(2, "gate", eval.Options{GateOptions: eval.GateOptions{MinPassRate: &half}})
	s.shards(2, "budget", eval.Options{LimitOptions: eval.LimitOptions{BudgetCalls: 1, Concurrency: 1}})
	other := newSite(t, "")
	other.at, other.env["EVALRUN_TRUST_KEY"] = s.at, s.env["EVALRUN_TRUST_KEY"]
	other.shards(2, "other", eval.Options{})
	for _, test := range []struct {
		names []string
		says  []string
	}{
		{[]string{"a1"}, []string{"2/2"}},
		{[]string{"a1", "a2", "a1"}, []string{"a1", "1/2"}},
		{[]string{"a1", "whole"}, []string{"whole", "--shard"}},
		{[]string{"a1", "three2"}, []string{"three2", "plan"}},
		{[]string{"a1", "vars2"}, []string{"vars2", "plan"}},
		{[]string{"a1", "gate2"}, []string{"gate2", "gate"}},
		{[]string{"a1", "other2"}, []string{"other2", "service"}},
		{[]string{"budget1", "budget2"}, []string{"evalrun resume budget"}},
		{[]string{"a1", "gone"}, []string{"gone"}},
	} {
		dir, err := s.merge(test.names, "merged")
		s.refused(err, eval.CodeBadInput, test.says...)
		if _, there := os.Stat(s.at.Join("merged")); dir != "" || there == nil {
			t.Fatalf("merging %v has made %s, want nothing made", test.names, s.at.Join("merged"))
		}
	}
	if _, err := s.merge([]string{"a1", "a2"}, "whole"); err == nil || !strings.Contains(err.Error(), "whole") {
		t.Errorf("merging into a run that is there: %v, want it refused", err)
	}
	if diff := cmp.Diff(fourOutcomes, s.outcomes("whole")); diff != "" {
		t.Errorf("the run that was there (-want +got):\n%s", diff)
	}
}

// A shard whose copy of the suite was changed is refused.
func TestMergeRefusesAChangedCopy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	names := s.shards(2, "a", eval.Options{})
	s.write("a2/suites/0/s.yaml", strings.Replace(fourSuite, "x1", "x9", 1))
	_, err := s.merge(names, "merged")
	s.refused(err, eval.CodeBadInput, "s.yaml")
}

// A merged run is signed only when all of its shards are the user's own.
func TestMergeSignsOnlyOwnShards(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("s.yaml", fourSuite)
	names := s.shards(2, "a", eval.Options{})
	if _, err := s.merge(names, "own"); err != nil {
		t.Fatal(err)
	}
	s.env["EVALRUN_TRUST_KEY"] = "fedcba9876543210"
	if _, err := s.merge(names, "strange"); err != nil {
		t.Fatal(err)
	}
	for name, signed := range map[string]bool{"own": true, "strange": false} {
		if got := s.open(name).Run.Signature != ""; got != signed {
			t.Errorf("%s is signed: %v, want %v", name, got, signed)
		}
	}
}
