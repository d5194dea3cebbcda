package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/harness"
)

func (a *app) validateCommand() *cobra.Command {
	var f harness.Flags
	cmd := &cobra.Command{
		Use: "validate SUITE...", Short: "Check suites without asking anything", Args: suites,
		RunE: func(_ *cobra.Command, args []string) error { return a.validate(args, f) },
	}
	f.Vars = map[string]string{}
	cmd.Flags().Var(vars(f.Vars), "var", "K=V: set a variable of every case; repeat it for several")
	untrustedFlag(cmd.Flags(), &f)
	return cmd
}

func (a *app) validate(files []string, f harness.Flags) error {
	l, err := a.load(files, f)
	if err != nil {
		return err
	}
	if _, err := harness.Settle(l, f, a.getenv); err != nil {
		return err
	}
	for _, s := range l.Suites {
		trials := 0
		for c := range s.Outlines() {
			trials += c.Repeats * len(c.Arms)
		}
		if _, err := fmt.Fprintf(a.out, "%s: ok: %s, %s, %s\n", s.File,
			diag.Count(s.CaseCount(), "case"), diag.Count(len(s.Arms()), "arm"), diag.Count(trials, "trial")); err != nil {
			return err
		}
	}
	return nil
}
