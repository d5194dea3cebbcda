package rundir

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/journal"
)

// complete makes a run below .evalrun/runs that began at a time and is complete.
func complete(t *testing.T, d Dir, id string, began time.Time) (dir string) {
	t.Helper()
	dir, err := d.Make("", id)
	expect.OK(t, err)
	run := &eval.Run{ID: id, StartedAt: began.Format(time.RFC3339Nano), Plan: eval.RunPlan{Trials: 1}}
	w, err := journal.Create(dir, run, map[string][]byte{"suites/0/s.yaml": []byte("text")})
	expect.OK(t, err)
	expect.OK(t, w.Append(&eval.Result{Trial: eval.Trial{ID: "a", Suite: "s", Case: "c", Arm: "a/b"}, Ending: eval.Passed{}}))
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	return dir
}

// A complete run that another process has taken up stays, and goes when that is over; its bytes are those of its files.
func TestPruneLeavesWhatIsHeld(t *testing.T) {
	t.Parallel()
	d, now := At(t.TempDir()), time.Now()
	dir := complete(t, d, "one", now.Add(-100*24*time.Hour))
	held, doc, err := journal.Resume(dir)
	expect.OK(t, err)
	got, err := d.Prune(Pruning{Older: 90 * 24 * time.Hour, Now: now})
	if err != nil || len(got.Deleted) != 0 || len(got.Kept) != 1 || got.Kept[0].Why != errInUse.Error() {
		t.Errorf("got %+v, %v, want the run to stay, in progress", got, err)
	}
	expect.OK(t, doc.Close())
	expect.OK(t, held.Finish(&eval.End{Reason: eval.EndCompleted}))
	bytes := sizeOf(dir)
	got, err = d.Prune(Pruning{Older: 90 * 24 * time.Hour, Now: now})
	if err != nil || len(got.Deleted) != 1 || got.Bytes != bytes || bytes == 0 {
		t.Errorf("got %+v, %v, want one run of %d bytes deleted", got, err, bytes)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the run directory: got %v, want that it does not exist", err)
	}
}

func TestPruneNeedsBothAgeAndNumber(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, test := range []struct {
		keep  int
		older time.Duration
		want  int
	}{
		{0, 36 * time.Hour, 3}, {2, 0, 3}, {4, 36 * time.Hour, 1}, {1, 84 * time.Hour, 1}, {5, time.Hour, 0}, {9, time.Hour, 0},
	} {
		d := At(t.TempDir())
		for day, id := range []string{"e", "d", "c", "b", "a"} { // the names say nothing about the time
			complete(t, d, id, now.Add(-time.Duration(day)*24*time.Hour))
		}
		got, err := d.Prune(Pruning{Keep: test.keep, Older: test.older, Now: now})
		if err != nil || len(got.Deleted) != test.want || len(d.IDs()) != 5-test.want {
			t.Errorf("keep %d, older %s: got %d deleted, %v, want %d", test.keep, test.older, len(got.Deleted), err, test.want)
		}
	}
}

func TestSelectorsMatchTheirRuns(t *testing.T) {
	t.Parallel()
	runs := []*eval.Run{
		{Name: "a", Branch: "main", Commit: "0123", Labels: map[string]string{"nightly": ""}},
		{Name: "b", Branch: "feature/x", Commit: "0145", Labels: map[string]string{"team": "search"}},
		{Name: "c", Branch: "main", Commit: "0123", Labels: map[string]string{"nightly": "", "team": "ads"}},
		{},
	}
	for text, want := range map[string][]int{
		"latest:main": {2}, "latest:feature/x": {1}, "latest:*": {2}, "latest:none": nil,
		"branch:main": {0, 2}, "branch:feature/*": {1}, "branch:*": {0, 1, 2},
		"label:nightly": {0, 2}, "label:team": {1, 2}, "label:team=search": {1}, "label:team=*": {1, 2}, "label:t*": {1, 2},
		"label:nightly=x": nil, "name:b": {1}, "name:*": {0, 1, 2}, "commit:012": {0, 2}, "commit:0": {0, 1, 2}, "commit:9": nil,
	} {
		s, ok := eval.ParseSelector(text)
		got := Choose([]eval.Selector{s}, len(runs), func(i int) *eval.Run { return runs[i] })
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s, a selector: %t (-want +got):\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{"latest", "latest:", "label:", ":x", "Label:x", "c:/runs", "other:x", "20260102-030405.000-a"} {
		if s, ok := eval.ParseSelector(text); ok {
			t.Errorf("%q: got the selector %+v, want none", text, s)
		}
	}
}

// One of each kind has to fit, and each `latest` adds one run.
func TestSeveralSelectorsMustAllFit(t *testing.T) {
	t.Parallel()
	runs := []*eval.Run{
		{Branch: "main", Labels: map[string]string{"a": ""}},
		{Branch: "dev", Labels: map[string]string{"a": ""}},
		{Branch: "main", Labels: map[string]string{"b": ""}},
		{Branch: "main", Labels: map[string]string{"c": ""}},
	}
	for _, test := range []struct {
		texts []string
		want  []int
	}{
		{[]string{"label:a", "label:b"}, []int{0, 1, 2}},
		{[]string{"label:a", "label:b", "branch:main"}, []int{0, 2}},
		{[]string{"latest:main", "latest:dev"}, []int{1, 3}},
		{[]string{"latest:main", "label:a"}, []int{0}},
		{nil, []int{0, 1, 2, 3}},
	} {
		var selectors []eval.Selector
		for _, text := range test.texts {
			s, _ := eval.ParseSelector(text)
			selectors = append(selectors, s)
		}
		got := Choose(selectors, len(runs), func(i int) *eval.Run { return runs[i] })
		expect.Same(t, fmt.Sprintf("%q", test.texts), got, test.want)
	}
}
