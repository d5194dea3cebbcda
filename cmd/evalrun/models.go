package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/forecast"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/runner"
)

func (a *app) modelsCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "models [NAME]", Short: "List the service's models", Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.models(ctx, args, o) })
		},
	}
	serviceFlags(cmd.Flags(), &o.Flags)
	attemptFlags(cmd.Flags(), &o.Flags)
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
			return a.printJSON([]eval.Model{*m})
		}
		return a.writeModel(m)
	}
	models, err := session.Models(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(models, func(x, y eval.Model) int { return cmp.Compare(x.Name, y.Name) })
	if o.json {
		return a.printJSON(models)
	}
	return a.modelTable(models)
}

// connect opens the way to a service for a command without suites.
func (a *app) connect(flags harness.Flags) (*harness.Session, error) {
	job, err := a.job(nil, flags)
	if err != nil {
		return nil, err
	}
	return job.Connect(buildVersion(), a.tellNotice)
}

// modelTable writes a line a model; in a terminal that is too narrow for it, a few lines each.
func (a *app) modelTable(models []eval.Model) error {
	var table bytes.Buffer
	tw := tabwriter.NewWriter(&table, 0, 4, 2, ' ', 0)
	p := printer{w: tw}
	p.printf("MODEL\tVERSION\tDISPLAY NAME\tINPUT\tOUTPUT\tTEMPERATURE\tTOP P\tTOP K\tMETHODS\tDESCRIPTION\n")
	for i := range models {
		m := &models[i]
		p.printf(
			"%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n",
			diag.CleanLine(m.ID()),
			diag.CleanLine(m.Version),
			diag.CleanLine(m.DisplayName),
			m.InputTokenLimit,
			m.OutputTokenLimit,
			optional(
				m.Temperature,
			),
			optional(m.TopP),
			optional(m.TopK),
			diag.CleanLine(strings.Join(m.SupportedGenerationMethods, ", ")),
			diag.CleanLine(m.Description),
		)
	}
	if err := errors.Join(p.err, tw.Flush()); err != nil {
		return err
	}
	if a.outWidth > 0 {
		for line := range strings.Lines(table.String()) {
			if displaywidth.String(strings.TrimRight(line, "\n")) > a.outWidth {
				return a.writeModels(models)
			}
		}
	}
	_, err := table.WriteTo(a.out)
	return err
}

func (a *app) writeModels(models []eval.Model) error {
	for i := range models {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := a.writeModel(&models[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeModel writes all that is known of a model.
func (a *app) writeModel(m *eval.Model) error {
	p := printer{w: a.out}
	p.printf("%s\n", diag.CleanLine(m.ID()))
	line := func(name, value string) {
		if value != "" && value != "-" {
			for i, part := range wrapWords(diag.CleanLine(value), a.outWidth-16) {
				if i > 0 {
					name = ""
				}
				p.printf("  %-13s %s\n", name, part)
			}
		}
	}
	line("display name", m.DisplayName)
	line("version", m.Version)
	line("description", m.Description)
	line("input", diag.Count(m.InputTokenLimit, "token"))
	line("output", diag.Count(m.OutputTokenLimit, "token"))
	line("methods", strings.Join(m.SupportedGenerationMethods, ", "))
	line("temperature", optional(m.Temperature))
	line("topP", optional(m.TopP))
	line("topK", optional(m.TopK))
	return p.err
}

// wrapWords divides a text into lines of at most width columns, between words; width below 20 leaves it whole.
func wrapWords(text string, width int) []string {
	if width < 20 {
		return []string{text}
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && displaywidth.String(line+" "+word) > width {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(out, line)
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.count(ctx, args, o) })
		},
	}
	serviceFlags(cmd.Flags(), &o.Flags)
	limitFlags(cmd.Flags(), &o.Flags)
	selectFlags(cmd.Flags(), &o.Flags)
	completeSelection(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object a line")
	return cmd
}

func (a *app) count(ctx context.Context, files []string, o planOptions) error {
	job, err := a.job(files, o.Flags)
	if err != nil {
		return err
	}
	session, err := job.Connect(buildVersion(), a.tellNotice)
	if err != nil {
		return err
	}
	defer session.Close()
	plan, err := session.Plan(ctx)
	if err != nil {
		return err
	}
	if plan.Size() == 0 {
		return nothing(job, "")
	}
	total := 0
	err = forecast.CountPrompts(ctx, plan, session.Counter(), func(t *runner.Planned, tokens int, _ bool) error {
		total += tokens
		if !t.First {
			return nil
		}
		if o.json {
			return a.printJSON(forecast.PromptCount{Suite: t.Suite, Case: t.Case, Arm: t.Arm, Model: t.Model, Tokens: tokens})
		}
		_, err := fmt.Fprintf(a.out, "%7d  %s\n", tokens, diag.CleanLine(runner.DescribeCase(&t.Trial)))
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
