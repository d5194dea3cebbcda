//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestNothingButFilesIsRead(t *testing.T) {
	t.Parallel()
	path, fsys := folder(t)
	for _, name := range []string{"file", "link"} {
		if data, err := ReadFile(path(name), 4); err != nil || string(data) != "text" {
			t.Errorf("%s: %q %v, want text", name, data, err)
		}
	}
	if _, err := ReadFile(path("file"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	for _, name := range []string{"pipe", "zero", "folder"} {
		if file, err := Open(path(name)); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: got %v %v, want ErrNotFile", name, file, err)
		}
	}
	if _, err := fsys.Open("pipe"); !errors.Is(err, ErrNotFile) {
		t.Errorf("pipe in the folder: %v, want %v", err, ErrNotFile)
	}
}

// Nothing outside of the folder is opened.
func TestNothingOutsideOfTheFolderIsOpened(t *testing.T) {
	t.Parallel()
	_, fsys := folder(t)
	for _, name := range []string{"file", "link"} {
		if data, err := fs.ReadFile(fsys, name); err != nil || string(data) != "text" {
			t.Errorf("%s in the folder: %q %v, want text", name, data, err)
		}
	}
	for _, name := range []string{"zero", "../file", "/etc/passwd"} {
		if _, err := fsys.Open(name); err == nil {
			t.Errorf("%s: got it opened, want an error", name)
		}
	}
	names, err := fs.Glob(fsys, "folder/*")
	expect.OK(t, err)
	expect.Same(t, "names", len(names), 1)
}

// folder has a file, a link to it, and what is neither; path leads to them past the file system.
func folder(t *testing.T) (path func(name string) string, fsys fs.FS) {
	t.Helper()
	dir := t.TempDir()
	path = func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(path("file"), []byte("text"), 0o600), syscall.Mkfifo(path("pipe"), 0o600), os.Mkdir(path("folder"), 0o700),
		os.Symlink("/dev/zero", path("zero")), os.Symlink("file", path("link")), os.WriteFile(path("folder/inner"), []byte("x"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return path, FS(root)
}
