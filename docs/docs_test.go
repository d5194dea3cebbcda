package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestSectionIsFoundByItsAnchor(t *testing.T) {
	t.Parallel()
	p := Page{Text: "# T\nintro\n## What to do about \"cannot tell\"\none\n```sh\n# no heading\n```\n### deeper\ntwo\n## Next\nthree\n"}
	for anchor, want := range map[string]string{
		"what-to-do-about-cannot-tell": "## What to do about \"cannot tell\"\none\n```sh\n# no heading\n```\n### deeper\ntwo\n",
		"deeper":                       "### deeper\ntwo\n",
		"next":                         "## Next\nthree\n",
		"no-heading":                   "",
		"":                             "",
	} {
		expect.Same(t, fmt.Sprintf("#%s", anchor), p.Section(anchor), want)
	}
}

func TestFindTakesAnyNameOfAPage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"suite", "suite.md", "docs/suite.md", "reference/suite", "docs/reference/suite.md"} {
		if p := Find(name); p == nil || p.Name != "suite" || p.Part != "reference" || p.Title != "The suite file" {
			t.Errorf("%s: %v, want the page of the suite file", name, p)
		}
	}
	if p := Find("ci/github"); p == nil || p.Name != "github" {
		t.Errorf("ci/github: got %v, want the page github", Find("ci/github"))
	}
	if p := Find("how-to/decide"); p == nil || p.Name != "page" {
		t.Errorf("how-to/decide: got %v, want the page that has its text now", p)
	}
	for _, name := range []string{"", "nonsense", "../README", "docs", "docs/", "reference", "reference/", "../reference/suite.md"} {
		if p := Find(name); p != nil {
			t.Errorf("%q: got the page %s, want none", name, p.Name)
		}
	}
}

// The workflow that a page shows in full is the one to copy.
func TestWorkflowInFullIsTheOneToCopy(t *testing.T) {
	t.Parallel()
	copied, err := os.ReadFile("../examples/ci/github/pull-request.yml")
	expect.OK(t, err)
	_, want, _ := strings.Cut(string(copied), "\nname: ")
	expect.Contains(t, "docs/how-to/github.md (examples/ci/github/pull-request.yml)",
		Find("github").Text, "\nname: "+want+"```\n")
}

var link = regexp.MustCompile(`\]\(([^)\s]*)\)`)

// Links of all Markdown in the repository lead to files and sections that are there.
func TestLinksLeadToFilesAndSections(t *testing.T) {
	t.Parallel()
	n := 0
	for file, text := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			to, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if to != "" {
				target = path.Join(path.Dir(file), to)
			}
			content, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() {
				continue
			}
			page := Page{Text: string(content)}
			switch {
			case err != nil:
				t.Errorf("%s: %v, want a page", file, err)
			case anchor != "" && !slices.Contains(page.Anchors(), anchor):
				t.Errorf("%[1]s: %[2]s: got no #%[3]s, want one of %[4]v", file, target, anchor, page.Anchors())
			}
		}
	}
	if n < 100 {
		t.Errorf("got %d links, want at least 100", n)
	}
}

// fenced are blocks of code, in which a bracket before a parenthesis is no link.
var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// markdown reads the README, the guide for contributors and all files of docs, by path from this folder.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../*.md", "../llms.txt", "../skills/*/*.md", "*.md", "*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got no file (%v), want some", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			expect.OK(t, err)
			out[file] = string(text)
		}
	}
	return out
}

// The index links every page, and each under its part.
func TestIndexHasEveryPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	expect.OK(t, err)
	for _, p := range Pages() {
		if !strings.Contains(string(text), "]("+p.Part+"/"+p.Name+".md)") {
			t.Errorf("got no link to %s/%s in the index, want one", p.Part, p.Name)
		}
	}
}
