package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/testrun"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/journal/history"
)

// badInput fails the test unless an error is bad input whose text has each of the names.
func badInput(t *testing.T, err error, names ...string) {
	t.Helper()
	if err == nil || eval.CodeOf(err) != eval.CodeBadInput {
		t.Errorf("got exit %d with %v, want bad input", eval.CodeOf(err), err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("got %q, want it to name %q", err, name)
		}
	}
}

func put(t *testing.T, d Dir, name, text string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(d.Join(name)), 0o755))
	expect.OK(t, os.WriteFile(d.Join(name), []byte(text), 0o600))
}

// endedRun makes a run of two trials, one of them with an outcome, with an end.
func endedRun(t *testing.T, d Dir, named string, outcome eval.Outcome, end *eval.End) {
	t.Helper()
	dir := d.Join(named)
	w, err := journal.Create(dir, &eval.Run{ID: "id-of-" + named, StartedAt: "2026-01-02T03:04:05Z", Plan: eval.RunPlan{Trials: 1}}, nil)
	if err == nil {
		err = w.Append(&eval.Result{Trial: eval.Trial{ID: "a", Suite: "s", Case: "c", Arm: "a/b"}, Ending: testrun.Ending(outcome)})
	}
	if err == nil {
		err = w.Finish(end)
	}
	expect.OK(t, err)
}

// Ids sort by the time of their runs, to the millisecond, and two runs of one moment have two.
func TestIDsAreSortedByTime(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 30, 23, 59, 59, 998e6, time.UTC)
	var ids []string
	for i := range 4 {
		ids = append(ids, NewID(at.Add(time.Duration(i)*time.Millisecond)))
	}
	if second := NewID(at); !slices.IsSorted(ids) || second == NewID(at) {
		t.Errorf("ids %v, want them in order, and each once", ids)
	}
	if strings.ContainsAny(ids[0], `/\: `) {
		t.Errorf("got %q, want a name of a folder on every system", ids[0])
	}
}

func TestLatestIsTheNewestRun(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	_, err := d.Open("latest")
	badInput(t, err, "latest")
	for _, id := range []string{"20260102-030405.000-b", "20251231-235959.999-f", "20260102-030405.000-a"} {
		newRun(t, d, "", id)
	}
	newRun(t, d, "elsewhere", "20270101-000000.000-a") // named by its user, so not among those
	put(t, d, ".evalrun/runs/20280101-000000.000-a/notes.txt", "a folder without a run")
	put(t, d, ".evalrun/runs/20290101-000000.000-a", "a file")
	if got, want := d.Path("latest"), d.Join(".evalrun/runs/20260102-030405.000-b"); got != want {
		t.Errorf("Path(latest) = %s, want %s", got, want)
	}
	expect.Same(t, "IDs, the oldest first", d.IDs(), []string{"20251231-235959.999-f", "20260102-030405.000-a", "20260102-030405.000-b"})
	_, err = d.Open("20260102")
	badInput(t, err, "20260102", "20260102-030405.000-b")
}

func TestAPathWinsOverAnIDOfItsName(t *testing.T) {
	t.Parallel()
	d, outside := At(t.TempDir()), At(t.TempDir())
	newRun(t, d, "", "one")
	newRun(t, d, "", "two")
	newRun(t, d, "one", "another")
	newRun(t, outside, "far", "far")
	for name, want := range map[string]string{
		"one": "another", "./one": "another", "one/run.jsonl": "another", ".evalrun/runs/one": "one", "two": "two",
		outside.Join("far"): "far",
	} {
		doc, err := d.Open(name)
		if err != nil {
			t.Errorf("Open(%s): %v, want no error", name, err)
			continue
		}
		expect.Same(t, fmt.Sprintf("the run of Open(%s)", name), doc.Run.ID, want)
		_ = doc.Close() // it was only read
	}
	_, err := d.Open("./two")
	badInput(t, err, "./two")
	put(t, d, "torn/run.jsonl", `{"type":"ru`)
	_, err = d.Open("torn")
	badInput(t, err, "torn")
}

