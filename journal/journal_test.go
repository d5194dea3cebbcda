package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// ended is the ending with an outcome. It does not say why a trial is an error or was skipped.
func ended(o eval.Outcome) eval.Ending {
	return map[eval.Outcome]eval.Ending{
		eval.Pass: eval.Passed{}, eval.Fail: eval.Failed{}, eval.Err: eval.Errored{}, eval.Skip: eval.Skipped{},
	}[o]
}

func result(n int, outcome eval.Outcome) *eval.Result {
	value := 0.5
	r := &eval.Result{
		Trial:  eval.Trial{N: n, ID: fmt.Sprintf("id-%d", n), Suite: "s", Case: fmt.Sprintf("case %d", n/2), Arm: "t/p", Repeat: n%2 + 1},
		Ending: ended(outcome), Scores: []eval.Score{{Scorer: "x", Name: "metric", Grade: eval.Graded{Value: value}}},
		Request: &eval.Request{Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: "<question>\u2028"}}}}},
		Usage:   &eval.Usage{TotalTokens: 3},
	}
	if outcome == eval.Err {
		r.Ending = eval.Errored{Error: eval.Errorf(eval.KindTimeout, "late")}
	}
	return r
}

var header = eval.Run{ID: "r", StartedAt: "2026-01-01T00:00:00Z", Plan: eval.RunPlan{Trials: 6, Arms: []string{"t/p"}}}

func write(t *testing.T, dir string, finish bool, results ...*eval.Result) []byte {
	t.Helper()
	run := header
	w, err := Create(dir, &run, map[string][]byte{"suites/0/s.yaml": []byte("version: 1")})
	expect.OK(t, err)
	for _, r := range results {
		expect.OK(t, w.Append(r))
	}
	if finish {
		err = w.Finish(&eval.End{Reason: eval.EndCompleted})
	} else {
		err = w.Close()
	}
	expect.OK(t, err)
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	expect.OK(t, err)
	return data
}

func open(t *testing.T, data []byte) (*Document, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	expect.OK(t, os.WriteFile(path, data, 0o600))
	d, err := Open(path)
	if err == nil {
		t.Cleanup(func() { d.Close() })
	}
	return d, err
}

// reopener opens data as a run file again and again, and closes the document before: thousands of files and folders are slow.
func reopener(t *testing.T) func(data []byte) (*Document, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), FileName))
	expect.OK(t, err)
	var last *Document
	t.Cleanup(func() {
		file.Close()
		if last != nil {
			last.Close()
		}
	})
	return func(data []byte) (*Document, error) {
		t.Helper()
		_, err := file.WriteAt(data, 0)
		expect.OK(t, errors.Join(err, file.Truncate(int64(len(data)))))
		if last != nil {
			last.Close()
		}
		last, err = Open(file.Name())
		return last, err
	}
}

func TestResultsAreReadInTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	// Results come in any order and are read in the plan's; the last line of an id counts.
	data := write(
		t, t.TempDir(), true, result(5, eval.Pass), result(1, eval.Err), result(0, eval.Pass), result(1, eval.Fail),
		result(2, eval.Skip),
	)
	d, err := open(t, data)
	expect.OK(t, err)
	var got []string
	for r, err := range d.Trials() {
		expect.OK(t, err)
		got = append(got, fmt.Sprintf("%d %s", r.N, r.Outcome()))
		expect.Same(t, "the prompt", r.Request.Contents[0].Parts[0].(eval.TextPart).Text, "<question>\u2028")
	}
	expect.Same(t, "the trials", got, []string{"0 pass", "1 fail", "2 skip", "5 pass"})
	if bytes.Contains(data, []byte(`\u003c`)) {
		t.Errorf("the run file is escaped for HTML, want < and > as they are:\n%s", data)
	}
	arm := d.Summary.Suites[0].Arms[0]
	rate, ok := arm.PassRate()
	if !ok || rate != 0.75 || arm.Scored != 2 {
		t.Errorf("rate %v of %+v, want 0.75 of 2 scored", rate, arm)
	}
	expect.Same(t, "cases of the arm", arm.Cases, CaseCounts{3, 1, 0, 1})
	expect.Same(t, "cases", d.Summary.Cases, arm.Cases)
	expect.Same(t, "metrics", arm.Metrics, MetricSums{{"metric", eval.Sum{Total: 1.5, N: 3}}})
	if d.End.Reason != eval.EndCompleted || !d.Partial() {
		t.Errorf("ended %q, partial %t, want %q and true: it has skips", d.End.Reason, d.Partial(), eval.EndCompleted)
	}
}

