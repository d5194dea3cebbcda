package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/flags"
	"github.com/evalrun/evalrun/internal/job"
	"github.com/evalrun/evalrun/internal/runs"
)

func (a *app) mergeCommand() *cobra.Command {
	var f job.Options
	cmd := &cobra.Command{
		Use: "merge RUN...", Short: "Join the shards of one plan into one run, and apply its gate",
		Long: "Joins the runs of all shards (`evalrun run --shard I/N`) into the run that they would have\n" +
			"been without shards, and applies its gate.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.BadInput("name the runs of all shards: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			merged, err := a.runs.Merge(args, runs.Merging{
				Out: f.Out, Formats: flags.WithTable(f.Reports), Screen: a.screen(), Getenv: a.getenv,
			})
			if merged == nil {
				return err
			}
			a.explain(merged.Problem)
			r := &evalrun.Result{Name: merged.Name, Exit: merged.Exit, End: merged.End, Reports: merged.Reports}
			return a.ended(r, err, runOptions{Options: f})
		},
	}
	flags.Reports(cmd.Flags(), &f)
	flags.OutDir(cmd.Flags(), &f)
	flags.CompleteFormats(cmd)
	return cmd
}
