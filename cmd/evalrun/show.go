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
				return a.runs.showJSON(args[0], what, a.screen())
			case what.Case == "":
				return a.runs.list(args[0], what, a.screen())
			}
			return a.runs.show(args[0], what, a.screen(), verbose)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Arms(&what.Arms)
	fs.Outcomes(&what.Outcomes)
	fs.BoolVarP(&verbose, "verbose", "v", false, "also show all safety ratings, the declarations of tools, and raw answers")
	fs.JSON(&json)
	fs.Lookup("json").Usage = "print JSON, one case or trial a line"
	cmd.ValidArgsFunction = completeCases
	return cmd
}
