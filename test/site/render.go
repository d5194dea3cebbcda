package main

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/evalrun/evalrun/docs"
)

// render makes the page's body, and the sections that the search finds.
func (s *website) render(p *page) error {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	doc := md.Parser().Parse(text.NewReader(p.text), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	err := ast.Walk(doc, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		var err error
		switch n := node.(type) {
		case *ast.Link:
			if entering {
				n.Destination, err = s.resolve(p, n.Destination)
			}
		case *ast.Image:
			if entering {
				n.Destination, err = s.resolve(p, n.Destination)
			}
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return err
	}
	var html bytes.Buffer
	if err := md.Renderer().Render(&html, p.text, doc); err != nil {
		return err
	}
	p.Body = template.HTML(html.String()) //nolint:gosec // Markdown of this repository; goldmark leaves raw HTML out
	p.Sections = sections(p, doc)
	return nil
}

// anchors are made as the pages' own are, so that links into a section are the same in the terminal and on GitHub.
type anchors struct{}

func (anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	return []byte(docs.Anchor(string(heading)))
}

func (anchors) Put([]byte) {}

// resolve turns a link between files of the repository into one between files of the website.
func (s *website) resolve(p *page, link []byte) ([]byte, error) {
	file, anchor, cut := strings.Cut(string(link), "#")
	if file == "" || strings.Contains(file, "://") {
		return link, nil
	}
	target := path.Join("docs", path.Dir(p.file), file)
	to := ""
	for _, other := range s.pages {
		if target == "docs/"+other.file {
			to = other.Address()
		}
	}
	if to == "" {
		info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(target)))
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			return nil, fmt.Errorf("the link %s leads to a folder: name a file", link)
		}
		s.copies[target] = true
		to = copied(target)
	}
	to = up(p) + to
	if cut {
		to += "#" + anchor
	}
	return []byte(to), nil
}

// sections are the parts of a page below its headings, as plain text.
func sections(p *page, doc ast.Node) []section {
	var out []section
	for node := doc.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			id, _ := heading.AttributeString("id")
			address := p.Address()
			if len(out) > 0 {
				address += fmt.Sprintf("#%s", id)
			}
			out = append(out, section{Page: p.Title, Heading: plain(heading, p.text), Address: address})
			continue
		}
		if len(out) > 0 {
			last := &out[len(out)-1]
			last.Text = strings.TrimSpace(last.Text + " " + plain(node, p.text))
		}
	}
	return out
}

// plain is the text of a node, with spaces between blocks.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Value(source))
			if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			out.Write(n.Lines().Value(source))
		default:
			if n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}
