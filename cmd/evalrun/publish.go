package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/runs"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

func (a *app) publishCommand() *cobra.Command {
	var o runs.Publishing
	cmd := &cobra.Command{
		Use: "publish RUN... --out DIR", Short: "Write runs as a static site, for pages hosting",
		Long: "Writes the pages of runs, their trends, and comparisons of runs of the same suite into DIR, as files that need\n" +
			"no server. It says on standard error what content the site shows. DIR is empty, not there yet, or the\n" +
			"site of an earlier publish, which it replaces. The first line on standard output is the path of the first page.",
		Example: "  evalrun publish latest --out public\n  evalrun publish branch:main latest --out public --margin 0.05\n" +
			"  evalrun publish artifacts --out public --no-content",
		RunE: func(_ *cobra.Command, args []string) error { return a.publish(args, o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Out, "out", "", "write the site into `DIR` (required)")
	fs.BoolVar(&o.NoContent, "no-content", false, "leave prompts and answers out, but not hashes, lengths and scores")
	fs.Float64Var(&o.Margin, "margin", 0, "give comparisons a verdict: a rate may be lower by `M`, such as 0.05")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return flags.CompleteRuns(cmd, nil, text)
	}
	return cmd
}

func (a *app) publish(named []string, o runs.Publishing) error {
	if len(named) == 0 {
		return eval.BadInput("publish takes the runs to show: evalrun publish latest --out public")
	}
	o.Runs = named
	site, err := a.runs.Publish(o)
	if err != nil {
		return err
	}
	for _, notice := range site.Notices() {
		fmt.Fprintf(a.err, "%s\n", diag.CleanLine(notice))
	}
	_, err = fmt.Fprintln(a.out, diag.CleanLine(site.Index()))
	return err
}
