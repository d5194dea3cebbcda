package atomic

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report")
	if err := os.WriteFile(filepath.Join(dir, Prefix+"left"), []byte("of a killed process"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := Write(path, 0o644, text("one")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := Write(path, 0o644, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want boom", err)
	}
	data, err := os.ReadFile(path)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(data) != "one" || len(entries) != 1 {
		t.Errorf("%q %v, %d files", data, err, len(entries))
	}
	// Many at once sweep nobody's file away.
	var writing sync.WaitGroup
	for range 50 {
		writing.Go(func() {
			if err := Write(path, 0o644, text("two")); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%d files are left, want 1", len(entries))
	}
}
