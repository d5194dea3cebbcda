package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flags"
	"github.com/evalrun/evalrun/internal/forecast"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/term"
)

func (a *app) modelsCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "models [NAME]", Short: "List the service's models", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.models(ctx, args, o) })
		},
	}
	flags.Service(cmd.Flags(), &o.Flags)
	flags.Attempts(cmd.Flags(), &o.Flags)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *app) models(ctx context.Context, args []string, o planOptions) error {
	session, err := a.connect(o.Flags)
	if err != nil {
		return err
	}
	defer session.Close()
	if len(args) == 1 {
		m, err := session.Model(ctx, strings.TrimPrefix(args[0], "models/"))
		switch {
		case err != nil:
			return err
		case o.json:
			return a.screen().JSON([]any{m})
		}
		return term.WriteModel(a.out, m, a.outWidth)
	}
	models, err := session.Models(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return a.screen().JSON(models)
	}
	return term.WriteModels(a.out, models, a.outWidth)
}

// connect opens the way to a service for a command without suites.
func (a *app) connect(f harness.Flags) (*harness.Session, error) {
	job, err := a.job(nil, f)
	if err != nil {
		return nil, err
	}
	return a.dial(job)
}

// dial opens the way to the service of a job.
func (a *app) dial(job *harness.Job) (*harness.Session, error) {
	return job.Connect(buildVersion(), func(text string) { fmt.Fprintln(a.err, text) })
}

func (a *app) countCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "count SUITE...", Short: "Let the service count the tokens of the prompts", Args: suites,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.count(ctx, args, o) })
		},
	}
	flags.Service(cmd.Flags(), &o.Flags)
	flags.Limits(cmd.Flags(), &o.Flags)
	flags.Select(cmd.Flags(), &o.Flags)
	flags.CompleteSelection(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) count(ctx context.Context, files []string, o planOptions) error {
	job, err := a.job(files, o.Flags)
	if err != nil {
		return err
	}
	session, err := a.dial(job)
	if err != nil {
		return err
	}
	defer session.Close()
	plan, err := session.Plan(ctx)
	if err != nil {
		return err
	}
	if plan.Size() == 0 {
		return job.Nothing("")
	}
	total, err := forecast.CountPrompts(ctx, plan, session.Counter(), func(one forecast.PromptCount) error {
		if o.json {
			return a.screen().JSON(one)
		}
		_, err := fmt.Fprintf(a.out, "%7d  %s\n", one.Tokens, diag.CleanLine(one.Name))
		return err
	})
	if err != nil {
		return exit.Incomplete("the tokens could not be counted: %w", err)
	}
	if !o.json {
		_, err = fmt.Fprintf(a.out, "%7d  in all, repeats included\n", total)
	}
	return err
}
