package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
)

func (a *app) rescoreCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "rescore RUN", Short: "Score the answers of a run again, by the current scorers", Args: exactly(1),
		Long: "Scores the recorded answers of a run by the current scorers of its suites, into a new run that names its\n" +
			"origin. It requests no answers; only scorers that compare meanings request embeddings. A judge's reply counts\n" +
			"as long as its request is the same. For a changed rubric, --ask-judges calls the judges within the limits and\n" +
			"budgets. The selection and --var are those of RUN. If the request of a trial has changed, rescore reports\n" +
			"the trial and does not score it, and the new run is incomplete.",
		Example: "  evalrun rescore latest\n  evalrun rescore main-run --suite stricter.yaml --out again\n  evalrun rescore main-run " +
			"--ask-judges\n  evalrun compare main-run again",
		RunE: func(cmd *cobra.Command, args []string) error { return a.rescore(cmd.Context(), args[0], o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringArrayVar(
		&o.Suites, "suite", nil, "take the scorers from the suite `FILE` (default the run's suites as they are now; repeatable)",
	)
	fs.BoolVar(&o.AskJudges, "ask-judges", false, "call judges where a reply is missing, as after a change of a rubric")
	fs.Service(&o.Options)
	fs.Limits(&o.Options)
	fs.Ledger(&o.Options)
	fs.NoLedger(&o.Options)
	fs.Reports(&o.Options)
	fs.Out(&o.Options)
	fs.Identity(&o.Options)
	fs.Untrusted(&o.Options)
	fs.Trust(&o.Options)
	fs.Gate(&o.Options)
	fs.Against(&o.Options)
	o.AddLevel(fs.FlagSet, verboseHelp)
	completeFormats(cmd)
	cmd.ValidArgsFunction = completeRuns
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) rescore(ctx context.Context, name string, o runOptions) error {
	o.Rescore = name
	return a.run(ctx, o)
}
