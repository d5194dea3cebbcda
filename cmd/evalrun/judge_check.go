package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/cmd/evalrun/flags"
)

type judgeCheckOptions struct {
	labels string
	json   bool
}

func (a *app) judgeCheckCommand() *cobra.Command {
	var o judgeCheckOptions
	cmd := &cobra.Command{
		Use: "judge-check RUN [--labels FILE]", Short: "Measure the judges of a run against labels that people gave",
		Long: "Compares the labels of judges with those of people: agreement, Cohen's kappa, sensitivity and\n" +
			"specificity on each arm, and the answers on which they disagree. Without FILE it takes what people\n" +
			"labelled in evalrun view --label (SUITE.labels.jsonl), and reports how far people agree. FILE is .csv\n" +
			"with a header or .jsonl, with the columns case and label (pass, fail, or a choice). Add the columns\n" +
			"suite, arm, repeat and scorer where a case has several answers, and by where several people label.",
		Example: "  evalrun judge-check latest\n  evalrun judge-check latest --labels labels.csv",
		Args:    exactly(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.judgeCheck(args[0], o) },
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringVar(&o.labels, "labels", "", "take people's labels from `FILE` (default SUITE.labels.jsonl of each suite)")
	fs.JSON(&o.json)
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

func (a *app) judgeCheck(run string, o judgeCheckOptions) error {
	report, emulated, err := a.runs.checkJudges(run, o.labels)
	if err != nil {
		return err
	}
	if o.json {
		return a.screen().JSON(report)
	}
	if emulated {
		if _, err := fmt.Fprintln(a.out, "against evalrun's emulator: answers come from a script, not from a model"); err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(a.out, report.Text())
	return err
}
