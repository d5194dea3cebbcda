package page_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// declared matches what a script declares for all scripts of its page: they are one closure.
var declared = regexp.MustCompile(`(?m)^(?:async )?(?:const|let|function|class) +([A-Za-z_$][\w$]*)`)

// No two scripts of a page declare the same name: the page would not run at all.
func TestScriptsDeclareNamesOnce(t *testing.T) {
	t.Parallel()
	for _, around := range [][]string{nil, {"../gallery/html", "../view/pages"}, {"../gallery/html", "../publish/pages"}} {
		by := map[string]string{}
		for _, dir := range append([]string{"html"}, around...) {
			paths, err := filepath.Glob(filepath.Join(dir, "*.js"))
			expect.OK(t, err)
			for _, path := range paths {
				if len(around) == 0 || path != filepath.Join("html", "blocks.js") { // which is for the page that is a file
					declaredBy(t, path, by)
				}
			}
		}
		if len(by) < 200 {
			t.Errorf("got %d names, want at least 200", len(by))
		}
	}
}

// declaredBy adds what a script declares.
func declaredBy(t *testing.T, path string, by map[string]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.OK(t, err)
	for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
		if other, twice := by[found[1]]; twice {
			t.Errorf("%s and %s: got %s in both, want it in one", other, path, found[1])
		}
		by[found[1]] = path
	}
}
