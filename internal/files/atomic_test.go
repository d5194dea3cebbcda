package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestWriteReplacesTheWholeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report")
	expect.OK(t, os.WriteFile(filepath.Join(dir, Prefix+"left"), []byte("of a killed process"), 0o600))
	expect.OK(t, Write(path, 0o644, fileText("one")))
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
			expect.OK(t, os.Chmod(path, step.set))
		}
		expect.OK(t, Write(path, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }))
		info, err := os.Stat(path)
		expect.OK(t, err)
		expect.Same(t, "the file", info.Mode(), step.want)
	}
}

// A file is replaced as a whole: a report that breaks off leaves the old one, and no other file.
func TestReportsAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.xml")
	broken := errors.New("broken off")
	for _, test := range []struct {
		text string
		err  error
		want string
	}{{"one", nil, "one"}, {"two, and then", broken, "one"}, {"three", nil, "three"}} {
		err := WriteAny(path, func(w io.Writer) error {
			_, err := io.WriteString(w, test.text)
			return errors.Join(err, test.err)
		})
		if !errors.Is(err, test.err) {
			t.Errorf("%q: %v, want %v", test.text, err, test.err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != test.want {
			t.Errorf("after %q the file is %q, %v, want %q", test.text, got, err, test.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v, want the report alone", entries, err)
	}
	for name, want := range map[string]string{"report.xml": "", "new": "", "gone/new": "no folder", ".": "it is a folder"} {
		if err := Writable(filepath.Join(dir, name)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Writable(%s) = %v, want %q", name, err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("trying: got %v, %v, want one file", entries, err)
	}
}
