package journal

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// resumed resumes a copy of a run directory: it runs what is missing and finishes.
func resumed(t *testing.T, source string, data []byte) *Document {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string][]byte{FileName: data, headerName: read(t, filepath.Join(source, headerName))} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	w, d, err := Resume(dir)
	expect.OK(t, err)
	defer d.Close()
	have := map[string]bool{}
	for place := range d.Len() {
		k := d.Indexed(place)
		have[k.ID] = true
	}
	expect.OK(t, w.Resumed(&Resumed{}))
	for n := range 6 {
		if r := result(n, eval.Pass); !have[r.ID] {
			expect.OK(t, w.Append(r))
		}
	}
	expect.OK(t, w.Finish(&eval.End{Reason: eval.EndCompleted}))
	whole, err := Open(dir)
	expect.OK(t, err)
	t.Cleanup(func() { whole.Close() })
	return whole
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	expect.OK(t, err)
	return data
}

func sixPasses() []*eval.Result {
	var out []*eval.Result
	for n := range 6 {
		out = append(out, result(n, eval.Pass))
	}
	return out
}

func TestCutAnywhereTheFileOpens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := write(t, dir, true, sixPasses()...)
	lines := bytes.SplitAfter(data, []byte("\n"))
	reopen := reopener(t)
	for at := len(lines[0]); at <= len(data); at++ {
		d, err := reopen(data[:at])
		if err != nil {
			t.Fatalf("cut at %d: %v, want no error", at, err)
		}
		if want := bytes.Count(data[:at], []byte("\n")) - 1; at < len(data)-len(lines[7]) && d.Summary.Counts.Pass < want {
			t.Errorf("cut at %d: got %d trials, want %d, one a line", at, d.Summary.Counts.Pass, want)
		}
		if at%29 != 0 { // opening is quick, resuming syncs the disk
			continue
		}
		whole := resumed(t, dir, data[:at])
		if whole.Summary.Counts.Pass != 6 || whole.Partial() || len(whole.Damaged) > 0 {
			t.Fatalf("cut at %d: %+v %v, want 6 that pass, complete", at, whole.Summary.Counts, whole.Damaged)
		}
	}
}

// A changed bit anywhere is found. It costs the trial in whose line it is, which runs again.
func TestFlippedBitsCostOnlyTheirTrial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := write(t, dir, true, sixPasses()...)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		bad := bytes.Clone(data)
		at, bit := rng.IntN(len(bad)), byte(1)<<rng.IntN(8)
		bad[at] ^= bit
		path := filepath.Join(t.TempDir(), FileName)
		for name, content := range map[string][]byte{
			path: bad, filepath.Join(filepath.Dir(path), headerName): read(t, filepath.Join(dir, headerName)),
		} {
			expect.OK(t, os.WriteFile(name, content, 0o600))
		}
		d, err := Open(path)
		if err != nil {
			t.Fatalf("byte %d, bit %d: %v, want no error", at, bit, err)
		}
		if !d.Partial() {
			t.Errorf("byte %d, bit %d: got a complete run, want the damage found", at, bit)
		}
		d.Close()
		if n%10 != 0 {
			continue
		}
		whole := resumed(t, dir, bad)
		if whole.Summary.Counts.Pass != 6 || whole.Summary.Counts.Total() != 6 || whole.Partial() {
			t.Errorf("byte %d, bit %d: %+v %v, want 6 that pass, complete", at, bit, whole.Summary.Counts, whole.Damaged)
		}
	}
}

// Of two processes that write to one run the second is refused; a lock that a killed process left does not count.
func TestOneWriterHoldsTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, false, result(0, eval.Pass))
	expect.OK(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o600))
	w, d, err := Resume(dir)
	expect.OK(t, err)
	if _, _, err := Resume(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want %v", err, ErrLocked)
	}
	if err := errors.Join(w.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := Resume(t.TempDir()); !errors.Is(err, ErrNoRun) {
		t.Errorf("got %v, want %v", err, ErrNoRun)
	}
}

func TestDroppedTrialsAreGoneFromAResumedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, false, sixPasses()...)
	w, d, err := Resume(dir)
	expect.OK(t, err)
	d.Close()
	expect.OK(
		t,
		w.Resumed(&Resumed{Dropped: []string{result(3, eval.Pass).ID}}),
		w.Append(result(7, eval.Fail)),
		w.Finish(&eval.End{Reason: eval.EndCompleted}),
	)
	d, err = Open(dir)
	expect.OK(t, err)
	defer d.Close()
	if c := d.Summary.Counts; c.Pass != 5 || c.Fail != 1 {
		t.Errorf("%+v, want 5 pass, 1 fail", c)
	}
}
