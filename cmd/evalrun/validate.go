package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/suite"
)

func (a *app) validateCommand() *cobra.Command {
	validateFormats := []string{"text", "json", "github"}

	var f evalrun.Options
	var format string
	var json bool
	cmd := &cobra.Command{
		Use: "validate [SUITE...]", Short: "Check suites without a request", Args: suites,
		RunE: func(*cobra.Command, []string) error {
			if json {
				format = "json"
			}
			switch format {
			case "text":
				return a.validate(&f)
			case "json", "github":
				return a.annotate(&f, format)
			}
			return eval.BadInput("there is no format %q; %s", format, diag.DidYouMean(format, validateFormats))
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.BoolVar(&json, "json", false, "print JSON")
	fs.StringVarP(
		&format, "format", "o", "text", "report as `FORMAT`: text, json (for editors) or github (annotations of GitHub Actions)",
	)
	fs.Select(&f)
	fs.Seed(&f)
	completeSelection(cmd)
	fs.Untrusted(&f)
	fs.AllowEnv(&f)
	flags.ConfigSuites(cmd, &f)
	validate := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.annotated(validate(cmd, args), format) }
	return cmd
}

// annotated writes the problems of a project file for programs, as annotate does those of suites.
func (a *app) annotated(err error, format string) error {
	var bad *session.BadFiles
	if format == "text" || !errors.As(err, &bad) {
		return err
	}
	return errors.Join(exitWith(eval.CodeBadInput), (&checkedSuites{problems: bad.Diags}).Write(a.out, format))
}

// annotate writes problems in suites, or that there are none, to standard output for programs. One without a file is on both streams.
func (a *app) annotate(f *evalrun.Options, format string) error {
	checked, err := checkSuites(a.settings(f))
	if err == nil && checked.Bad() {
		err = exitWith(eval.CodeBadInput)
	}
	return errors.Join(err, checked.Write(a.out, format))
}

func (a *app) validate(f *evalrun.Options) error {
	j, err := a.job(f)
	if err != nil {
		return err
	}
	for _, s := range j.Suites {
		trials := 0
		kept := map[string]map[string]bool{}
		for c := range s.Outlines() {
			trials += c.Repeats * len(c.Arms)
			keptFrom(c, kept)
		}
		lacking := ""
		if u := s.Unwritten(); u != (suite.Unwritten{}) {
			lacking = "; " + u.String()
		}
		if _, err := fmt.Fprintf(a.out, "%s: ok: %s, %s, %s%s\n", diag.CleanLine(s.File), diag.Count(s.CaseCount(), "case"),
			diag.Count(len(s.Arms()), "arm"), diag.Count(trials, "trial"), lacking); err != nil {
			return err
		}
		if err := a.writeKept(kept); err != nil {
			return err
		}
	}
	return a.selected(j)
}

// keptFrom notes, by target, which variables of a case its program does not get on any arm.
func keptFrom(c *suite.Case, kept map[string]map[string]bool) {
	for _, arm := range c.Arms {
		if _, ok := arm.Target.Of.(*suite.Program); !ok {
			continue
		}
		of := kept[arm.Target.Name]
		if of == nil {
			of = map[string]bool{}
			kept[arm.Target.Name] = of
		}
		sent := c.Sent(arm)
		for name := range c.Vars() {
			_, gets := sent[name]
			before, known := of[name]
			of[name] = !gets && (before || !known)
		}
	}
}

// writeKept lists the variables that programs do not get.
func (a *app) writeKept(kept map[string]map[string]bool) error {
	for _, target := range slices.Sorted(maps.Keys(kept)) {
		maps.DeleteFunc(kept[target], func(_ string, kept bool) bool { return !kept })
		if len(kept[target]) == 0 {
			continue
		}
		names := diag.CleanLine(strings.Join(slices.Sorted(maps.Keys(kept[target])), ", "))
		if _, err := fmt.Fprintf(a.out, "  the program of target `%s` does not get: %s\n", target, names); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) selected(j *session.Job) error {
	if !j.Options.Narrows() {
		return nil
	}
	plan := j.Plan()
	if j.SelectsNothing(plan) && plan.Shard() == nil {
		return j.Nothing("")
	}
	_, err := fmt.Fprintf(a.out, "selected: %s\n", diag.Count(plan.Size(), "trial"))
	return err
}
