package flags

import (
	"iter"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/suite"
)

// CompleteSelection completes the flags that choose trials: from the runs there are, and from the suites that the command names.
func CompleteSelection(cmd *cobra.Command) {
	for _, flag := range []string{"failed-in", "changed-since"} {
		completeFlag(cmd, flag, func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
			return CompleteRuns(cmd, nil, text)
		})
	}
	for flag, names := range map[string]func(*suite.Suite) iter.Seq[string]{"case": suiteCases, "tag": suiteTags, "arm": suiteArms} {
		completeFlag(cmd, flag, func(_ *cobra.Command, files []string, text string) ([]string, cobra.ShellCompDirective) {
			l, err := job.Load(files, job.Flags{}, os.Getenv)
			if err != nil || l.Diags.HasErrors() { // completion ignores problems; the command reports them when it runs
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return offered(text, ofAll(l.Suites, names)), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// ofAll are the names in all suites.
func ofAll(suites []*suite.Suite, names func(*suite.Suite) iter.Seq[string]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range suites {
			for name := range names(s) {
				if !yield(name) {
					return
				}
			}
		}
	}
}

func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil { // the flag was added a moment ago
		panic(err)
	}
}

func suiteCases(s *suite.Suite) iter.Seq[string] {
	return func(yield func(string) bool) {
		for c := range s.Outlines() {
			if !yield(c.Name) {
				return
			}
		}
	}
}

func suiteTags(s *suite.Suite) iter.Seq[string] {
	return func(yield func(string) bool) {
		for c := range s.Outlines() {
			for _, tag := range c.Tags {
				if !yield(tag) {
					return
				}
			}
		}
	}
}

func suiteArms(s *suite.Suite) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, arm := range s.Arms() {
			if !yield(arm.Name()) {
				return
			}
		}
	}
}

// maxOffered is how many names a shell is offered: a longer list is of no use.
const maxOffered = 500

// offered are the names that begin with a text, each once, that a shell can take as they are.
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

// CompleteFormats completes -o with the report formats.
func CompleteFormats(cmd *cobra.Command) {
	err := cmd.RegisterFlagCompletionFunc("report", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, f := range reports.Formats() {
			out = append(out, f.Name+"\t"+f.Summary)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil { // the flag was added a moment ago
		panic(err)
	}
}

// CompleteRuns completes the first argument with the runs there are.
func CompleteRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return append(rundir.At("").IDs(), "latest", "latest~1"), cobra.ShellCompDirectiveDefault
}

// CompleteCases completes the first argument with the runs there are, the second with the cases of that run.
func CompleteCases(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return CompleteRuns(cmd, args, text)
	}
	doc, err := rundir.At("").Open(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer doc.Close() //nolint:errcheck // it was only read
	return offered(text, func(yield func(string) bool) {
		for row := range doc.Rows() {
			if !yield(row.Case) {
				return
			}
		}
	}), cobra.ShellCompDirectiveNoFileComp
}
