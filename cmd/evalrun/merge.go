package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/runs"
	"github.com/evalrun/evalrun/eval"
)

func (a *app) mergeCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "merge RUN...", Short: "Join the shards of one plan into one run, and apply its gate",
		Long: "Joins the runs of all shards (`evalrun run --shard I/N`) into the run that they would have\n" +
			"been without shards, and applies its gate.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return eval.BadInput("name the runs of all shards: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			merging := runs.Merging{Out: o.Out, Formats: flags.WithTable(o.Reports), Screen: a.screen(), Getenv: a.getenv}
			o.Arrange(&merging.Layout, o.Reports)
			merged, err := a.runs.Merge(args, merging)
			if merged == nil {
				return err
			}
			a.explain(merged.Problem)
			r := &evalrun.Result{Name: merged.Name, Exit: merged.Exit, End: merged.End, Reports: merged.Reports}
			return a.ended(r, err, o)
		},
	}
	flags.Reports(cmd.Flags(), &o.Options)
	flags.OutDir(cmd.Flags(), &o.Options)
	o.AddLevel(cmd.Flags(), "with arms, cases and settings in the table")
	flags.CompleteFormats(cmd)
	return cmd
}
