package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/runner"
)

func (a *app) modelsCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "models [NAME]", Short: "List the service's models", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.models(cmd.Context(), args, o) },
	}
	serviceFlags(cmd.Flags(), &o.Flags)
	attemptFlags(cmd.Flags(), &o.Flags)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *app) models(ctx context.Context, args []string, o planOptions) error {
	loaded := &harness.Loaded{}
	settings, err := harness.Settle(loaded, o.Flags, a.getenv)
	if err != nil {
		return err
	}
	session, err := harness.Connect(loaded, settings, o.Flags, buildVersion(), a.tellNotice)
	if err != nil {
		return err
	}
	defer session.Close()
	models, err := session.Source().Models(ctx, settings.Service.APIVersion)
	if err != nil {
		return session.Refused(err)
	}
	if len(args) == 1 {
		id := strings.TrimPrefix(args[0], "models/")
		m, err := session.Source().Model(ctx, settings.Service.APIVersion, id)
		if e := eval.AsError(err); e != nil && e.NotFound() {
			var ids []string
			for i := range models {
				ids = append(ids, models[i].ID())
			}
			return harness.Exitf(harness.ExitBadInput, "the service has no model %s; %s", id, diag.DidYouMean(id, ids))
		}
		if err != nil {
			return session.Refused(err)
		}
		models = []eval.Model{*m}
	}
	if o.json {
		return a.printJSON(models)
	}
	slices.SortFunc(models, func(x, y eval.Model) int { return cmp.Compare(x.Name, y.Name) })
	return a.modelTable(models)
}

func (a *app) modelTable(models []eval.Model) error {
	tw := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	p := printer{w: tw}
	p.printf("MODEL\tVERSION\tINPUT\tOUTPUT\tTEMPERATURE\tTOP P\tTOP K\tMETHODS\n")
	for _, m := range models {
		p.printf("%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", diag.CleanLine(m.ID()), diag.CleanLine(m.Version), m.InputTokenLimit, m.OutputTokenLimit,
			optional(m.Temperature), optional(m.TopP), optional(m.TopK), diag.CleanLine(strings.Join(m.SupportedGenerationMethods, ", ")))
	}
	return errors.Join(p.err, tw.Flush())
}

func optional[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

func (a *app) countCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "count SUITE...", Short: "Let the service count the tokens of the prompts", Args: suites,
		RunE: func(cmd *cobra.Command, args []string) error { return a.count(cmd.Context(), args, o) },
	}
	serviceFlags(cmd.Flags(), &o.Flags)
	limitFlags(cmd.Flags(), &o.Flags)
	selectFlags(cmd.Flags(), &o.Flags)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) count(ctx context.Context, files []string, o planOptions) error {
	loaded, err := a.load(files, o.Flags)
	if err != nil {
		return err
	}
	settings, err := harness.Settle(loaded, o.Flags, a.getenv)
	if err != nil {
		return err
	}
	session, err := harness.Connect(loaded, settings, o.Flags, buildVersion(), a.tellNotice)
	if err != nil {
		return err
	}
	defer session.Close()
	plan, err := session.Plan(ctx)
	if err != nil {
		return err
	}
	if plan.Size() == 0 {
		return nothing(loaded, o.Flags, "")
	}
	total := 0
	err = harness.CountPrompts(ctx, plan, session.Counter(), func(t *runner.Planned, tokens int, _ bool) error {
		total += tokens
		if t.Repeat > 1 {
			return nil
		}
		if o.json {
			return a.printJSON(harness.PromptCount{Suite: t.Suite, Case: t.Case, Arm: t.Arm, Model: t.Model, Tokens: tokens})
		}
		_, err := fmt.Fprintf(a.out, "%7d  %s\n", tokens, diag.CleanLine(runner.Describe(&t.Trial)))
		return err
	})
	if err != nil {
		return harness.Exitf(harness.ExitIncomplete, "the tokens could not be counted: %w", err)
	}
	if !o.json {
		_, err = fmt.Fprintf(a.out, "%7d  in all, repeats included\n", total)
	}
	return err
}
