// Package docs holds the pages of the documentation, so that `evalrun help PAGE` shows those of the version that runs.
package docs

import (
	"bufio"
	"embed"
	"io/fs"
	"strings"
	"unicode"
)

//go:embed *.md ci/*.md
var pages embed.FS

// Page is a page of the documentation.
type Page struct {
	Name  string // such as suite or ci/github
	Title string // its first heading
	Text  string // Markdown
}

// Pages are all pages, by name.
func Pages() []Page {
	out := Titles()
	for i := range out {
		out[i].read()
	}
	return out
}

// Titles are all pages without their texts, for the help that every start of the program makes.
func Titles() []Page {
	var out []Page
	err := fs.WalkDir(pages, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := pages.Open(path)
		if err != nil {
			return err
		}
		first, err := bufio.NewReaderSize(file, 100).ReadString('\n')
		out = append(out, Page{Name: strings.TrimSuffix(path, ".md"), Title: strings.TrimPrefix(strings.TrimSpace(first), "# ")})
		return err
	})
	if err != nil { // the files are in the program
		panic(err)
	}
	return out
}

// read sets the text of a page.
func (p *Page) read() {
	text, err := pages.ReadFile(p.Name + ".md")
	if err != nil { // it is in the program
		panic(err)
	}
	p.Text = string(text)
}

// Find gives the page of a name, which may also be written as the file's: suite, suite.md, docs/suite.md. It is nil when there is none.
func Find(name string) *Page {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
	for _, p := range Titles() {
		if p.Name == name {
			p.read()
			return &p
		}
	}
	return nil
}

// Section is the part of the page below the heading with an anchor, with its parts; "" when there is no such heading. Anchors are made as
// GitHub makes them.
func (p *Page) Section(anchor string) string {
	var out strings.Builder
	level := 0 // of the heading; 0 before it
	p.lines(func(line string, heading int) bool {
		switch {
		case heading == 0:
		case level == 0 && anchorOf(line) == anchor:
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

// Anchors are those of the page's headings, in their order.
func (p *Page) Anchors() []string {
	var out []string
	p.lines(func(line string, heading int) bool {
		if heading > 0 {
			out = append(out, anchorOf(line))
		}
		return true
	})
	return out
}

// lines yields the lines with the level of those that are headings, which nothing in a fenced block is.
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

func anchorOf(heading string) string {
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