func TestLinesBeginWithTheirType(t *testing.T) {
	t.Parallel()
	data := write(t, t.TempDir(), true, result(0, eval.Pass))
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		want := fmt.Sprintf(`,"seq":%d,"crc":"`, i)
		if !bytes.HasPrefix(line, []byte(`{"type":"`)) || !bytes.Contains(line, []byte(want)) {
			t.Errorf("%s, want a type first, and %s", line, want)
		}
	}
}

// Cut at every byte of its last lines, the file opens, and at most the cut line is lost.
func TestTornAtEveryByteTheFileOpens(t *testing.T) {
	t.Parallel()
	data := write(t, t.TempDir(), false, result(0, eval.Pass), result(1, eval.Pass), result(2, eval.Fail))
	lines := bytes.SplitAfter(data, []byte("\n"))
	start := len(lines[0])
	reopen := reopener(t)
	for cut := start; cut < len(data); cut++ {
		d, err := reopen(data[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v, want no error", cut, err)
		}
		whole := bytes.Count(data[:cut], []byte("\n")) - 1
		if n := d.Summary.Counts.Total(); n < whole || n > whole+1 || len(d.Damaged) > 0 || d.End != nil {
			t.Fatalf("cut at %d: %d trials, want %d (%v)", cut, n, whole, d.Damaged)
		}
	}
}

// Whichever bit flips, it is noticed, and costs at most the line that it is in.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	data := write(t, t.TempDir(), true, result(0, eval.Pass), result(1, eval.Pass))
	lines := bytes.SplitAfter(data, []byte("\n"))
	from, to := len(lines[0]), len(lines[0])+len(lines[1])-1
	reopen := reopener(t)
	for at := from; at < to; at++ {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[at] ^= 1 << bit
			d, err := reopen(damaged)
			if err != nil {
				t.Fatalf("byte %d bit %d: %v, want no error", at, bit, err)
			}
			if len(d.Damaged) == 0 || d.Summary.Counts.Total() != 1 {
				t.Fatalf("byte %d bit %d: %d trials, damaged %v, want 1 and some damage", at, bit, d.Summary.Counts.Total(), d.Damaged)
			}
		}
	}
}

func TestWhatCannotBeOpenedIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	if _, err := Create(dir, &run, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v, want %v", err, ErrLocked)
	}
	expect.OK(t, w.Close())
	if _, err := Create(dir, &run, nil); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("over an old run: %v, want `holds a run already`", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoRun) {
		t.Errorf("an empty folder: %v, want %v", err, ErrNoRun)
	}
	if _, err := open(t, []byte("hello\nworld\n")); err == nil {
		t.Error("a file that is no run file: no error, want one")
	}
	if _, err := open(t, nil); err == nil {
		t.Error("an empty file: no error, want one")
	}
}

// Two runs in one file are the first one, damaged; a line that comes twice counts once.
func TestMixedJournalsAreTheFirstRunDamaged(t *testing.T) {
	t.Parallel()
	one := write(t, t.TempDir(), true, result(0, eval.Pass), result(1, eval.Pass))
	two := write(t, t.TempDir(), true, result(2, eval.Fail), result(3, eval.Fail))
	d, err := open(t, append(bytes.Clone(one), two...))
	expect.OK(t, err)
	if d.Summary.Counts != (eval.Counts{Pass: 2}) || len(d.Damaged) == 0 || !d.Partial() {
		t.Errorf("%+v, damaged %v, partial %t, want 2 passed, some damage and true", d.Summary.Counts, d.Damaged, d.Partial())
	}
	lines := bytes.SplitAfter(one, []byte("\n"))
	twice := bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2], lines[3]}, nil)
	if d, err = open(t, twice); err != nil {
		t.Fatal(err)
	}
	if len(d.Damaged) != 1 || d.Summary.Counts.Pass != 2 {
		t.Errorf("%+v, damaged %v, want 2 passed and one damage", d.Summary.Counts, d.Damaged)
	}
}

// A run file that another program cut or wrote to is noticed before the next line, and while no line comes.
func TestAChangedFileIsNoticed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(path, 100) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"longer":  func(path string) error { return os.Truncate(path, 1<<20) },
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
	} {
		dir := t.TempDir()
		run := header
		w, err := Create(dir, &run, nil)
		expect.OK(t, err)
		expect.OK(t, w.Append(result(0, eval.Pass)))
		expect.OK(t, change(filepath.Join(dir, FileName)))
		noticed := make(chan error, 1)
		w.Watch(func(err error) { noticed <- err })
		expect.Contains(t, name, fmt.Sprint(<-noticed), "the run file cannot be written: another program")
		if err := w.Append(result(1, eval.Pass)); err == nil {
			t.Errorf("%s: got no error from Append, want one", name)
		}
		_ = w.Close()
	}
}

