package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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

// pageSection returns the section with a heading, and names other pages on the subject; "" if no page has it.
func pageSection(heading string) string {
	page := docs.WithSection(docs.Anchor(heading))
	if page == nil {
		return ""
	}
	text := page.Section(docs.Anchor(heading)) + fmt.Sprintf("\n`evalrun help %s` shows the whole page.", page.Name)
	others := slices.DeleteFunc(docs.About(heading), func(name string) bool { return name == page.Name })
	if len(others) > 0 {
		text += " Other pages about it: " + strings.Join(others, ", ") + "."
	}
	return text + "\n"
}

// nearPages names the pages that an unknown name may mean; "" if there are none.
func nearPages(name string) string {
	var names []string
	for _, p := range docs.Pages() {
		names = append(names, p.Name)
	}
	if part := slices.IndexFunc(names, func(page string) bool { return len(name) > 3 && strings.Contains(page, name) }); part >= 0 {
		return fmt.Sprintf("did you mean `%s`?", names[part])
	}
	if near := diag.Nearest(name, names, 1); len(near) > 0 {
		return fmt.Sprintf("did you mean `%s`?", near[0])
	}
	if found := docs.About(name); len(found) > 0 {
		return "pages about it: " + strings.Join(found, ", ")
	}
	return ""
}
