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
	selectFlags(cmd.Flags(), &f)
	seedFlag(cmd.Flags(), &f)
	completeSelection(cmd)
	untrustedFlag(cmd.Flags(), &f)
	return cmd
}

func (a *app) validate(files []string, f harness.Flags) error {
	l, err := a.load(files, f)
	if err != nil {
		return err
	}
	settings, err := harness.Settle(l, f, a.getenv)
	if err != nil {
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
	return a.selected(l, f, settings)
}

// selected tells how much the filters select, when there are any.
func (a *app) selected(l *harness.Loaded, f harness.Flags, settings harness.Settings) error {
	if !f.Narrows() {
		return nil
	}
	plan := harness.NewPlan(l, f, settings)
	if plan.Size() == 0 && plan.Shard() == nil {
		return nothing(l, f, settings, "")
	}
	_, err := fmt.Fprintf(a.out, "selected: %s\n", diag.Count(plan.Size(), "trial"))
	return err
}
