package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func names(t *testing.T, f fs.FS, dir string) []string {
	t.Helper()
	entries, err := fs.ReadDir(f, dir)
	expect.OK(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func readLayer(t *testing.T, f fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(f, name)
	expect.OK(t, err)
	return string(data)
}

// The first file system that has a file gives it, and folders have what any of them has.
func TestOverlayReadsTheFirstThatHasAFile(t *testing.T) {
	t.Parallel()
	o := Overlay{
		fstest.MapFS{"a": {Data: []byte("above")}, "dir/x": {}},
		fstest.MapFS{"a": {Data: []byte("below")}, "b": {Data: []byte("b")}, "dir/y": {}},
	}
	expect.Same(t, "texts of the files", readLayer(t, o, "a")+readLayer(t, o, "b"), "aboveb")
	if got := names(t, o, "dir"); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("the folder has %v, want x and y", got)
	}
	for _, name := range []string{"c", "dir/z"} {
		if _, err := o.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%s): %v, want that there is none", name, err)
		}
		if _, err := o.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s): %v, want that there is none", name, err)
		}
	}
	if _, err := o.ReadDir("none"); err == nil {
		t.Error("got no error for a folder that no layer has, want one")
	}
}

func TestWithAddsAFile(t *testing.T) {
	t.Parallel()
	f := With{FS: fstest.MapFS{"a": {Data: []byte("a")}}, Name: "-", Text: []byte("typed")}
	expect.Same(t, "texts of the files", readLayer(t, f, "-")+readLayer(t, f, "a"), "typeda")
	if got := names(t, f, "."); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the folder has %v, want a", got)
	}
}

// A version of a repository has the files as they were committed, whatever the working tree has.
func TestGitReadsFilesAsCommitted(t *testing.T) {
	t.Parallel()
	g := Git{Dir: history(t), Ref: "v1"}
	if commit, err := g.Commit(); err != nil || len(commit) < 40 {
		t.Fatalf("got %v, %v, want a commit of at least 40 digits", commit, err)
	}
	expect.Same(t, "texts of the files", readLayer(t, g, "suite.yaml")+readLayer(t, g, "data/rows.csv"), "old1")
	if got := names(t, g, "data"); !slices.Equal(got, []string{"rows.csv"}) {
		t.Errorf("the folder has %v, want rows.csv", got)
	}
	if _, err := g.Open("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not in the version: %v, want %v", err, fs.ErrNotExist)
	}
	if info, err := fs.Stat(g, "data"); err != nil || !info.IsDir() {
		t.Errorf("a folder is %v, %v, want a folder", info, err)
	}
	if _, err := (Git{Dir: g.Dir, Ref: "v2"}).Commit(); err == nil {
		t.Error("got no error for the unknown version v2, want one")
	}
	if _, err := g.Open("../x"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a path that leads out: %v, want %v", err, fs.ErrInvalid)
	}
}

// history is a repository whose suite was old in version v1 and is new now.
func history(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "suite.yaml"), "old")
	put(t, filepath.Join(dir, "data/rows.csv"), "1")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}, {"tag", "v1"}} {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put(t, filepath.Join(dir, "suite.yaml"), "new")
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// Files of a version keep their modes, a link leads to its file, and a name is looked up as it is written.
func TestGitKeepsModesAndFollowsLinks(t *testing.T) {
	t.Parallel()
	g := Git{Dir: filepath.Join(modes(t), "sub"), Ref: "HEAD"}
	for name, want := range map[string]string{
		"run.sh": "-r-xr-xr-x 7", "link": "-r-xr-xr-x 7", "data": "dr-xr-xr-x 0", "data/[a].csv": "-r--r--r-- 2",
	} {
		info, err := fs.Stat(g, name)
		expect.OK(t, err)
		expect.Same(t, name, fmt.Sprint(info.Mode(), " ", info.Size()), want)
	}
	expect.Same(t, "the files", readLayer(t, g, "link")+readLayer(t, g, "data/[a].csv"), "echo 1\n1\n")
	for _, name := range []string{"out", "circle", "dangling", "data/*.csv"} {
		if data, err := fs.ReadFile(g, name); err == nil {
			t.Errorf("%s: got %q, want an error", name, data)
		}
	}
	if prefix, err := g.Prefix(); err != nil || prefix != "sub"+string(filepath.Separator) {
		t.Errorf("the folder in the repository: got %q, %v, want sub", prefix, err)
	}
}

// Files are as they were committed, or as a checkout has them.
func TestGitFiltersApplyAsInACheckout(t *testing.T) {
	t.Parallel()
	g := Git{Dir: modes(t), Ref: "HEAD"}
	put(t, filepath.Join(g.Dir, ".gitattributes"), "top filter=upper\nsub/run.sh text eol=crlf\n")
	if out, err := git(g.Dir, nil, "config", "filter.upper.smudge", "tr a-z A-Z"); err != nil {
		t.Fatalf("git config: %v %s", err, out)
	}
	expect.Same(t, "as they were committed", readLayer(t, g, "top")+readLayer(t, g, "sub/run.sh"), "t\necho 1\n")
	g.Filtered = true
	expect.Same(t, "as a checkout has them", readLayer(t, g, "top")+readLayer(t, g, "sub/run.sh"), "T\necho 1\r\n")
}

// A checkout has all files of the repository and leaves the index as it was.
func TestCheckoutLeavesTheIndexAlone(t *testing.T) {
	t.Parallel()
	repo := modes(t)
	put(t, filepath.Join(repo, "sub/run.sh"), "changed")
	before, err := git(repo, nil, "status", "--porcelain")
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "checkout")
	g := Git{Dir: filepath.Join(repo, "sub"), Ref: "HEAD"}
	expect.OK(t, g.Checkout(dir))
	out, err := exec.Command("sh", "-c", "cd "+dir+" && ./sub/run.sh && cat top && ls -A").Output()
	if got := string(out); err != nil || got != "1\nt\nsub\ntop\n" {
		t.Errorf("the checkout: %q %v, want the four files", got, err)
	}
	if after, err := git(repo, nil, "status", "--porcelain"); err != nil || string(after) != string(before) {
		t.Errorf("the repository was %q: got %q, %v, want the same", before, after, err)
	}
	if err := g.Checkout(dir); err == nil {
		t.Error("got no error for a folder that exists, want one")
	}
}

