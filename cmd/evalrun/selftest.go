package main

import (
	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/eval"
)

type selfTestOptions struct {
	evalrun.Options
	against string
	json    bool
}

func (a *app) selfTestCommand() *cobra.Command {
	var o selfTestOptions
	cmd := &cobra.Command{
		Use:   "selftest SUITE --against RUN",
		Short: "Measure how often the suite's gate is wrong, and what it can detect",
		Long: "Compares a run with itself many times: one recorded repeat of each case is the baseline, another one the\n" +
			"candidate. The two differ by chance alone.",
		Example: "  evalrun run suite.yaml --repeats 5 --no-baseline\n  evalrun selftest suite.yaml --against latest",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Suites = args
			return a.selfTest(o)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.against, "against", "", "use the repeats of `RUN` (required)")
	flags.Rule(fs, &o.Rule)
	flags.AllowFile(fs, &o.Options)
	flags.JSON(fs, &o.json)
	flags.Config(cmd, &o.Options)
	return cmd
}

func (a *app) selfTest(o selfTestOptions) error {
	if o.against == "" {
		return eval.BadInput("say which run has the repeats: --against RUN")
	}
	l, err := a.load(&o.Options)
	if err != nil {
		return err
	}
	tests, err := a.runs.SelfTest(l.Suites[0], o.against, l.Options.WithDefaults())
	if err != nil {
		return err
	}
	if o.json {
		return a.screen().JSON(tests)
	}
	return tests.Write(a.out)
}
