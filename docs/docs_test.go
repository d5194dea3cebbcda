package docs

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSection(t *testing.T) {
	t.Parallel()
	p := Page{Text: "# T\nintro\n## What to do about \"cannot tell\"\none\n```sh\n# no heading\n```\n### deeper\ntwo\n## Next\nthree\n"}
	for anchor, want := range map[string]string{
		"what-to-do-about-cannot-tell": "## What to do about \"cannot tell\"\none\n```sh\n# no heading\n```\n### deeper\ntwo\n",
		"deeper":                       "### deeper\ntwo\n",
		"next":                         "## Next\nthree\n",
		"no-heading":                   "",
		"":                             "",
	} {
		if got := p.Section(anchor); got != want {
			t.Errorf("#%s: %q, want %q", anchor, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"suite", "suite.md", "docs/suite.md"} {
		if p := Find(name); p == nil || p.Name != "suite" || p.Title != "The suite file" {
			t.Errorf("%s: %v", name, p)
		}
	}
	if p := Find("ci/github"); p == nil {
		t.Error("pages in folders are not found")
	}
	for _, name := range []string{"", "nonsense", "../README", "docs"} {
		if p := Find(name); p != nil {
			t.Errorf("%q finds %s", name, p.Name)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)\s:]*)\)`)

// Links between pages lead to files and sections that are there.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, p := range Pages() {
		for _, m := range link.FindAllStringSubmatch(p.Text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			to := &p
			if file != "" {
				file = path.Join(path.Dir(p.Name), file)
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s: %v", p.Name, err)
					continue
				}
				to = Find(file)
			}
			if anchor != "" && to != nil && !slices.Contains(to.Anchors(), anchor) {
				t.Errorf("%s: %s has no #%s, but %v", p.Name, to.Name, anchor, to.Anchors())
			}
		}
	}
}
