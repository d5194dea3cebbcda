package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

func (a *app) countCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "count [SUITE...]", Short: "Let the service count the tokens of the prompts", Args: suites,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.count(ctx, &o) })
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Limits(&o.Options)
	fs.Select(&o.Options)
	fs.AllowFile(&o.Options)
	completeSelection(cmd)
	fs.RunPrograms(&o.runPrograms)
	fs.JSON(&o.json)
	fs.Lookup("json").Usage = "print JSON, one object a line"
	flags.ConfigSuites(cmd, &o.Options)
	return cmd
}

func (a *app) count(ctx context.Context, o *planOptions) error {
	j, err := a.writtenJob(ctx, &o.Options, o.runPrograms)
	if err != nil {
		return err
	}
	opened, err := a.caller().Connect(j)
	if err != nil {
		return err
	}
	defer opened.Close()
	plan, err := opened.Plan(ctx)
	if err != nil {
		return err
	}
	if j.SelectsNothing(plan) {
		return j.Nothing("")
	}
	total, err := session.CountPrompts(ctx, plan, opened.Counter(), func(one session.PromptCount) error {
		if o.json {
			return a.screen().JSON(one)
		}
		note := ""
		if one.Estimated {
			note = " (estimated)"
		}
		_, err := fmt.Fprintf(a.out, "%7d  %s%s\n", one.Tokens, diag.CleanLine(one.Name), note)
		return err
	})
	if errors.Is(err, syscall.EPIPE) {
		return err
	}
	if err != nil {
		return eval.Incomplete("the tokens could not be counted: %w", err)
	}
	a.sayUnwritten(j)
	if !o.json {
		_, err = fmt.Fprintf(a.out, "%7d  in all, repeats included\n", total)
	}
	return err
}
