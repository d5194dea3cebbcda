// Command site makes a static website of docs/: pages with search, light and dark, that need no server and no network.
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/docs"
)

func main() {
	root, out := flag.String("root", ".", "folder of the repository"), flag.String("out", "site", "folder of the website; it is replaced")
	flag.Parse()
	if err := build(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

//go:embed search.js
var program []byte

// parts are the folders of docs that become pages, in the order of the navigation.
var parts = append(slices.Clone(docs.Parts), "contributing", "adr")

var titles = map[string]string{
	"tutorial": "Tutorial", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation", "contributing": "Contributing",
	"adr": "Decisions",
}

// page is a page of the website.
type page struct {
	Part, Title string
	file        string // below docs, with slashes: how-to/data.md
	text        []byte
	Body        template.HTML
	Sections    []section
}

// Address is where the page is, below the root of the website.
func (p *page) Address() string {
	if p.file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(p.file, ".md") + ".html"
}

// section is a part of a page that the search finds.
type section struct {
	Page    string `json:"page"`
	Heading string `json:"heading"`
	Address string `json:"address"`
	Text    string `json:"text"`
}

// website is what is built: pages, and files of the repository that they link.
type website struct {
	root, out string
	pages     []*page
	copies    map[string]bool // below the root of the repository, with slashes
}

func build(root, out string) error {
	s := &website{root: root, out: out, copies: map[string]bool{}}
	if err := s.read(); err != nil {
		return err
	}
	for _, p := range s.pages {
		if err := s.render(p); err != nil {
			return fmt.Errorf("docs/%s: %w", p.file, err)
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return s.write()
}

// read finds the pages, the index first.
func (s *website) read() error {
	files := []string{"README.md"}
	for _, part := range parts {
		found, err := filepath.Glob(filepath.Join(s.root, "docs", part, "*.md"))
		if err != nil {
			return err
		}
		for _, file := range found {
			files = append(files, path.Join(part, filepath.Base(file)))
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(s.root, "docs", filepath.FromSlash(file)))
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(text), "\n")
		s.pages = append(s.pages, &page{Part: path.Dir(file), Title: strings.TrimPrefix(first, "# "), file: file, text: text})
	}
	return nil
}

func (s *website) write() error {
	var index []section
	tmpl, err := template.New("page").Funcs(template.FuncMap{"groups": s.groups, "up": up}).Parse(layout)
	if err != nil {
		return err
	}
	for _, p := range s.pages {
		var html bytes.Buffer
		if err := tmpl.Execute(&html, p); err != nil {
			return err
		}
		if err := s.save(p.Address(), html.Bytes()); err != nil {
			return err
		}
		index = append(index, p.Sections...)
	}
	list, err := json.Marshal(index)
	if err != nil {
		return err
	}
	others, err := json.Marshal(docs.Synonyms)
	if err != nil {
		return err
	}
	if err := s.save("index.js", fmt.Appendf(nil, "const synonyms = %s;\nconst sections = %s;\n", others, list)); err != nil {
		return err
	}
	for name := range s.copies {
		text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
		if err == nil {
			err = s.save(copied(name), text)
		}
		if err != nil {
			return err
		}
	}
	return cmp.Or(s.save("style.css", style), s.save("search.js", program))
}

func (s *website) save(name string, text []byte) error {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644) //nolint:gosec // files of the repository, below the folder of the website
}

// pageGroup is a part in the navigation.
type pageGroup struct {
	Title string
	Pages []*page
}

func (s *website) groups() []pageGroup {
	var out []pageGroup
	for _, part := range parts {
		g := pageGroup{Title: titles[part]}
		for _, p := range s.pages {
			if p.Part == part {
				g.Pages = append(g.Pages, p)
			}
		}
		out = append(out, g)
	}
	return out
}

// up leads from a page to the root of the website.
func up(p *page) string { return strings.Repeat("../", strings.Count(p.Address(), "/")) }

// copied is where a file of the repository is on the website: what is in docs keeps its place.
func copied(name string) string {
	if below, ok := strings.CutPrefix(name, "docs/"); ok {
		return below
	}
	return "repository/" + name
}
