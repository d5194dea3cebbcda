package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The website of the documentation, as make site makes it. With these flags and without cgo its packages are those of make build.
func TestTheDocumentationSite(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "site")
	build := exec.Command("go", "run", "-trimpath", "-gcflags=all=-dwarf=false", "./test/site", "-out", out)
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	expect.OK(t, err)
	expect.Same(t, "what the build prints", string(text), "")
	t.Run("finds what people search for", func(t *testing.T) { siteFinds(t, out) })
	t.Run("works from files", func(t *testing.T) { siteWorks(t, out) })
}

// Words that users search for lead to a page that answers, among the first three pages.
func siteFinds(t *testing.T, out string) {
	list, err := os.ReadFile("../docs/testdata/words.txt")
	expect.OK(t, err)
	b := open(t, filepath.Join(out, "tutorial", "tutorial.html"), 1000, 700, "light")
	for line := range strings.Lines(string(list)) {
		words, pages, _ := strings.Cut(strings.TrimSpace(line), ": ")
		found := evaluate[[]string](b, fmt.Sprintf(`document.getElementById("search").value = %q,
			document.getElementById("search").dispatchEvent(new Event("input")),
			[...new Set([...document.querySelectorAll("#found a")].map((a) =>
				a.pathname.split("/").pop().replace(".html", "")))].slice(0, 3)`, words))
		if !slices.ContainsFunc(strings.Fields(pages), func(page string) bool { return slices.Contains(found, page) }) {
			t.Errorf("%q leads to %q, want one of %s", words, found, pages)
		}
	}
}

// The website of the documentation works from files: the search finds sections, and both schemes can be read.
func siteWorks(t *testing.T, out string) {
	for scheme, dark := range map[string]bool{"light": false, "dark": true} {
		b := open(t, filepath.Join(out, "tutorial", "tutorial.html"), 1000, 700, scheme)
		background := evaluate[string](b, `getComputedStyle(document.body).backgroundColor`)
		if got := !strings.Contains(background, "255"); got != dark {
			t.Errorf("%s: the background is %s, want it dark: %t", scheme, background, dark)
		}
		evaluate[bool](b, `document.getElementById("search").value = "exit codes",
			document.getElementById("search").dispatchEvent(new Event("input"))`)
		b.until(`document.querySelector("#found a")?.getAttribute("href") === "../reference/running.html#exit-codes"`)
		b.do(chromedp.Navigate(evaluate[string](b, `document.querySelector("#found a").href`)))
		b.until(`document.documentElement.dataset.ready === "" && document.getElementById("exit-codes") !== null`)
		evaluate[bool](b, `document.getElementById("scheme").click(), true`)
		b.until(fmt.Sprintf(`(getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)") === %t`, dark))
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, request := range b.requests {
			if !strings.HasPrefix(request, "file://") {
				t.Errorf("the page sends a request to %s, want files alone", request)
			}
		}
		if len(b.trouble) > 0 {
			t.Errorf("in the page: %q, want no trouble", b.trouble)
		}
	}
}
