package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/docs"
	"github.com/evalrun/evalrun/eval"
)

// pageTitles lists the pages of the documentation, each as NAME, a tab, and its title.
func pageTitles() []string {
	var out []string
	for _, p := range docs.Pages() {
		out = append(out, p.Name+"\t"+p.Title)
	}
	return out
}

func pageNames() (names []string) {
	for _, p := range docs.Pages() {
		names = append(names, p.Name)
	}
	return names
}

func pageList() string {
	var b strings.Builder
	part := ""
	for _, p := range docs.Pages() {
		if p.Part != part {
			part = p.Part
			fmt.Fprintf(&b, "\n%s%s:\n", strings.ToUpper(part[:1]), part[1:])
		}
		fmt.Fprintf(&b, "  %-16s %s\n", p.Name, p.Title)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// pageComment matches a comment for editors of the page, and the empty line after it.
var pageComment = regexp.MustCompile(`(?m)^<!--(?s:.*?)-->\n\n?`)

// pageText returns the Markdown of PAGE or PAGE#SECTION: "" for an unknown page, an error for an unknown section.
func pageText(topic string) (text string, err error) {
	name, anchor, cut := strings.Cut(topic, "#")
	page := docs.Find(name)
	if page == nil {
		return "", nil
	}
	text = page.Text
	if cut {
		text = page.Section(anchor)
	}
	if text == "" {
		return "", eval.BadInput(
			"the page %s has no section %q; %s", name, anchor,
			cmp.Or(diag.DidYouMean(anchor, page.Anchors()), "`evalrun help "+name+"` shows all of it"),
		)
	}
	return pageComment.ReplaceAllString(text, ""), nil
}

// pageSection returns the section with a heading, and lists other pages about it; "" if neither of the two best pages has it.
func pageSection(heading string) string {
	pages := docs.About(heading)
	for _, p := range pages[:min(2, len(pages))] {
		if text := p.Section(docs.Anchor(heading)); text != "" {
			text += fmt.Sprintf("\n`evalrun help %s` shows the whole page.\n", p.Name)
			if others := found(heading, p.Name); others != "" {
				text += "\nOther pages about it:\n\n" + others
			}
			return text
		}
	}
	return ""
}

// found lists pages about words with their titles, but for one; "" if there are none.
func found(about, but string) string {
	var b strings.Builder
	for _, p := range docs.About(about) {
		if p.Name != but {
			fmt.Fprintf(&b, "%-21s %s\n", p.Name, p.Title)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "```text\n" + b.String() + "```\n"
}
