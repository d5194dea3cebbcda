package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/runs"
	"github.com/evalrun/evalrun/diag"
)

type historyOptions struct {
	runs.HistoryOptions
	rebuild bool
	json    bool
}

func (a *app) historyCommand() *cobra.Command {
	o := historyOptions{}
	cmd := &cobra.Command{
		Use: "history [SELECTOR... | --rebuild [DIR...]]", Short: "List past runs and the trends of their metrics",
		Long: "Lists the runs of this folder and the trend of each metric from run to run; with --case, of single cases.\n" +
			"Selectors such as branch:main and label:nightly choose runs. The history is an index of run directories:\n" +
			"--rebuild makes it again from .evalrun/runs, from DIR, and from the runs that it had.",
		RunE: func(_ *cobra.Command, args []string) error { return a.history(args, o) },
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.Suites, "suite", nil, "select suites that match `GLOB` (repeatable)")
	flags.Arms(fs, &o.Arms)
	fs.StringArrayVar(&o.Cases, "case", nil, "show the trend of cases that match `GLOB` (repeatable)")
	fs.StringArrayVar(
		&o.Metrics, "metric", nil,
		"select metrics and scorers that match `GLOB` (repeatable): "+strings.Join(runs.HistoryMetrics(), ", "),
	)
	o.Limit = 20
	flags.Positive(fs, &o.Limit, "limit", "show the newest `N` runs")
	fs.BoolVar(&o.rebuild, "rebuild", false, "rebuild the history from the run directories")
	flags.JSON(fs, &o.json)
	return cmd
}

func (a *app) history(dirs []string, o historyOptions) error {
	if !o.rebuild {
		o.Named = dirs
	}
	if o.rebuild {
		notice := func(what string) { fmt.Fprintf(a.err, "evalrun: left out: %s\n", diag.CleanLine(what)) }
		if err := a.runs.RebuildHistory(dirs, notice); err != nil {
			return err
		}
	}
	h, err := a.runs.History(o.HistoryOptions)
	switch {
	case err != nil:
		return err
	case h == nil:
		return a.runs.WriteNoHistory(a.screen(), o.json)
	case o.json:
		return a.screen().JSON(h)
	}
	return h.Write(a.screen())
}
