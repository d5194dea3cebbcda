// Package docs holds the pages of the documentation, so that `evalrun help PAGE` shows those of the version that runs.
package docs

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed tutorial/*.md how-to/*.md reference/*.md explanation/*.md
var pages embed.FS

// Parts are the folders with pages, in the order in which people read them.
var Parts = []string{"tutorial", "how-to", "reference", "explanation"}

// Page is a page of the documentation.
type Page struct {
	Name  string // such as suite; no two pages have the same
	Part  string // its folder, one of Parts
	Title string // its first heading
	Text  string // Markdown
}

// Pages returns all pages by part, and by name within a part.
var Pages = sync.OnceValue(readPages)

func readPages() []Page {
	var out []Page
	for _, part := range Parts {
		files, err := fs.Glob(pages, part+"/*.md")
		if err != nil { // the pattern is wrong
			panic(err)
		}
		for _, file := range files {
			text, err := pages.ReadFile(file)
			if err != nil { // the files are in the program
				panic(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			name := strings.TrimSuffix(path.Base(file), ".md")
			out = append(out, Page{Name: name, Part: part, Title: strings.TrimPrefix(first, "# "), Text: string(text)})
		}
	}
	slices.SortFunc(out, func(a, b Page) int { // a glob orders by the names of files, which have an ending
		return cmp.Or(slices.Index(Parts, a.Part)-slices.Index(Parts, b.Part), strings.Compare(a.Name, b.Name))
	})
	return out
}

// moved are former pages, by the page that has their text now.
var moved = map[string]string{"decide": "page"}

// Find returns the page with a name, or nil. A name may be written as a path: suite, suite.md, docs/reference/suite.md.
func Find(name string) *Page {
	folder, file := path.Split(name)
	if folder = strings.TrimPrefix(folder, "docs/"); folder != "" && !slices.Contains(append(Parts, "ci"), path.Clean(folder)) {
		return nil // ci was the folder of two pages in evalrun 0.2
	}
	name = strings.TrimSuffix(file, ".md")
	for _, p := range Pages() {
		if p.Name == cmp.Or(moved[name], name) {
			return &p
		}
	}
	return nil
}

// Section returns the part of the page below the heading with an anchor, including its subsections; "" when
// there is no such heading.
func (p *Page) Section(anchor string) string {
	var out strings.Builder
	level := 0 // of the heading; 0 before it
	p.lines(func(line string, heading int) bool {
		switch {
		case heading == 0:
		case level == 0 && Anchor(line) == anchor:
			level = heading
		case level > 0 && heading <= level:
			return false
		}
		if level > 0 {
			out.WriteString(line)
		}
		return true
	})
	return out.String()
}

// Anchors returns the anchors of the page's headings, in order.
func (p *Page) Anchors() []string {
	var out []string
	p.lines(func(line string, heading int) bool {
		if heading > 0 {
			out = append(out, Anchor(line))
		}
		return true
	})
	return out
}

// lines yields the lines with the level of each heading. Nothing in a fenced block is a heading.
func (p *Page) lines(yield func(line string, heading int) bool) {
	fenced := false
	for line := range strings.Lines(p.Text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		heading := len(line) - len(strings.TrimLeft(line, "#"))
		if fenced || !strings.HasPrefix(line[heading:], " ") {
			heading = 0
		}
		if !yield(line, heading) {
			return
		}
	}
}

// Anchor returns the anchor of a heading, as GitHub makes it: lower case, with only letters, numbers,
// dashes and underscores.
func Anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(strings.TrimLeft(heading, "#")))
}