// A run directory that is taken away during the run is noticed.
func TestTheFileIsTakenAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	if err := w.stillThere(); err != nil {
		t.Error(err)
	}
	expect.OK(t, os.Remove(filepath.Join(dir, FileName)))
	if err := w.stillThere(); err == nil {
		t.Error("the run file is removed: no error, want one")
	}
	_ = w.Close()
}

func TestNewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &Writer{dir: dir}
	file, err := os.Create(filepath.Join(dir, FileName))
	expect.OK(t, err)
	w.file = file
	expect.OK(t, w.write("run", &eval.Run{Version: Version + 1}))
	expect.OK(t, file.Close())
	_, err = Open(dir)
	expect.Contains(t, "a later version", fmt.Sprint(err), "version 2")
}

func TestWriteErrorsStay(t *testing.T) {
	t.Parallel()
	run := header
	w, err := Create(t.TempDir(), &run, nil)
	expect.OK(t, err)
	expect.OK(t, w.file.Close())
	for range 2 {
		err := w.Append(result(0, eval.Pass))
		expect.Contains(t, "after a failure", fmt.Sprint(err), "cannot be written")
	}
	if err := w.Close(); err == nil {
		t.Error("no error at the end, want one")
	}
}

// A record with a line break would fall apart for every reader, and one that nests too deep could not be read. Neither is
// written, and the file stays good for the next one.
func TestRecordsThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	broken := result(0, eval.Pass)
	broken.Response = &eval.Response{Extra: eval.Extra{"a": []byte("{\n}")}}
	expect.Fails(t, "a row with a line break", w.Append(broken), "line break")
	deep := strings.Repeat("[", wirejson.MaxDepth-2) + strings.Repeat("]", wirejson.MaxDepth-2)
	broken.Response.Extra["a"] = []byte(deep)
	expect.Contains(t, "a deep record", fmt.Sprint(w.Append(broken)), "record cannot be written: it is nested deeper than 10000 levels")
	if err := w.Append(result(1, eval.Pass)); err != nil {
		t.Error(err)
	}
	expect.OK(t, w.Close())
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	if d.Len() != 1 || len(d.Damaged) > 0 {
		t.Errorf("got %d trials, damaged %q; want 1 and none", d.Len(), d.Damaged)
	}
}

func TestConcurrentAppendsAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := header
	w, err := Create(dir, &run, nil)
	expect.OK(t, err)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				if err := w.Append(result(i*50+j, eval.Pass)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	expect.OK(t, w.Finish(&eval.End{}))
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	if d.Summary.Counts.Pass != 800 || len(d.Damaged) != 0 {
		t.Errorf("%+v, damaged %v, want 800 passed and no damage", d.Summary.Counts, d.Damaged)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"type":"run","version":1,"seq":0,"crc":"00000000"}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := open(t, data)
		if err != nil {
			return
		}
		for _, err := range d.Trials() {
			expect.OK(t, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	run := header
	w, err := Create(b.TempDir(), &run, nil)
	expect.OK(b, err)
	r := result(0, eval.Pass)
	b.ReportAllocs()
	for b.Loop() {
		expect.OK(b, w.Append(r))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	expect.OK(b, w.Close())
}

// BenchmarkTrials reads the trials of a run that has live chats and judges among them.
func BenchmarkTrials(b *testing.B) {
	d, err := Open("../cmd/evalrun/testdata/versions/0.1/finished")
	expect.OK(b, err)
	defer d.Close()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range d.Trials() {
			expect.OK(b, err)
		}
	}
	b.ReportMetric(float64(d.Len()*b.N)/b.Elapsed().Seconds(), "trials/s")
}

// Scenario R23: run files of earlier versions are read. This one is of 2026-11-20, before headers had copies and named targets.
func TestOldRunFilesAreRead(t *testing.T) {
	t.Parallel()
	d, err := Open("testdata/old")
	expect.OK(t, err)
	defer d.Close()
	if c := d.Summary.Counts; c != (eval.Counts{Pass: 3, Fail: 4, Skip: 1}) || len(d.Damaged) > 0 || d.End.Reason != eval.EndBudget ||
		d.Spent.Attempts != 7 {
		t.Errorf("%+v, damaged %v, end %+v, spent %+v, want 3 passed, 4 failed, 1 skipped, no damage, %s and 7 calls",
			c, d.Damaged, d.End, d.Spent, eval.EndBudget)
	}
	for r, err := range d.Trials() {
		if err != nil || r.Suite != "old" || r.Outcome() != eval.Skip && r.Response == nil {
			t.Errorf("%+v %v, want the suite `old`, with an answer unless it is skipped", r, err)
		}
	}
}
