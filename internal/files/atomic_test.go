package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestWriteReplacesTheWholeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report")
	if err := os.WriteFile(filepath.Join(dir, Prefix+"left"), []byte("of a killed process"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, 0o644, fileText("one")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := Write(path, 0o644, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want boom", err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "one" {
		t.Errorf("got %q (%v), want one", data, err)
	}
	alone(t, dir)
}

// Many writers at once leave each other's files alone.
func TestManyWritersLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var writing sync.WaitGroup
	for range 50 {
		writing.Go(func() {
			if err := Write(filepath.Join(dir, "report"), 0o644, fileText("two")); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	alone(t, dir)
}

func fileText(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func alone(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left (%v), want 1", len(entries), err)
	}
}

// A file that is replaced keeps its permissions, and a new one has the given permissions.
func TestWriteKeepsPermissions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "report")
	for _, step := range []struct{ set, want fs.FileMode }{{0, 0o644}, {0o600, 0o600}, {0o664, 0o664}} {
		if step.set != 0 {
			if err := os.Chmod(path, step.set); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != step.want {
			t.Errorf("the file has %s, want %s", info.Mode(), step.want)
		}
	}
}
