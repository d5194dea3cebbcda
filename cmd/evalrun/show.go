package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/eval"
)

func (a *app) showCommand() *cobra.Command {
	var what showOptions
	var verbose, json bool
	cmd := &cobra.Command{
		Use: "show RUN [CASE]", Short: "Show one case of a run in full, or list the cases",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactly(2)(cmd, args)
			}
			return atMost(2)(cmd, args)
		},
		Example: "  evalrun show latest --failed\n  evalrun show latest 'refund-*' --arm 'pro/*'\n  evalrun show latest '*' --failed\n" +
			"  evalrun show latest france --json",
		RunE: func(_ *cobra.Command, args []string) error {
			what.Case = append(args, "")[1]
			switch {
			case verbose && (json || what.Case == ""):
				return eval.BadInput("-v adds to a case that is shown in full: name a case, without --json")
			case json:
				return a.runs.ShowJSON(args[0], what, a.screen())
			case what.Case == "":
				return a.runs.List(args[0], what, a.screen())
			}
			return a.runs.Show(args[0], what, a.screen(), verbose)
		},
	}
	flags.Arms(cmd.Flags(), &what.Arms)
	flags.Outcomes(cmd.Flags(), &what.Outcomes)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show all safety ratings, the declarations of tools, and raw answers")
	flags.JSON(cmd.Flags(), &json)
	cmd.Flags().Lookup("json").Usage = "print JSON, one case or trial a line"
	cmd.ValidArgsFunction = flags.CompleteCases
	return cmd
}
