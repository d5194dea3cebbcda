package session

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// tree makes a folder with files; a name that ends in a slash is a folder.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	expect.OK(t, err)
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			expect.OK(t, os.MkdirAll(path, 0o700))
			continue
		}
		expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		expect.OK(t, os.WriteFile(path, []byte("suites: x\n"), 0o600))
	}
	return dir
}

func TestFindTakesTheNearestProjectFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		names          []string
		from, home, is string
	}{
		"its own":                        {[]string{"a/evalrun.yaml", "evalrun.yaml", ".git/"}, "a", "", "a/evalrun.yaml"},
		"at the root of the repository":  {[]string{"evalrun.yaml", ".git/", "a/b/"}, "a/b", "", "evalrun.yaml"},
		"above the root":                 {[]string{"evalrun.yaml", "a/.git/", "a/b/"}, "a/b", "", ""},
		"a worktree":                     {[]string{"evalrun.yaml", "a/.git", "a/b/"}, "a/b", "", ""},
		"in the home folder":             {[]string{"evalrun.yaml", "a/b/"}, "a/b", ".", "evalrun.yaml"},
		"above the home folder":          {[]string{"evalrun.yaml", "a/b/"}, "a/b", "a", ""},
		"outside both":                   {[]string{"evalrun.yaml", "a/b/"}, "a/b", "elsewhere", ""},
		"outside both, the folder's own": {[]string{"a/b/evalrun.yaml"}, "a/b", "elsewhere", "a/b/evalrun.yaml"},
		"the nearest":                    {[]string{"evalrun.yaml", ".git/", "a/evalrun.yaml", "a/b/"}, "a/b", "", "a/evalrun.yaml"},
	} {
		dir := tree(t, test.names...)
		home, want := "", ""
		if test.home != "" {
			home = filepath.Join(dir, test.home)
		}
		if test.is != "" {
			want = filepath.Join(dir, filepath.FromSlash(test.is))
		}
		expect.Same(t, name, findProject(filepath.Join(dir, filepath.FromSlash(test.from)), home), want)
	}
}

type theirs struct{ fs.FileInfo }

func (theirs) Sys() any           { return nil }
func (theirs) ModTime() time.Time { return time.Time{} }

func TestOnlyOwnFilesAreOwned(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(filepath.Join(tree(t, "file"), "file"))
	expect.OK(t, err)
	if !owned(info) {
		t.Error("a file that the test wrote is not owned by its user, want it owned")
	}
	if runtime.GOOS != "windows" && owned(theirs{info}) {
		t.Error("a file without an owner is owned by the user, want that it is not")
	}
}

func suiteFiles(t *testing.T, dir string, globs ...string) (names []string, problems error) {
	t.Helper()
	var diags diag.List
	f := &projectFile{Path: filepath.Join(dir, FileName), shown: FileName}
	for _, g := range globs {
		f.Suites = append(f.Suites, globAt{Pattern: g})
	}
	for _, path := range f.SuiteFiles(&diags) {
		rel, err := filepath.Rel(dir, path)
		expect.OK(t, err)
		names = append(names, filepath.ToSlash(rel))
	}
	return names, diags.Err()
}

func TestSuiteFilesAreFoundByTheirGlobs(t *testing.T) {
	t.Parallel()
	dir := tree(
		t, "evalrun.yaml", "a.yaml", "evals/b.yaml", "evals/c/d.yaml", "evals/.hidden/e.yaml", ".dot/f.yaml", "node_modules/g.yaml",
		"run/run.jsonl", "run/suites/0/h.yaml", "evals/data.csv",
	)
	for _, test := range []struct{ globs, want []string }{
		{[]string{"*.yaml"}, []string{"a.yaml", "evals/b.yaml", "evals/c/d.yaml"}},
		{[]string{"evals/*.yaml"}, []string{"evals/b.yaml", "evals/c/d.yaml"}},
		{[]string{"evals/**/*.yaml"}, []string{"evals/b.yaml", "evals/c/d.yaml"}},
		{[]string{"**/*.yaml"}, []string{"a.yaml", "evals/b.yaml", "evals/c/d.yaml"}},
		{[]string{"./evals/c/*", "a.yaml"}, []string{"evals/c/d.yaml", "a.yaml"}},
		{[]string{"a.yaml", "*.yaml", "!evals/c*"}, []string{"a.yaml", "evals/b.yaml"}},
		{[]string{".dot/f.yaml"}, []string{".dot/f.yaml"}},
	} {
		got, err := suiteFiles(t, dir, test.globs...)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", test.globs, err, diff)
		}
	}
	for _, glob := range []string{"none/*.yaml", "evals", "b.yaml"} {
		if got, err := suiteFiles(t, dir, glob); err == nil || len(got) > 0 {
			t.Errorf("%q: got %q, want a problem", glob, got)
		}
	}
}

// Whatever is in a file, reading it ends, and what it names stays below its folder.
func FuzzLoad(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add("suites: [\"*\"]\nout: " + s)
		f.Add(s)
	}
	f.Add("suites: a\nrecord: ../x\nlabels: {a: b}\nreport: json=../x")
	f.Fuzz(func(t *testing.T, text string) {
		var diags diag.List
		file := LoadProject("/folder/"+FileName, FileName, []byte(text), nil, &diags)
		if diags.HasErrors() {
			return
		}
		if len(file.Suites) == 0 {
			t.Errorf("%q: got no suite and no problem, want one of them", text)
		}
		for _, one := range file.Flags {
			paths := one.Values
			if !slices.Contains([]string{"out", "record", "replay", "replay-or-record"}, one.Name) {
				continue
			}
			for _, path := range paths {
				if !filepath.IsLocal(path) {
					t.Errorf("%q: --%s: got %q, want a path inside the folder", text, one.Name, path)
				}
			}
		}
	})
}
