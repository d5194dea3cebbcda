package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
)

func (a *app) resumeCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "resume RUN", Short: "Continue a run that was interrupted", Args: exactly(1),
		Long: "Runs the missing trials, and again the trials that ended in an error. `resume` never repeats a judged trial.\n" +
			"Suites, service and flags are those of the run; other ones are refused. Limits can be set again, and a ledger is\n" +
			"named again. A complete run makes no call.",
		Example: "  evalrun resume latest\n  evalrun resume latest --errors -j 2",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.resume(cmd.Context(), args[0], o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Limits(&o.Options)
	fs.Wait(&o.Options)
	fs.BoolVar(&o.Live, "live", false, "send what has no answer yet at once, instead of in batches")
	fs.Ledger(&o.Options)
	fs.NoLedger(&o.Options)
	fs.Service(&o.Options)
	fs.Untrusted(&o.Options)
	fs.Trust(&o.Options)
	fs.Reports(&o.Options)
	fs.Notify(&o.Options)
	o.Vars = map[string]string{}
	fs.Var(flags.Vars(o.Vars), "var", "set the variable NAME again, since a run with --no-content does not keep it (repeatable)")
	fs.Failures(&o.MaxFailures, "more ")
	fs.BoolVar(&o.RetryErrors, "errors", false, "run the errors of a complete run again")
	o.AddLevel(fs.FlagSet, verboseHelp)
	completeFormats(cmd)
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

func (a *app) resume(ctx context.Context, name string, o runOptions) error {
	signals, release := a.signals()
	defer release()
	shown := a.shown(o, release)
	result, err := evalrun.Resume(ctx, name, a.options(&o, shown, signals))
	return a.ended(result, err, o)
}

func (a *app) showTodo(todo *evalrun.Todo) {
	fmt.Fprintf(a.err, "%s to run, %d to score again, %d settled\n", diag.Count(todo.Send, "trial"), todo.Rescore, todo.Settled)
	switch most := diag.Count(todo.Twice, "call"); {
	case todo.Twice == 0:
	case todo.Restarted == 0:
		fmt.Fprintf(a.err, "the run was killed: up to %s in progress may be billed twice\n", most)
	case todo.Restarted == todo.Twice:
		fmt.Fprintf(a.err, "up to %s may be billed twice: trials that cannot be continued start again\n", most)
	default:
		fmt.Fprintf(
			a.err, "the run was killed: up to %s may be billed twice: %d in progress, and %d of trials that start again\n",
			most, todo.Twice-todo.Restarted, todo.Restarted,
		)
	}
	if n := len(todo.Dropped); n > 0 {
		fmt.Fprintf(
			a.err, "%s of the run are left out: their requests have changed (through an image, a program, a workspace, or evalrun itself)\n",
			diag.Count(n, "recorded trial"),
		)
		for _, name := range todo.Dropped {
			fmt.Fprintln(a.err, "  "+diag.CleanLine(name))
		}
	}
}
