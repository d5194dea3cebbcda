package main

import (
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

// completeSelection completes flags that select trials, from recorded runs and from the suites on the command line.
func completeSelection(cmd *cobra.Command) {
	for _, flag := range []string{"failed-in", "changed-since"} {
		completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
			return completeRuns(cmd, nil, text)
		})
	}
	for flag, names := range map[string]func(*suite.Suite) []string{"case": suiteCases, "tag": suiteTags, "arm": suiteArms} {
		completeFlag(cmd, flag, func(_ *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
			var wanted session.Options
			wanted.Suites = files
			l, err := session.Load(wanted)
			if err != nil || l.Diags.HasErrors() { // completion ignores problems; the command itself reports them
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []string
			for _, s := range l.Suites {
				all = append(all, names(s)...)
			}
			return offered(text, slices.Values(all)), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil { // fails only for an unknown flag
		panic(err)
	}
}

func suiteCases(s *suite.Suite) (out []string) {
	for c := range s.Outlines() {
		out = append(out, c.Name)
	}
	return out
}

func suiteTags(s *suite.Suite) (out []string) {
	for c := range s.Outlines() {
		out = append(out, c.Tags...)
	}
	return out
}

func suiteArms(s *suite.Suite) (out []string) {
	for _, arm := range s.Arms() {
		out = append(out, arm.Name())
	}
	return out
}

// maxOffered bounds the names offered to the shell; a longer list is no help.
const maxOffered = 500

// offered returns the distinct names with a prefix. It omits names with control characters.
func offered(text string, names iter.Seq[string]) []string {
	var out []string
	seen := map[string]bool{}
	for name := range names {
		if !strings.HasPrefix(name, text) || seen[name] || diag.CleanLine(name) != name {
			continue
		}
		seen[name] = true
		if out = append(out, name); len(out) == maxOffered {
			break
		}
	}
	return out
}

// completeFormats completes the value of -o with the names of report formats.
func completeFormats(cmd *cobra.Command) {
	completeFlag(cmd, "report", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, f := range reports.Formats() {
			out = append(out, f.Name+"\t"+f.Summary)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeRuns completes the first argument with what names recorded runs, the newest first.
func completeRuns(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	seen := map[string]bool{}
	for name, about := range rundir.At("").Offers {
		if strings.HasPrefix(name, text) && !seen[name] && diag.CleanLine(name) == name {
			seen[name] = true
			out = append(out, name+"\t"+diag.CleanLine(about))
		}
		if len(out) == maxOffered {
			break
		}
	}
	return out, cobra.ShellCompDirectiveKeepOrder
}

// completeCases completes the first argument with a run, and the second with a case of that run.
func completeCases(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return completeRuns(cmd, args, text)
	}
	doc, err := rundir.At("").Open(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer doc.Close() //nolint:errcheck // only read
	return offered(text, func(yield func(string) bool) {
		for row := range doc.Rows() {
			if !yield(row.Case) {
				return
			}
		}
	}), cobra.ShellCompDirectiveNoFileComp
}
