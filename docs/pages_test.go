package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Each page begins with its title, and the pages of a part are in the order of their names, which no two share.
func TestPagesHaveTitlesAndAnOrder(t *testing.T) {
	t.Parallel()
	var names, places []string
	for _, p := range Pages() {
		names = append(names, p.Name)
		places = append(places, fmt.Sprintf("%d %s", slices.Index(Parts, p.Part), p.Name))
		if !strings.HasPrefix(p.Text, "# "+p.Title+"\n") || p.Title == "" {
			t.Errorf("got %s without its title at the beginning, want %q", p.Name, p.Title)
		}
		expect.Same(t, "the page that is found as "+p.Name, *Find(p.Name), p)
	}
	if !slices.IsSorted(places) || len(names) < 20 {
		t.Errorf("got the pages %q, want all of them by part and name", places)
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("got the pages %q, want no name twice", names)
	}
}

// An anchor leads to one section: GitHub numbers those of headings that come twice.
func TestAnchorsOfAPageAreUnique(t *testing.T) {
	t.Parallel()
	for _, p := range Pages() {
		anchors := slices.Sorted(slices.Values(p.Anchors()))
		for i := range anchors[1:] {
			if anchors[i] == anchors[i+1] {
				t.Errorf("got several headings #%[2]s in %[1]s, want one", p.Name, anchors[i])
			}
		}
	}
}

// The sections of a page are all of it, each with its heading.
func TestSectionsBeginWithTheirHeading(t *testing.T) {
	t.Parallel()
	for _, p := range Pages() {
		expect.Same(t, p.Name+" by its title", p.Section(p.Anchors()[0]), p.Text)
		for _, anchor := range p.Anchors() {
			text := p.Section(anchor)
			first, _, _ := strings.Cut(text, "\n")
			expect.Same(t, p.Name+": anchor", Anchor(first), anchor)
			expect.Contains(t, p.Name, p.Text, text)
		}
	}
}

// Anchors are lower case, without what is no letter, number, dash or underscore.
func TestAnchorsAreMadeAsGitHubMakesThem(t *testing.T) {
	t.Parallel()
	p := Page{Text: "# `evalrun run`, and more!\n##No heading\n## A_b - C (1.2)\n#### Größe 日本\n```\n# code\n```\n## Last\n"}
	expect.Same(t, "anchors", p.Anchors(), []string{"evalrun-run-and-more", "a_b---c-12", "größe-日本", "last"})
}

var item = regexp.MustCompile(`^(?:-|\d+\.) `)

// A page has one task or one subject: it is short outside of tables, and so are its paragraphs and lines. Pages of scorers are made
// from the table of kinds.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	const words, lines, columns = 1200, 5, 100
	for file, text := range markdown(t) {
		if strings.HasPrefix(file, "adr/") || strings.HasPrefix(file, "../CHANGELOG") || strings.HasPrefix(file, "reference/scorers") {
			continue
		}
		prose := fenced.ReplaceAllString(text, "")
		total, paragraph := 0, 0
		for line := range strings.Lines(prose) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "|") {
				continue
			}
			total += len(strings.Fields(line))
			switch paragraph++; {
			case line == "", strings.HasPrefix(line, "#"):
				paragraph = 0
			case item.MatchString(line):
				paragraph = 1
			}
			if paragraph > lines {
				t.Errorf("%s: got a paragraph, want at most %d lines: %s", file, lines, line)
			}
			if len([]rune(line)) > columns && !strings.Contains(line, "](") && !strings.Contains(line, "`") {
				t.Errorf("%s: got a line of %d columns, want fewer: %s", file, len([]rune(line)), line)
			}
		}
		if total > words {
			t.Errorf("%s has %d words outside of tables and code, want at most %d", file, total, words)
		}
	}
}
