package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) validateCommand() *cobra.Command {
	var f harness.Flags
	var format string
	cmd := &cobra.Command{
		Use: "validate SUITE...", Short: "Check suites without asking anything", Args: suites,
		RunE: func(_ *cobra.Command, args []string) error {
			switch format {
			case "text":
				return a.validate(args, f)
			case "json", "github":
				return a.annotate(args, f, format)
			}
			return exit.BadInput("there is no format %q; %s", format, diag.DidYouMean(format, validateFormats))
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json (for editors) or github (annotations of GitHub Actions)")
	selectFlags(cmd.Flags(), &f)
	seedFlag(cmd.Flags(), &f)
	completeSelection(cmd)
	untrustedFlag(cmd.Flags(), &f)
	return cmd
}

var validateFormats = []string{"text", "json", "github"}

// annotate writes what is wrong with suites for programs, to standard output; that nothing is, too. What is about no file stands there
// and on standard error.
func (a *app) annotate(files []string, f harness.Flags, format string) error {
	var said diag.List
	err := a.check(files, f, &said)
	if err != nil && !errors.Is(err, errSaid) {
		said.Errorf(diag.Pos{}, "", "%s", err)
	}
	if format == "github" {
		return errors.Join(err, reports.DiagnosticsGitHub(a.out, &said))
	}
	return errors.Join(err, reports.DiagnosticsJSON(a.out, files, &said))
}

// check checks suites as validate does.
func (a *app) check(files []string, f harness.Flags, said *diag.List) error {
	job, err := harness.Load(files, f, a.getenv)
	if err != nil {
		return err
	}
	said.Merge(job.Diags)
	if job.Bad() != nil {
		return exitWith(exit.CodeBadInput)
	}
	err = job.Settle()
	var other *harness.BadFiles // such as a price list
	if errors.As(err, &other) {
		said.Merge(other.Diags)
		return exitWith(exit.CodeBadInput)
	}
	if err != nil || !f.Narrows() {
		return err
	}
	if plan := job.Plan(); plan.Size() == 0 && plan.Shard() == nil {
		return nothing(job, "")
	}
	return nil
}

func (a *app) validate(files []string, f harness.Flags) error {
	job, err := a.job(files, f)
	if err != nil {
		return err
	}
	for _, s := range job.Suites {
		trials := 0
		for c := range s.Outlines() {
			trials += c.Repeats * len(c.Arms)
		}
		if _, err := fmt.Fprintf(a.out, "%s: ok: %s, %s, %s\n", s.File,
			diag.Count(s.CaseCount(), "case"), diag.Count(len(s.Arms()), "arm"), diag.Count(trials, "trial")); err != nil {
			return err
		}
	}
	return a.selected(job)
}

// selected tells how much the filters select, when there are any.
func (a *app) selected(job *harness.Job) error {
	if !job.Flags.Narrows() {
		return nil
	}
	plan := job.Plan()
	if plan.Size() == 0 && plan.Shard() == nil {
		return nothing(job, "")
	}
	_, err := fmt.Fprintf(a.out, "selected: %s\n", diag.Count(plan.Size(), "trial"))
	return err
}
