package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
)

// Help is as wide as the terminal, within bounds that keep lines easy to read.
const narrowestHelp, usualHelp, widestHelp = 40, 80, 100

// nextToName is from which width a phrase begins in the line of its flag, and flagColumn where it begins then.
const nextToName, flagColumn = 72, 32

// usage writes the help of a command: what it does, how it is called, examples, and its commands and flags.
func (a *app) usage(cmd *cobra.Command) error {
	width := usualHelp
	if columns := cmp.Or(a.outWidth, a.errColumns()); columns > 0 { // a pager reads what a terminal shows
		width = max(narrowestHelp, min(columns, widestHelp))
	}
	u := usageWriter{width: width, color: a.color(a.outWidth)}
	u.paragraph(cmd.Short)
	u.heading("Usage")
	if cmd.HasAvailableSubCommands() {
		u.line("  " + cmd.CommandPath() + " COMMAND [flags]")
	} else {
		u.line("  " + cmd.UseLine())
	}
	if cmd.Example != "" {
		u.heading("Examples")
		u.line(strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.Long != "" {
		u.line("")
		u.text(cmd.Long)
	}
	u.commands(cmd)
	all := grouped(cmd.LocalFlags())
	if cmd.Annotations[usualFlags] == "" || a.global.Help.All {
		for _, g := range append(all, commonFlags(cmd)) {
			u.flags(g, flagPhrase)
		}
	} else {
		for _, g := range onlyUsual(cmd, all) {
			u.flags(g, brief)
		}
		u.line("\n`" + cmd.CommandPath() + " --help=all` lists all flags, with their defaults")
	}
	_, err := fmt.Fprint(a.out, u.out.String())
	return err
}

type usageWriter struct {
	out   strings.Builder
	width int
	color bool
}

func (u *usageWriter) line(text string) { u.out.WriteString(text + "\n") }

func (u *usageWriter) heading(title string) {
	if u.color {
		title = "\x1b[1m" + title + ":\x1b[0m"
	} else {
		title += ":"
	}
	u.line("\n" + title)
}

func (u *usageWriter) paragraph(text string) {
	for _, line := range diag.Wrap(text, u.width) {
		u.line(line)
	}
}

// text writes paragraphs. Indented lines are a table or code, and are not wrapped.
func (u *usageWriter) text(text string) {
	var open []string
	flush := func() {
		if len(open) > 0 {
			u.paragraph(strings.Join(open, " "))
			open = nil
		}
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			open = append(open, line)
			continue
		}
		flush()
		u.line(line)
	}
	flush()
}

func (u *usageWriter) commands(cmd *cobra.Command) {
	group := func(title, id string) {
		headed := false
		for _, c := range cmd.Commands() {
			if c.GroupID != id || !c.IsAvailableCommand() && c.Name() != "help" {
				continue
			}
			if !headed {
				u.heading(title)
				headed = true
			}
			u.entry("  "+c.Name(), c.Short, cmd.NamePadding()+4)
		}
	}
	for _, g := range cmd.Groups() {
		group(strings.TrimSuffix(g.Title, ":"), g.ID)
	}
	group("Commands", "")
}

func (u *usageWriter) flags(g flagGroup, phrase func(*pflag.Flag) string) {
	if len(g.Flags) == 0 {
		return
	}
	title := g.Title
	if title == "" {
		title = "Flags"
	}
	u.heading(title)
	column := flagColumn
	if u.width < nextToName {
		column = 0
	}
	for _, f := range g.Flags {
		u.entry("  "+namedFlag(f), phrase(f), column)
	}
}

// entry writes a name, and its description from a column on, or below where that does not fit.
func (u *usageWriter) entry(name, phrase string, column int) {
	const below = 8
	if column == 0 {
		u.line(name)
		name, column = "", below
	} else if len(name)+2 > column {
		u.line(name)
		name = ""
	}
	for _, line := range diag.Wrap(phrase, u.width-column) {
		u.line(strings.TrimRight(fmt.Sprintf("%-*s%s", column, name, line), " "))
		name = ""
	}
}