func TestRunsStayOutOfCommits(t *testing.T) {
	t.Parallel()
	d, own := At(t.TempDir()), At(t.TempDir())
	put(t, own, ".evalrun/.gitignore", "runs\n")
	for in, want := range map[Dir]string{d: "*\n", own: "runs\n"} {
		if _, err := in.Make("named", "id"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(d.Join(".evalrun")); in == d && err == nil {
			t.Error("a run with a directory of its own has made .evalrun, want none")
		}
		if _, err := in.Make("", "id"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(in.Join(".evalrun/.gitignore")); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

func TestBaselinesAreCompleteRuns(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	whole := &eval.End{Reason: eval.EndCompleted}
	endedRun(t, d, "good", eval.Pass, whole)
	endedRun(t, d, "skipped", eval.Skip, whole)
	endedRun(t, d, "budget", eval.Pass, &eval.End{Reason: eval.EndBudget})
	w, err := journal.Create(d.Join("running"), &eval.Run{ID: "running", Plan: eval.RunPlan{Trials: 1}}, nil)
	expect.OK(t, err)
	defer w.Close()
	blank, err := journal.Create(d.Join("blank"), &eval.Run{ID: "blank"}, nil)
	if err == nil {
		err = blank.Finish(whole)
	}
	expect.OK(t, err)
	if _, err := d.SetBaseline("main", "good", false); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(d.Join(baselinesFile))
	if err != nil || !strings.Contains(string(before), `"good/run.jsonl"`) {
		t.Fatalf("%s, %v, want a path that is good on another machine", before, err)
	}
	for name, run := range map[string]string{
		"a": "gone", "b": "skipped", "c": "budget", "d": "running", "e": "blank", // which cannot be one
		"latest": "good", "a b": "good", "../x": "good", "": "good", "e/f": "good", // names that cannot be one's
	} {
		_, err := d.SetBaseline(name, run, false)
		badInput(t, err)
	}
	if after, err := os.ReadFile(d.Join(baselinesFile)); err != nil || string(after) != string(before) {
		t.Errorf("refused names: got (%v)\n%s\nwant the file as it was", err, cmp.Diff(string(before), string(after)))
	}
}

func TestABaselineIsFoundByNameRunOrFile(t *testing.T) {
	t.Parallel()
	d, outside := At(t.TempDir()), At(t.TempDir())
	whole := &eval.End{Reason: eval.EndCompleted}
	endedRun(t, d, "good", eval.Pass, whole)
	endedRun(t, outside, "far", eval.Fail, whole)
	for name, run := range map[string]string{"main": "good", "release-1.0_x": outside.Join("far")} {
		if _, err := d.SetBaseline(name, run, false); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"main": d.Join("good/run.jsonl"), "release-1.0_x": outside.Join("far/run.jsonl"), "good": d.Join("good"), "far": "",
		"good/run.jsonl": d.Join("good/run.jsonl"),
	}
	for name, path := range want {
		if got, err := d.FindBaseline(name); got != path || (err == nil) != (path != "") {
			t.Errorf("FindBaseline(%s) = %s, %v, want %q", name, got, err, path)
		}
	}
	if _, err := d.FindBaseline("mian"); err == nil || !strings.Contains(err.Error(), "`main`") {
		t.Errorf("FindBaseline(mian): %v, want main as the hint", err)
	}
}

// A damaged baselines.json is bad input that names the file, and is never written over.
func TestDamagedBaselinesAreKept(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"main":`: baselinesFile, `[]`: baselinesFile, `{"main":{"run":"r"}}`: "evalrun baseline set main",
	} {
		d := At(t.TempDir())
		endedRun(t, d, "good", eval.Pass, &eval.End{Reason: eval.EndCompleted})
		put(t, d, baselinesFile, text)
		_, err := d.Baselines()
		badInput(t, err, says)
		_, err = d.SetBaseline("other", "good", false)
		badInput(t, err, says)
		if got, err := os.ReadFile(d.Join(baselinesFile)); err != nil || string(got) != text {
			t.Errorf("the file is %q, %v, want %q", got, err, text)
		}
	}
	d := At(t.TempDir())
	endedRun(t, d, "good", eval.Pass, &eval.End{Reason: eval.EndCompleted})
	put(t, d, baselinesFile, "null")
	if _, err := d.SetBaseline("main", "good", false); err != nil {
		t.Errorf("where the file says null: %v, want no error", err)
	}
}

func TestRunsAreFoundOnceBelowFolders(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	newRun(t, d, "", "own")
	newRun(t, d, "ci/b/two", "two")
	newRun(t, d, "ci/a/one", "one")
	deep := strings.Repeat("x/", deepestRun+1)
	newRun(t, d, "ci/"+deep+"deep", "deep")
	put(t, d, "empty/file", "")
	expect.OK(t, os.Symlink(d.Join("ci/a/one"), d.Join("link")))
	real, err := filepath.EvalSymlinks(d.Abs(""))
	expect.OK(t, err)
	for _, test := range []struct{ named, want []string }{
		{nil, []string{".evalrun/runs/own"}},
		{[]string{"ci"}, []string{"ci/a/one", "ci/b/two", ".evalrun/runs/own"}},
		{[]string{"link", "ci/a/one", "own"}, []string{"ci/a/one", ".evalrun/runs/own"}},
	} {
		got, err := d.FindRuns(test.named)
		if err != nil {
			t.Errorf("FindRuns(%v): %v, want no error", test.named, err)
		}
		var want []string
		for _, name := range test.want {
			want = append(want, filepath.Join(real, name))
		}
		expect.Same(t, fmt.Sprintf("FindRuns(%v)", test.named), got, want)
	}
	for _, name := range []string{"gone", "empty"} {
		_, err := d.FindRuns([]string{"ci", name})
		badInput(t, err, name, "own")
	}
	one := filepath.Join(real, "ci/a/one")
	for _, test := range []struct {
		named []string
		want  string
	}{{[]string{"link"}, one}, {[]string{"ci"}, ""}, {[]string{"link", "own"}, ""}, {nil, ""}, {[]string{"gone"}, ""}} {
		expect.Same(t, fmt.Sprintf("NamedRun(%v)", test.named), d.NamedRun(test.named), test.want)
	}
}

func remembered(t *testing.T, d Dir) (ids []string) {
	t.Helper()
	s, err := d.OpenHistory()
	if err != nil || s == nil {
		t.Fatalf("the history: got %v, %v, want one", s, err)
	}
	defer s.Close()
	runs, err := s.Runs(history.RunFilter{Limit: 100})
	expect.OK(t, err)
	for i := range runs {
		ids = append(ids, runs[i].ID)
	}
	slices.Sort(ids)
	return ids
}

// A run whose process was killed before it was added to the history is added by the next look at it, and once only.
func TestHistoryCatchesUpWithAKilledRun(t *testing.T) {
	t.Parallel()
	d := At(t.TempDir())
	for _, id := range []string{"killed", "gone", "other"} {
		dir := newRun(t, d, "", id)
		if id == "other" { // another run is there by now
			id = "older"
		}
		d.ExpectRun(&eval.Run{ID: id}, dir)
	}
	expect.OK(t, os.RemoveAll(d.Join(".evalrun/runs/gone")))
	for range 2 {
		expect.Same(t, "runs in the history", remembered(t, d), []string{"killed"})
	}
	if left, err := os.ReadDir(d.Join(expectedRuns)); err != nil || len(left) != 0 {
		t.Errorf("%v is still expected, %v, want nothing", left, err)
	}
	newRun(t, d, "ci/one", "one")
	none := func(text string) { t.Errorf("got the notice %q, want none", text) }
	unjudged := func(*journal.Document) {}
	expect.OK(t, d.RebuildHistory([]string{"ci"}, none, unjudged))
	expect.Same(t, "runs in the history that was made again", remembered(t, d), []string{"killed", "one", "other"})
	badInput(t, d.RebuildHistory([]string{"nowhere"}, none, unjudged), "nowhere")
}
