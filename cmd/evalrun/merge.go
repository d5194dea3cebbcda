package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/output"
)

func (a *app) mergeCommand() *cobra.Command {
	var f harness.Flags
	cmd := &cobra.Command{
		Use: "merge RUN...", Short: "Join the shards of one plan into one run, and apply its gate",
		Long: "Joins the runs of all shards (`evalrun run --shard I/N`) into one run, which is what it\n" +
			"would have been without shards, and applies its gate.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.BadInput("name the runs of all shards: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			outputs, err := output.Parse(a.dir, withTable(f.Reports))
			if err != nil {
				return err
			}
			if err := a.dir.Check(f.Out); err != nil {
				return err
			}
			opened := a.smallHeap()
			dir, err := harness.Merge(a.dir, args, f.Out, a.getenv)
			if err != nil {
				return err
			}
			opened()
			return a.merged(dir, outputs)
		},
	}
	reportFlags(cmd.Flags(), &f)
	cmd.Flags().StringVar(&f.Out, "out", "", "run directory (default .evalrun/runs/ID)")
	completeFormats(cmd)
	return cmd
}

// merged reports the run that the shards have become.
func (a *app) merged(dir string, outputs []output.Output) error {
	doc, err := a.openRun(dir)
	if err != nil {
		return exit.Incomplete("%w", err)
	}
	defer doc.Close() //nolint:errcheck // it was only read
	written, err := output.Write(doc, outputs, a.out, a.reportOptions())
	a.explain(a.dir.Remember(doc)) // nothing depends on it
	r := &evalrun.Result{Name: dir, Exit: doc.Gate.Exit, End: doc.End, Reports: written}
	return a.ended(r, err, runOptions{})
}
