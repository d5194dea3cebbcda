package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/glob"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/output"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) reportCommand() *cobra.Command {
	var f harness.Flags
	verbose := false
	cmd := &cobra.Command{
		Use: "report RUN", Short: "Report a run that has ended, was interrupted, or still goes on", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			outputs, err := output.Parse(a.dir, withTable(f.Reports))
			if err != nil {
				return err
			}
			doc, err := a.openRun(args[0])
			if err != nil {
				return err
			}
			defer doc.Close() //nolint:errcheck // it was only read
			options := a.reportOptions()
			options.Verbose = verbose
			_, err = output.Write(doc, outputs, a.out, options)
			return err
		},
	}
	reportFlags(cmd.Flags(), &f)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list every case in a table")
	completeFormats(cmd)
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

func (a *app) showCommand() *cobra.Command {
	var arms []string
	cmd := &cobra.Command{
		Use: "show RUN [CASE]", Short: "Show one case of a run in full, or list the cases",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) == 1 && len(arms) > 0 {
				return exactly(2)(cmd, args)
			}
			return atMost(2)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			doc, err := a.openRun(args[0])
			if err != nil {
				return err
			}
			defer doc.Close() //nolint:errcheck // it was only read
			if len(args) == 1 {
				return reports.CaseList(a.out, doc, a.reportOptions())
			}
			found, err := reports.Cases(a.out, doc, glob.Pattern(args[1]), glob.New(arms), a.reportOptions())
			if err == nil && !found && len(arms) > 0 {
				return exit.BadInput(
					"no case fits %q on an arm that fits %s; arms are named target/prompt, and * matches any characters", args[1],
					strings.Join(arms, " or "),
				)
			}
			if err == nil && !found {
				return exit.BadInput("the run has no case %q%s", args[1], output.NearestCase(doc, args[1]))
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&arms, "arm", nil, "only arms that fit the glob; repeat it for several")
	cmd.ValidArgsFunction = completeCases
	return cmd
}
