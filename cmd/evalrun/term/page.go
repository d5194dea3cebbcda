package term

import (
	"io"
	"regexp"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/evalrun/evalrun/diag"
)

// Page renders the Markdown that the documentation uses, wrapped at the width of the screen.
func Page(s Screen, markdown string) error {
	width := min(s.Width, widestPage)
	if s.Width <= 0 {
		width = defaultPage
	}
	p := pageWriter{width: width, color: s.Color}
	for line := range strings.Lines(markdown) {
		p.line(strings.TrimRight(line, "\n"))
	}
	p.flush()
	_, err := io.WriteString(s, strings.Trim(p.out.String(), "\n")+"\n")
	return err
}

// defaultPage is the width without a terminal. widestPage keeps lines readable on a wide one.
const defaultPage, widestPage = 80, 100

// pageWriter collects the lines of a block until the next block begins.
type pageWriter struct {
	width  int
	color  bool
	out    strings.Builder
	prefix string   // of an item, before its first line
	text   []string // lines of a paragraph or an item
	rows   [][]string
	fenced bool
}

var itemPrefix = regexp.MustCompile(`^(\s*)([-*]|\d+\.)\s+`)

func (p *pageWriter) line(line string) {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(trimmed, "```"):
		p.flush()
		p.fenced = !p.fenced
		p.space()
		if _, file, named := strings.Cut(trimmed, " "); named && p.fenced { // for example ```yaml suite.yaml
			p.out.WriteString("    " + file + ":\n\n")
		}
	case p.fenced:
		p.out.WriteString(p.paint("    "+line, "36") + "\n")
	case trimmed == "":
		p.flush()
		p.space()
	case strings.HasPrefix(line, "#"):
		p.flush()
		p.heading(line)
	case strings.HasPrefix(trimmed, "|"):
		p.row(trimmed)
	case itemPrefix.MatchString(line):
		p.flush()
		p.prefix = itemPrefix.FindString(line)
		p.text = []string{line[len(p.prefix):]}
	case strings.HasPrefix(trimmed, "!["):
		// pictures cannot be shown
	default:
		p.text = append(p.text, trimmed)
	}
}

func (p *pageWriter) space() {
	if !strings.HasSuffix(p.out.String(), "\n\n") {
		p.out.WriteString("\n")
	}
}

func (p *pageWriter) heading(line string) {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	title := unmarked(strings.TrimSpace(line[level:]))
	rule := "-"
	if level == 1 {
		rule = "="
	}
	p.space()
	for _, part := range diag.Wrap(title, p.width) {
		p.out.WriteString(p.paint(part, "1") + "\n")
	}
	if level < 3 {
		p.out.WriteString(strings.Repeat(rule, min(p.width, displaywidth.String(title))) + "\n")
	}
}

func (p *pageWriter) flush() {
	if len(p.rows) > 0 {
		p.table()
	}
	if len(p.text) > 0 {
		indent := strings.Repeat(" ", displaywidth.String(p.prefix))
		for i, part := range wrapText(unmarked(strings.Join(p.text, " ")), p.width-len(indent)) {
			if i == 0 {
				part = p.prefix + part
			} else {
				part = indent + part
			}
			p.out.WriteString(part + "\n")
		}
	}
	p.prefix = ""
	p.text = nil
	p.rows = nil
}

func (p *pageWriter) paint(text, code string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

var (
	markedLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
	pageLink   = regexp.MustCompile(`^(?:\.\./)?(?:[a-z-]+/)?([a-z0-9-]+)\.md(#[^)]*)?$`)
	strong     = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// unmarked removes marks of Markdown, except those of code. A link to a page becomes the name of the page.
func unmarked(text string) string {
	text = markedLink.ReplaceAllStringFunc(text, func(link string) string {
		m := markedLink.FindStringSubmatch(link)
		switch page := pageLink.FindStringSubmatch(m[2]); {
		case page != nil && !strings.EqualFold(m[1], page[1]):
			return m[1] + " (see " + page[1] + page[2] + ")"
		case strings.Contains(m[2], "://"):
			return m[1] + " (" + m[2] + ")"
		}
		return m[1]
	})
	return strong.ReplaceAllString(text, "$1")
}