// modes is a repository with a folder of a program, links and odd names.
func modes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "top"), "t\n")
	put(t, filepath.Join(dir, "sub/run.sh"), "echo 1\n")
	put(t, filepath.Join(dir, "sub/data/[a].csv"), "1\n")
	for name, to := range map[string]string{"link": "run.sh", "out": "../top", "circle": "circle", "dangling": "none"} {
		expect.OK(t, os.Symlink(to, filepath.Join(dir, "sub", name)))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"update-index", "--chmod=+x", "sub/run.sh"}, {"commit", "-qm", "first"}} {
		if out, err := git(dir, nil, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

const (
	one = "0123456789abcdef0123456789abcdef01234567"
	two = "89abcdef0123456789abcdef0123456789abcdef"
)

func gitFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func TestTheCheckedOutCommitIsRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		at    string
		want  head
	}{
		"a branch": {map[string]string{
			".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": one + "\n",
		}, "", head{one, "main"}},
		"a folder below it": {map[string]string{".git/HEAD": one, "a/b/c": ""}, "a/b", head{one, ""}},
		"a packed branch": {map[string]string{
			".git/HEAD":        "ref: refs/heads/a/b\n",
			".git/packed-refs": "# pack-refs with: peeled\n" + two + " refs/heads/a\n" + one + " refs/heads/a/b\n",
		}, "", head{one, "a/b"}},
		"a loose one wins": {map[string]string{
			".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": two, ".git/packed-refs": one + " refs/heads/a\n",
		}, "", head{two, "a"}},
		"no commit yet":        {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, "", head{"", "main"}},
		"another form of refs": {map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, "", head{}},
		"a worktree": {map[string]string{
			"tree/.git":                          "gitdir: ../repo/.git/worktrees/tree\n",
			"repo/.git/worktrees/tree/HEAD":      "ref: refs/heads/topic\n",
			"repo/.git/worktrees/tree/commondir": "../..\n",
			"repo/.git/refs/heads/topic":         one + "\n",
		}, "tree", head{one, "topic"}},
		"a reference that leads out": {map[string]string{".git/HEAD": "ref: refs/heads/../../../secret\n", "secret": one}, "", head{}},
		"a name with an escape":      {map[string]string{".git/HEAD": "ref: refs/heads/a\x1b[31m\n"}, "", head{}},
		"no name of a commit":        {map[string]string{".git/HEAD": strings.Repeat("x", 40)}, "", head{}},
		"a file that says nothing":   {map[string]string{".git": "nothing"}, "", head{}},
		"an empty folder":            {map[string]string{".git/x": ""}, "", head{}},
	} {
		dir := gitFolder(t, test.files)
		expect.Same(t, name, HeadOf(filepath.Join(dir, filepath.FromSlash(test.at))), test.want)
	}
}

func TestAFolderWithoutARepositoryHasNoHead(t *testing.T) {
	t.Parallel()
	if got := HeadOf(t.TempDir()); got != (head{}) {
		t.Errorf("got %+v, want nothing", got)
	}
}
