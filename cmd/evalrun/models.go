package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
)

func (a *app) modelsCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "models [NAME]", Short: "List the service's models", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error {
				if len(o.Suites) > 0 {
					return a.modelsOfSuites(ctx, args, o)
				}
				return a.models(ctx, args, o)
			})
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Attempts(&o.Options)
	fs.AllowFile(&o.Options)
	fs.StringArrayVar(&o.Suites, "suite", nil, "list the models of the services of the suite `FILE` (repeatable)")
	fs.JSON(&o.json)
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) models(ctx context.Context, args []string, o planOptions) error {
	j, err := a.job(&o.Options)
	if err != nil {
		return err
	}
	session, err := a.caller().Connect(j)
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

// modelsOfSuites lists the models of every service that suites name. One that cannot be reached does not hide the others.
func (a *app) modelsOfSuites(ctx context.Context, ids []string, o planOptions) error {
	j, err := a.job(&o.Options)
	if err != nil {
		return err
	}
	code := eval.CodeOK
	for one := range a.caller().ModelsOf(ctx, j, ids) {
		switch err = one.Err; {
		case err != nil:
		case o.json:
			err = a.screen().JSON(one)
		default:
			fmt.Fprintln(a.out, diag.CleanLine(one.String()))
			err = term.WriteModels(a.out, one.Models, a.outWidth)
		}
		if errors.Is(err, syscall.EPIPE) {
			return err
		}
		a.explain(err)
		code = max(code, eval.CodeOf(err))
	}
	return exitWith(code)
}

// caller is this command, as services see it.
func (a *app) caller() session.Requester {
	return session.Requester{Version: buildVersion(), Notice: func(text string) { fmt.Fprintln(a.err, text) }}
}
