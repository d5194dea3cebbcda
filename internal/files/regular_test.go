//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	expect.OK(t, errors.Join(
		os.WriteFile(path("file"), []byte("text"), 0o600), syscall.Mkfifo(path("pipe"), 0o600), os.Mkdir(path("folder"), 0o700),
		os.Symlink("/dev/zero", path("zero")), os.Symlink("file", path("link")), os.WriteFile(path("folder/inner"), []byte("x"), 0o600),
	))
	root, err := os.OpenRoot(dir)
	expect.OK(t, err)
	t.Cleanup(func() { root.Close() })
	return path, FS(root)
}

// Below the base every link counts. Elsewhere a link counts if it leads out of its own folder, or is the file itself.
func TestLinkFindsTheFirstLinkOnTheWay(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	expect.OK(t, err)
	expect.OK(t, os.MkdirAll(filepath.Join(root, "real/base/sub"), 0o755), os.MkdirAll(filepath.Join(root, "other"), 0o755))
	for link, to := range map[string]string{
		"system": "real", "real/base/in": "sub", "real/base/out": "../../other", "real/base/gone": "nowhere", "other/away": "../real",
	} {
		expect.OK(t, os.Symlink(to, filepath.Join(root, link)))
	}
	base := filepath.Join(root, "real/base")
	for name, want := range map[string]string{
		"sub/x": "", "sub/../x": "", "": "", "x/y/z": "", "/": "",
		"in": "real/base/in", "in/x": "real/base/in", "out/../x": "real/base/out", "gone": "real/base/gone", "./out": "real/base/out",
		"../../other/x": "", "../../other/away/x": "other/away",
		"ROOT/real/base/in/x": "real/base/in", "ROOT/system/base/sub": "", "ROOT/system/base/out/x": "system/base/out",
		"ROOT/other/away/base": "other/away", "ROOT/system": "system",
	} {
		got := Link(base, strings.Replace(name, "ROOT", root, 1))
		if rel, err := filepath.Rel(root, got); err == nil && got != "" {
			got = filepath.ToSlash(rel)
		}
		expect.Same(t, name, got, want)
	}
}
