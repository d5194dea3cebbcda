//go:build unix

package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A scratch folder goes with its owner: when that releases it, and when another process finds that it was killed.
func TestScratchFoldersGoWithTheirOwner(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir, remove, err := Scratch()
	expect.OK(t, err)
	place := func(path string) {
		expect.OK(t, os.WriteFile(path, nil, 0o600))
	}
	place(filepath.Join(dir, "file"))
	place(dir + ".index")
	SweepScratch() // of another process
	for _, path := range []string{filepath.Join(dir, "file"), dir + ".index"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was swept, want it to stay: %v", path, err)
		}
	}
	remove()
	killed := filepath.Join(temp, Prefix+"killed")
	place(killed)
	expect.OK(t, os.MkdirAll(killed+".d/deep", 0o700))
	place(killed + ".d.index")
	foreign := filepath.Join(temp, "evalrun-of-somebody")
	place(foreign)
	SweepScratch()
	left, err := filepath.Glob(filepath.Join(temp, "*"))
	hidden, _ := filepath.Glob(filepath.Join(temp, ".*"))
	if err != nil || len(left) != 1 || left[0] != foreign || len(hidden) > 0 {
		t.Errorf("left are %q and %q (%v), want %s alone", left, hidden, err, foreign)
	}
}
