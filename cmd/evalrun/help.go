package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/docs"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/term"
)

// overview orders the commands by purpose, the most used first.
var overview = []struct{ id, title, commands string }{
	{"run", "Run:", "run resume rescore accept merge"},
	{"look", "Look:", "show report comment view publish history prune"},
	{"compare", "Compare:", "compare baseline selftest judge-check"},
	{"service", "Service:", "models count embed auth emulate ledger"},
	{"setup", "Set up:", "init import validate plan scorers schema doctor completion man version help"},
}

// group puts the commands into the order of the overview.
func group(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	place := map[string]int{}
	for _, g := range overview {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, name := range strings.Fields(g.commands) {
			place[name] = len(place)
		}
		for _, c := range root.Commands() {
			if slices.Contains(strings.Fields(g.commands), c.Name()) {
				c.GroupID = g.id
			}
		}
	}
	sorted := slices.Clone(root.Commands())
	slices.SortStableFunc(sorted, func(a, b *cobra.Command) int { return cmp.Compare(place[a.Name()], place[b.Name()]) })
	root.RemoveCommand(sorted...)
	root.AddCommand(sorted...)
}

// flagError suggests the flag that was meant instead of an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := diag.Nearest(unknown.GetSpecifiedName(), names, 1); len(near) > 0 {
			return exit.BadInput("%w; did you mean --%s?", err, near[0])
		}
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && strings.Contains(err.Error(), "strconv.ParseBool") { // which says nothing to people
		hint := ""
		if invalid.GetFlag().Name == "rank" {
			hint = ": --rank --metric " + invalid.GetValue()
		}
		return exit.BadInput("--%s takes no value such as `%s`%s", invalid.GetFlag().Name, invalid.GetValue(), hint)
	}
	return exit.BadInput("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// helpCommand makes cobra's own help show the pages of the documentation too. Where a page and a command have one name,
// as git does it: `help` shows the page, and --help the flags.
func (a *app) helpCommand(help *cobra.Command) {
	help.Use, help.Short = "help [COMMAND|PAGE[#SECTION]]", "Help about a command, or a page of the documentation"
	help.Long = "Shows the help of a command, a page of the documentation, or one section of it:\n\n" + pageList()
	help.Example = "  evalrun help run\n  evalrun help verdicts\n  evalrun help running#exit-codes"
	help.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []string
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, c := range cmd.Root().Commands() {
			if c.IsAvailableCommand() {
				out = append(out, c.Name()+"\t"+c.Short)
			}
		}
		for _, p := range docs.Pages() {
			out = append(out, p.Name+"\t"+p.Title)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	help.Run, help.RunE = nil, func(cmd *cobra.Command, args []string) error { return a.help(cmd.Root(), args) }
}

func (a *app) help(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return root.Help()
	}
	name, anchor, cut := strings.Cut(args[0], "#")
	target, rest, err := root.Find(args)
	command := err == nil && target != root && len(rest) == 0
	page := docs.Find(name)
	switch {
	case page != nil && len(args) == 1:
		text := page.Text
		if cut {
			text = page.Section(anchor)
		}
		if text == "" {
			return exit.BadInput(
				"the page %s has no section %q; %s", name, anchor,
				cmp.Or(diag.DidYouMean(anchor, page.Anchors()), "`evalrun help "+name+"` shows all of it"),
			)
		}
		// Comments are for people who edit a page: an HTML comment in lines of its own, and the empty line after it.
		text = regexp.MustCompile(`(?m)^<!--(?s:.*?)-->\n\n?`).ReplaceAllString(text, "")
		if command {
			text += fmt.Sprintf("\n`%s --help` lists the flags of the command.\n", target.CommandPath())
		}
		return term.Page(a.screen(), text)
	case command:
		return target.Help()
	}
	if p := docs.WithSection(docs.Anchor(args[0])); p != nil && len(args) == 1 {
		return a.section(p, args[0])
	}
	return noPage(root, args[0])
}

// section shows a section of a page, and names other pages about the same.
func (a *app) section(p *docs.Page, heading string) error {
	text := p.Section(docs.Anchor(heading)) + fmt.Sprintf("\n`evalrun help %s` shows the whole page.", p.Name)
	others := slices.DeleteFunc(docs.About(heading), func(name string) bool { return name == p.Name })
	if len(others) > 0 {
		text += " Other pages about it: " + strings.Join(others, ", ") + "."
	}
	return term.Page(a.screen(), text+"\n")
}

// noPage is the error of a name without a page, with the pages that may be meant.
func noPage(root *cobra.Command, name string) error {
	var names []string
	for _, p := range docs.Pages() {
		names = append(names, p.Name)
	}
	if near := diag.Nearest(name, names, 1); len(near) > 0 {
		return exit.BadInput("there is no command or page %q; did you mean `%s`?", name, near[0])
	}
	if found := docs.About(name); len(found) > 0 {
		return exit.BadInput("there is no command or page %q; pages about it: %s", name, strings.Join(found, ", "))
	}
	return unknownCommand(root, name)
}

// pageList lists the pages by part.
func pageList() string {
	var b strings.Builder
	part := ""
	for _, p := range docs.Pages() {
		if p.Part != part {
			part = p.Part
			fmt.Fprintf(&b, "\n%s:\n", partTitles[part])
		}
		fmt.Fprintf(&b, "  %-16s %s\n", p.Name, p.Title)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

var partTitles = map[string]string{
	"tutorial": "Tutorial", "how-to": "How-to", "reference": "Reference", "explanation": "Explanation",
}
