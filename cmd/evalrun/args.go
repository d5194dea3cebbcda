package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/eval"
)

// suites wants the names of suites as arguments.
func suites(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return eval.BadInput("name at least one suite, or list the suites of the project in evalrun.yaml: %s", cmd.UseLine())
	}
	return nil
}

func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return misused(cmd)
		}
		return nil
	}
}

func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return misused(cmd)
		}
		return nil
	}
}

// misused is the error of too many or too few words, with the first example of the command.
func misused(cmd *cobra.Command) error {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if first, _, _ = strings.Cut(first, "   "); first != "" {
		return eval.BadInput("usage: %s, such as: %s", cmd.UseLine(), first)
	}
	return eval.BadInput("usage: %s", cmd.UseLine())
}
