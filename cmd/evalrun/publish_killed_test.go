//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// dataOf finds the folders of data that a page names, and the files of style and program.
var dataOf = regexp.MustCompile(`data/[0-9a-f]+/(?:[a-z]+\.(?:js|css))?`)

// However often publish is killed, each page of the site has its data, and the next publish goes through.
func TestKilledPublishLeavesWholePages(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil, map[string]string{"suite.yaml": manyWords(), "one.yaml": "rules: [{reply: w}]\n", "two.yaml": "rules: [{reply: x}]\n"})
	b.exits(0, "run", "suite.yaml", "--emulator=one.yaml", "--out", "runs/one", "-q")
	b.exits(1, "run", "suite.yaml", "--emulator=two.yaml", "--out", "runs/two", "-q")
	names := []string{"runs/one", "runs/two", "runs"}
	killed := 0
	for i := range 24 {
		cmd := b.command("publish", names[i%3], "--out", "site")
		expect.OK(t, cmd.Start())
		time.Sleep(time.Duration(i%12) * 12 * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		if cmd.Wait() != nil {
			killed++
		}
		if code := cmd.ProcessState.ExitCode(); code > 0 { // it is -1 for one that was killed
			t.Fatalf("publish %s after %d were killed: exit code %d, want 0", names[i%3], killed, code)
		}
		wholeSite(t, b.path("site"))
	}
	if killed == 0 {
		t.Error("publish was never killed, want at least once")
	}
	b.exits(0, "publish", "runs", "--out", "site")
	expect.Same(t, "pages", wholeSite(t, b.path("site")), 6)
	if left, _ := filepath.Glob(b.path("site/data/new-*")); len(left) > 0 {
		t.Errorf("left behind: %q, want nothing", left)
	}
}

// wholeSite holds that the data are there that pages name, and counts the pages.
func wholeSite(t *testing.T, dir string) (pages int) {
	t.Helper()
	for _, pattern := range []string{"*.html", "*/*.html"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		expect.OK(t, err)
		for _, page := range found {
			pages++
			names := dataOf.FindAllString(readText(t, page, ""), -1)
			if len(names) < 3 {
				t.Errorf("%s names %q, want data, style and program", page, names)
			}
			for _, name := range names {
				if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
					t.Errorf("%s: %v, want no error", page, err)
				}
			}
		}
	}
	return pages
}
