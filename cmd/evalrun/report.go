package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) reportCommand() *cobra.Command {
	var f evalrun.Options
	verbose := false
	cmd := &cobra.Command{
		Use: "report RUN", Short: "Report a run, finished or not", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if table := func(format string) bool { return strings.HasPrefix(format, "table") }; verbose &&
				!slices.ContainsFunc(reports.WithTable(f.Reports), table) {
				return eval.BadInput("-v adds to the table: leave it out, or add -o table")
			}
			return a.runs.report(args[0], reports.WithTable(f.Reports), a.screen(), verbose)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Reports(&f)
	fs.BoolVarP(&verbose, "verbose", "v", false, "with arms, cases and settings in the table")
	completeFormats(cmd)
	cmd.ValidArgsFunction = completeRuns
	return cmd
}
