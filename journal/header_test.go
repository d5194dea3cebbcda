package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestHeaderIsReadWithoutTheTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, true, result(0, eval.Pass))
	path := filepath.Join(dir, FileName)
	d, err := Open(dir)
	expect.OK(t, err)
	defer d.Close()
	for _, name := range []string{dir, path} {
		if run, err := Header(name); err != nil || run.ID != d.Run.ID {
			t.Errorf("%s: %v, %v, want %v", name, run, err, d.Run.ID)
		}
	}
	if _, err := Header(filepath.Join(dir, "nothing")); !errors.Is(err, ErrNoRun) {
		t.Errorf("no run: %v, want %v", err, ErrNoRun)
	}
	// what is damaged is read from the copy next to it
	data := read(t, path)
	data[20] ^= 1
	expect.OK(t, os.WriteFile(path, data, 0o600))
	if run, err := Header(dir); err != nil || run.ID != d.Run.ID {
		t.Errorf("a damaged head: %v, %v, want %v", run, err, d.Run.ID)
	}
	expect.OK(t, os.WriteFile(path, nil, 0o600))
	if _, err := Header(dir); err == nil {
		t.Error("got the head of an empty file, want an error")
	}
}
