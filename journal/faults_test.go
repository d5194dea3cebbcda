package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// disk is one whose n-th operation fails, and every later one, until it is mended.
type disk struct {
	ops, failing atomic.Int64
	short        bool // a write that fails has written half
}

func (d *disk) fails() bool { return d.ops.Add(1) >= d.failing.Load() }

func (d *disk) open(path string, flag int) (file, error) {
	if d.fails() {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
	}
	f, err := os.OpenFile(path, flag, 0o600)
	return &faulty{f, d}, err
}

type faulty struct {
	*os.File
	disk *disk
}

func (f *faulty) Write(p []byte) (int, error) {
	if !f.disk.fails() {
		return f.File.Write(p)
	}
	n := 0
	if f.disk.short {
		n, _ = f.File.Write(p[:len(p)/2])
	}
	return n, syscall.ENOSPC
}

func (f *faulty) Sync() error {
	if f.disk.fails() {
		return syscall.EIO
	}
	return nil // no power is cut here, and syncing takes most of the time
}

func (f *faulty) Truncate(size int64) error {
	if f.disk.fails() {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func (f *faulty) Close() error {
	if err := f.File.Close(); err != nil || !f.disk.fails() {
		return err
	}
	return syscall.EIO
}

// carryOn begins or resumes a run of six trials, and returns which appends were confirmed.
func carryOn(dir string, on *disk) (confirmed []string, err error) {
	run := header
	w, err := create(dir, &run, map[string][]byte{"suites/0/s.yaml": []byte("version: 1")}, on.open, "")
	have := map[string]bool{}
	if err != nil {
		var d *Document
		if w, d, err = resume(dir, on.open); err != nil {
			return nil, err
		}
		for place := range d.Len() {
			have[d.Indexed(place).ID] = true
		}
		if err := errors.Join(d.Close(), w.Resumed(&Resumed{})); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	for n := range 6 {
		r := result(n, eval.Pass)
		if have[r.ID] {
			continue
		}
		if err := w.Append(r); err != nil {
			return confirmed, errors.Join(err, w.Close())
		}
		confirmed = append(confirmed, r.ID)
	}
	return confirmed, w.Finish(&eval.End{Reason: eval.EndCompleted})
}

// Scenario R5: any operation may fail, while the run is being resumed too. The failure is reported, what was confirmed
// is kept, and once the disk works again the run completes.
func TestEveryOperationFailsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, short := range []bool{false, true} {
		for first := int64(1); ; first++ {
			healthy := tryFaults(t, first, short)
			if healthy {
				t.Logf("%d operations", first-1)
				break
			}
		}
	}
}

// tryFaults fails the first-th operation of a run, then each operation of resuming it, then none. It reports whether the
// run needed no such operation.
func tryFaults(t *testing.T, first int64, short bool) (healthy bool) {
	t.Helper()
	for second := int64(1); ; second++ {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("%d-%d", first, second))
		d := &disk{short: short}
		kept := map[string]bool{}
		resumedWell := false
		for i, failing := range []int64{first, second, 1 << 40} {
			d.ops.Store(0)
			d.failing.Store(failing)
			confirmed, err := carryOn(dir, d)
			for _, id := range confirmed {
				if kept[id] {
					t.Errorf("faults %d and %d: got %s asked twice, want it once", first, second, id)
				}
				kept[id] = true
			}
			switch {
			case i == 0 && err == nil:
				return true
			case i == 1 && err == nil:
				resumedWell = true
			case i == 2 && err != nil:
				t.Fatalf("faults %d and %d: got %v, want none: the disk is mended", first, second, err)
			}
		}
		checkWhole(t, dir)
		if resumedWell {
			return false
		}
	}
}

func checkWhole(t *testing.T, dir string) {
	t.Helper()
	doc, err := Open(dir)
	expect.OK(t, err)
	defer doc.Close()
	if c := doc.Summary.Counts; c.Pass != 6 || c.Total() != 6 || doc.Partial() || doc.Running {
		t.Errorf("%s: %+v, partial %t, damaged %v, want 6 that pass, complete", dir, c, doc.Partial(), doc.Damaged)
	}
}
