package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/reports"
)

func (a *app) baselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "Name runs to compare others with",
		Long: "Keeps names in baselines.json, for you to commit. Choose a baseline before you see its score: the best of\n" +
			"many runs was partly lucky, and later runs would fall short of it (`evalrun help verdicts`).\n" +
			"First `run --no-baseline`, then `baseline set main latest`, then `run --baseline main --margin 0.05`; `export` is for CI.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(
		a.setCommand(),
		a.showBaselineCommand(),
		a.listCommand(),
		a.exportCommand(),
	)
	return cmd
}

func (a *app) showBaselineCommand() *cobra.Command {
	var f evalrun.Options
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Report the run that has the name", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.runs.reportBaseline(args[0], reports.WithTable(f.Reports), a.screen())
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Reports(&f)
	completeFormats(cmd)
	return cmd
}

func (a *app) listCommand() *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the names", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			named, err := a.runs.Baselines()
			if err != nil {
				return err
			}
			if json {
				return a.screen().JSON(named)
			}
			for _, name := range slices.Sorted(maps.Keys(named)) {
				b := named[name]
				fmt.Fprintf(
					a.out, "%s  %s  %s  set %s%s\n", diag.CleanLine(name), diag.CleanLine(b.Run), diag.CleanLine(b.Path),
					diag.CleanLine(b.SetAt), map[bool]string{true: "  partial"}[b.Partial],
				)
			}
			return nil
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.JSON(&json)
	return cmd
}

func (a *app) setCommand() *cobra.Command {
	partial := false
	cmd := &cobra.Command{
		Use:               "set NAME RUN",
		Short:             "Name a complete run, or an exported file",
		Args:              exactly(2),
		ValidArgsFunction: completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := a.runs.Baselines()
			if err != nil {
				return err
			}
			b, err := a.runs.SetBaseline(args[0], args[1], partial)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s: %s\n", args[0], b.Path)
			if old, had := before[args[0]]; had && old.Run != b.Run {
				fmt.Fprintf(a.err, "it was %s\n", diag.CleanLine(old.Run))
			}
			for _, m := range b.Moves() {
				fmt.Fprintf(a.out, "%s\n", diag.CleanLine(m.Suite+" on "+m.Arm+": "+m.String()))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&partial, "partial", false, "accept a run of a part of its suites: by a selection, of a shard, or unfinished")
	return cmd
}

func (a *app) exportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export NAME -o FILE",
		Short: "Write a run to a file for comparisons, without prompts and answers", Args: exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return eval.BadInput("say where to: -o FILE")
			}
			if err := a.runs.export(args[0], out); err != nil {
				return err
			}
			if out != "-" {
				fmt.Fprintf(a.err, "exported: %s\n", out)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`")
	return cmd
}
