package suite

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

func TestExpectedFileStaysInItsFolder(t *testing.T) {
	t.Parallel()
	hash := regexp.MustCompile(`-[0-9a-f]{12}(/|\.txt$)`)
	for _, c := range []struct{ named, caseName, target, prompt, want string }{
		{"", "france", "pro", "direct", "expected/s/france/pro.direct.txt"},
		{"", "v1.2_a-b", "pro", "x.y", "expected/s/v1.2_a-b/pro.x.y.txt"},
		{"a/France.txt", "france", "pro", "direct", "expected/a/France.txt"},
		{"", "../../x", "pro", "direct", "expected/s/_._.._x-H/pro.direct.txt"},
		{"", "..", "pro", "direct", "expected/s/__-H/pro.direct.txt"},
		{"", ".", "pro", "direct", "expected/s/_-H/pro.direct.txt"},
		{"", "CON", "con", "p", "expected/s/_CON-H/_con.p-H.txt"},
		{"", "lpt1.x", "pro", "nul", "expected/s/_lpt1.x-H/pro.nul.txt"},
		{"", "console", "pro", "p", "expected/s/console/pro.p.txt"},
		{"", "Köln 🎉", "pro", "p", "expected/s/K_ln__-H/pro.p.txt"},
		{"", "x-0123456789ab", "pro", "p", "expected/s/x-0123456789ab-H/pro.p.txt"},
		{"", strings.Repeat("long", 75), "pro", "p", "expected/s/" + strings.Repeat("long", 20) + "-H/pro.p.txt"},
		{"", "france", "a.b", "c", "expected/s/france/a.b_c-H.txt"},
		{"", "france", "a", "b.c", "expected/s/france/a.b.c.txt"},
	} {
		got := ExpectedFile(c.named, &eval.Trial{Suite: "s", Case: c.caseName, Target: c.target, Prompt: c.prompt})
		expect.Same(t, c.caseName+" on "+c.target+"/"+c.prompt, hash.ReplaceAllString(got, "-H$1"), c.want)
	}
}

// FuzzSafeName holds that a name of a file is one on every file system, and that another name gives another one.
func FuzzSafeName(f *testing.F) {
	for _, s := range append(hostile.Strings(), "CON", "con.txt", "..", "", " ", "a.", "x-0123456789ab", strings.Repeat("é", 300)) {
		f.Add(s, s+"x")
	}
	f.Add("a/b", "a_b")
	fine := regexp.MustCompile(`^[A-Za-z0-9_-]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		got := safeName(a)
		if !fine.MatchString(got) || !fs.ValidPath(got) || files.ReservedName.MatchString(got) || len(got) > maxSafeName+14 {
			t.Errorf("%q: got %q, want a short name that every system takes", a, got)
		}
		if a != b && got == safeName(b) {
			t.Errorf("%q and %q: got %q of both, want two", a, b, got)
		}
		file := ExpectedFile("", &eval.Trial{Suite: "s", Case: a, Target: "t", Prompt: "p"})
		expect.Same(t, a+": path", path.Clean(file), file)
		expect.Same(t, a+": folders", strings.Count(file, "/"), 3)
	})
}
