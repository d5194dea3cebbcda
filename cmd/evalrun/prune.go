package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/rundir"
)

type pruneOptions struct {
	rundir.Pruning
	json bool
}

func (a *app) pruneCommand() *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use: "prune [--keep N] [--older AGE]", Short: "Delete old runs below .evalrun/runs", Args: atMost(0),
		Long: "Deletes runs that are neither among the newest N nor younger than AGE. It keeps baselines, labelled and\n" +
			"unfinished runs, runs that a newer one was compared with, and folders with files that evalrun did not\n" +
			"write. The history keeps the numbers of deleted runs until it is rebuilt.",
		Example: "  evalrun prune --keep 30 --older 90d --dry-run\n  evalrun prune --keep 30 --older 90d",
		RunE:    func(*cobra.Command, []string) error { return a.prune(o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Positive(&o.Keep, "keep", "keep the newest `N` runs")
	fs.Var((*flags.Age)(&o.Older), "older", "delete only runs older than this, such as 90d, 2w or 12h")
	fs.BoolVarP(&o.DryRun, "dry-run", "n", false, "show what would be deleted, and delete nothing")
	fs.JSON(&o.json)
	return cmd
}

func (a *app) prune(o pruneOptions) error {
	if o.Keep == 0 && o.Older == 0 {
		return eval.BadInput("say which runs stay: --keep N, the newest, or --older AGE, or both")
	}
	o.Now = time.Now()
	pruned, err := a.runs.Prune(o.Pruning)
	if o.json {
		return errors.Join(err, a.screen().JSON(pruned))
	}
	p := term.Printer{W: a.out}
	pruned.Write(func(format string, args ...any) { p.Printf(format+"\n", args...) })
	return errors.Join(err, p.Err)
}
