package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch target, link := strings.CutPrefix(text, "-> "); {
		case link:
			expect.OK(t, os.Symlink(target, at))
		case strings.HasSuffix(name, ".sh"):
			expect.OK(t, os.WriteFile(at, []byte(text), 0o755))
		default:
			expect.OK(t, os.WriteFile(at, []byte(text), 0o644))
		}
	}
	return dir
}

func digest(t *testing.T, fsys fs.FS) string {
	t.Helper()
	d, err := Digest(fsys)
	expect.OK(t, err)
	return d
}

// A copy has the digest of what it was copied from; every name, mode, link and byte counts.
func TestACopyIsTheSame(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.txt": "one", "run.sh": "#!/bin/sh", "deep/er/b": "", "deep/up": "-> ../a.txt", "here": "-> deep/er", ".hidden/x y": "é",
	}
	dir := tree(t, files)
	expect.OK(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	want := digest(t, os.DirFS(dir))
	to := t.TempDir()
	got, err := Copy(os.DirFS(dir), to)
	expect.OK(t, err)
	expect.Same(t, "what was copied", got, want)
	expect.Same(t, "the copy", digest(t, os.DirFS(to)), want)
	text, err := os.ReadFile(filepath.Join(to, "deep", "up"))
	expect.OK(t, err)
	expect.Same(t, "through a link", string(text), "one")

	change := func(name string, do func(at string) error) {
		t.Helper()
		other := tree(t, files)
		expect.OK(t, os.Mkdir(filepath.Join(other, "empty"), 0o755))
		expect.Same(t, "the same files elsewhere", digest(t, os.DirFS(other)), want)
		expect.OK(t, do(other))
		if digest(t, os.DirFS(other)) == want {
			t.Errorf("%s: got the same digest, want another", name)
		}
	}
	change("a byte", func(at string) error { return os.WriteFile(filepath.Join(at, "a.txt"), []byte("One"), 0o644) })
	change("a name", func(at string) error { return os.Rename(filepath.Join(at, "a.txt"), filepath.Join(at, "b.txt")) })
	change("an empty folder", func(at string) error { return os.Remove(filepath.Join(at, "empty")) })
	change("another folder", func(at string) error { return os.Mkdir(filepath.Join(at, "more"), 0o755) })
	change("an empty file", func(at string) error { return os.WriteFile(filepath.Join(at, "more"), nil, 0o644) })
	if runtime.GOOS != "windows" {
		change("that it is executable", func(at string) error { return os.Chmod(filepath.Join(at, "run.sh"), 0o644) })
	}
	change("where a link leads", func(at string) error {
		return firstError(os.Remove(filepath.Join(at, "here")), os.Symlink("deep", filepath.Join(at, "here")))
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Contents cannot pass for names: the files of two folders that are written one after the other are the same bytes.
func TestNamesAndContentsAreKeptApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, files := range map[string]fstest.MapFS{
		"one": {"a": {Data: []byte("b")}}, "two": {"ab": {}}, "three": {"a": {}, "b": {}}, "four": {"a/b": {}},
		"five": {"a": {Data: []byte("file\x00b\x00")}},
	} {
		d := digest(t, files)
		expect.Same(t, name+": of the same digest", seen[d], "")
		seen[d] = name
	}
}

func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	for link, want := range map[[2]string]bool{
		{"a", "b"}: true, {"a", "./b"}: true, {"a", "b/c"}: true, {"d/a", "../b"}: true, {"d/e/a", "../../b"}: true, {"d/a", ".."}: true,
		{"a", "."}: true, {"a", "d/"}: true,
		{"a", "../b"}: false, {"a", ".."}: false, {"d/a", "../../b"}: false, {"a", "/etc/passwd"}: false, {"d/a", "b/../../../c"}: false,
		{"a", "b/../c"}: false, {"d/a", "../b/.."}: false,
	} {
		expect.Same(t, fmt.Sprintf("%s -> %s stays inside", link[0], link[1]), stays(link[0], link[1]), want)
	}
}

func TestWhatCannotBeCopiedIsRefused(t *testing.T) {
	t.Parallel()
	many := fstest.MapFS{}
	for i := range maxEntries + 1 {
		many[strings.Repeat("x", 1+i/100)+string(rune('0'+i%100))] = &fstest.MapFile{}
	}
	large := tree(t, map[string]string{"a": "", "b": ""})
	expect.OK(t, os.Truncate(filepath.Join(large, "a"), 200<<20), os.Truncate(filepath.Join(large, "b"), 57<<20))
	for name, test := range map[string]struct {
		fsys fs.FS
		want string
	}{
		"too many":       {many, "it has more than 10000 files and folders"},
		"too much":       {os.DirFS(large), "more than 256 MiB together"},
		"a device":       {fstest.MapFS{"d": {Mode: fs.ModeDevice}}, "d in it is neither a file, nor a folder, nor a link"},
		"a pipe":         {fstest.MapFS{"d/p": {Mode: fs.ModeNamedPipe}}, "d/p in it is neither a file, nor a folder, nor a link"},
		"a link outside": {os.DirFS(tree(t, map[string]string{"d/l": "-> ../../secret"})), "the link d/l in it leads out of it, to ../../secret"},
		"nothing":        {os.DirFS(filepath.Join(t.TempDir(), "none")), "it cannot be read: no such file"},
	} {
		if _, err := Digest(test.fsys); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// A copy belongs to its program, which may make it hard to remove.
func TestCopiesAreWrittenToAndRemoved(t *testing.T) {
	t.Parallel()
	dir, to := tree(t, map[string]string{"d/read-only": "x"}), filepath.Join(t.TempDir(), "copy")
	expect.OK(t, os.Chmod(filepath.Join(dir, "d", "read-only"), 0o444), os.Mkdir(to, 0o755))
	_, err := Copy(os.DirFS(dir), to)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(filepath.Join(to, "d", "read-only"), []byte("y"), 0o644))
	expect.OK(t, os.Chmod(filepath.Join(to, "d"), 0o500))
	expect.OK(t, Remove(to))
	if _, err := os.Lstat(to); err == nil {
		t.Error("the copy is still there, want it removed")
	}
	expect.OK(t, Remove(to))
}
