package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/runs"
	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

type historyOptions struct {
	runs.HistoryOptions
	rebuild bool
	json    bool
	drift   bool

	acknowledge, as, reason string
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
	fs.BoolVar(&o.drift, "drift", false, "say whether a metric got worse over the nights, and since when")
	fs.StringVar(&o.acknowledge, "acknowledge", "", "acknowledge the alarms that stand at the run `ID`")
	fs.StringVar(&o.as, "as", "", "with --acknowledge: what the alarm was, `WORD` level, outage or nothing")
	fs.StringVar(&o.reason, "reason", "", "with --acknowledge: keep `TEXT` next to it in baselines.json")
	flags.JSON(fs, &o.json)
	return cmd
}

// nights says what the nights say, or acknowledges an alarm.
func (a *app) nights(o historyOptions) error {
	if o.acknowledge != "" {
		found, err := a.runs.Acknowledge(o.acknowledge, o.as, o.reason, a.getenv)
		for i := range found {
			f := &found[i]
			fmt.Fprintf(a.out, "acknowledged as %s: %s of %s on %s, since night %d\n", o.as, f.Metric, f.Suite, f.Arm, f.Start)
		}
		if err == nil {
			fmt.Fprintln(a.out, "commit baselines.json, so that other machines know it")
		}
		return err
	}
	found, err := a.runs.Drift(o.HistoryOptions)
	if err != nil {
		return err
	}
	if o.json {
		err = a.screen().JSON(map[string]any{"version": 1, "drift": found})
	} else {
		err = a.runs.WriteDrift(a.screen(), found)
	}
	lost := slices.ContainsFunc(found, func(f journal.Drift) bool {
		return f.State == compare.DriftLost && f.OnAlarm != eval.OnWarn
	})
	if err == nil && lost {
		err = exitWith(eval.CodeFailed)
	}
	return err
}

func (a *app) history(dirs []string, o historyOptions) error {
	switch {
	case o.acknowledge == "" && o.as+o.reason != "":
		return eval.BadInput("--as and --reason are about an alarm: add --acknowledge RUN")
	case (o.drift || o.acknowledge != "") && (o.rebuild || len(dirs)+len(o.Cases) > 0):
		return eval.BadInput("--drift and --acknowledge take --suite, --arm and --metric: the suite says which runs are nights")
	case o.drift || o.acknowledge != "":
		return a.nights(o)
	}
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
