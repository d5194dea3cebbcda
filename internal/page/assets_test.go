package page_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// declared matches what a script declares for all scripts of its page: they are one closure.
var declared = regexp.MustCompile(`(?m)^(?:async )?(?:const|let|function|class) +([A-Za-z_$][\w$]*)`)

// No two scripts of a page declare the same name: the page would not run at all.
func TestScriptsDeclareNamesOnce(t *testing.T) {
	t.Parallel()
	common, err := filepath.Glob("html/*.js")
	expect.OK(t, err)
	common = slices.DeleteFunc(common, func(path string) bool { return path == "html/blocks.js" })
	for _, own := range [][]string{
		{"html/blocks.js"}, // of the page that is a file
		{"../site/pages/view_load.js", "../site/pages/live.js", "../site/pages/compare.js", "../site/pages/label.js", "../site/pages/view.js"},
		{"../site/pages/load.js", "../site/pages/comparisons.js", "../site/pages/site.js"},
	} {
		by := map[string]string{}
		for _, path := range slices.Concat(common, own) {
			declaredBy(t, path, by)
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
