package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/scorers"
)

func (a *app) scorersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "scorers [KIND]", Short: "List the kinds of scorers, or explain one", Args: cobra.MaximumNArgs(1),
		ValidArgs: scorers.Builtin().Names(),
		RunE:      func(_ *cobra.Command, args []string) error { return a.scorers(args) },
	}
}

func (a *app) scorers(args []string) error {
	table := scorers.Builtin()
	p := printer{w: a.out}
	if len(args) == 0 {
		for _, k := range table {
			p.printf("%-13s %s\n              %s\n", k.Name, k.Summary, strings.ReplaceAll(k.Example, "\n", "\n              "))
		}
		return p.err
	}
	k := table.Lookup(args[0])
	if k == nil {
		return exit.BadInput("there is no scorer kind %q; %s", args[0], diag.DidYouMean(args[0], table.Names()))
	}
	p.printf("%s: %s\n\n%s\n\nscorers:\n  %s\n", k.Name, k.Summary, fill(k.Doc, 80), strings.ReplaceAll(k.Example, "\n", "\n  "))
	return p.err
}

// fill breaks a paragraph into lines of at most so many columns.
func fill(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		fmt.Fprint(&b, word)
		column += len(word)
	}
	return b.String()
}
