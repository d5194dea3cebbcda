package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

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
		if got := HeadOf(filepath.Join(dir, filepath.FromSlash(test.at))); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestAFolderWithoutARepositoryHasNoHead(t *testing.T) {
	t.Parallel()
	if got := HeadOf(t.TempDir()); got != (head{}) {
		t.Errorf("got %+v, want nothing", got)
	}
}
