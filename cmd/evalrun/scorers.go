package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
)

func (a *app) scorersCommand() *cobra.Command {
	json := false
	cmd := &cobra.Command{
		Use: "scorers [KIND]", Short: "List the kinds of scorers, or explain one", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: completeKinds,
		RunE: func(_ *cobra.Command, args []string) error {
			if json {
				described, err := describeKinds(args)
				if err != nil {
					return err
				}
				return a.screen().JSON(described)
			}
			if len(args) == 0 {
				return writeKinds(a.out)
			}
			return explainKind(a.out, args[0])
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.JSON(&json)
	return cmd
}

// completeKinds lists them only when a shell completes, so that a start of the program does not make them.
func completeKinds(_ *cobra.Command, args []string, text string) (kinds []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, kind := range kindNames() {
		if strings.HasPrefix(kind, text) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}
