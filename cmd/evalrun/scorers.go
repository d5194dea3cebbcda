package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/internal/authoring"
)

func (a *app) scorersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "scorers [KIND]", Short: "List the kinds of scorers, or explain one", Args: cobra.MaximumNArgs(1),
		ValidArgs: authoring.Kinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return authoring.WriteKinds(a.out)
			}
			return authoring.ExplainKind(a.out, args[0])
		},
	}
}
