package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/verdict"
)

// selfTestOptions are the flags of `evalrun selftest`.
type selfTestOptions struct {
	harness.Flags
	against string
	json    bool
}

func (a *app) selfTestCommand() *cobra.Command {
	var o selfTestOptions
	cmd := &cobra.Command{
		Use: "selftest SUITE --against RUN", Short: "Tell how often the suite's gate is wrong, and what it can see",
		Long: "Compares a run with itself, again and again: of each case's recorded repeats one stands for the\n" +
			"baseline and another for the candidate, so that nothing changed but the draw of the answers.",
		Example: "  evalrun run suite.yaml --repeats 5 --no-baseline\n  evalrun selftest suite.yaml --against latest",
		Args:    exactly(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.selfTest(args[0], o) },
	}
	fs := cmd.Flags()
	fs.StringVar(&o.against, "against", "", "the run with the repeats")
	ruleFlags(fs, &o.Rule)
	fs.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// selfTest is `evalrun selftest` from top to bottom.
func (a *app) selfTest(file string, o selfTestOptions) error {
	if o.against == "" {
		return exit.BadInput("say which run has the repeats: --against RUN")
	}
	job, err := a.load([]string{file}, o.Flags)
	if err != nil {
		return err
	}
	doc, err := a.openBaseline(o.against)
	if err != nil {
		return err
	}
	defer doc.Close() //nolint:errcheck // it was only read
	tests, err := verdict.SelfTest(job.Suites[0], doc, &o.Options)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(tests)
	}
	p := printer{w: a.out}
	for i := range tests {
		writeSelfTest(&p, &tests[i])
	}
	return p.err
}

// enoughPower is the share of unchanged candidates that a gate should let through.
const enoughPower = 0.8

func writeSelfTest(p *printer, t *verdict.ArmSelfTest) {
	p.printf("%s\n", diag.CleanLine(
		fmt.Sprintf("%s on %s: %d comparisons of %d cases with themselves, margin %g", t.Suite, t.Arm, t.Draws, t.Units, t.Margin),
	))
	p.printf("  false alarms (regressed): %.1f %%, where %.1f %% are allowed\n", 100*t.FalseAlarms, 100*t.Alpha)
	fine := t.Verdicts[eval.NotWorse] + t.Verdicts[eval.Improved]
	p.printf("  not worse or improved: %.1f %%, cannot tell: %.1f %%\n", 100*fine, 100*t.Verdicts[eval.Inconclusive])
	p.printf(
		"  %.1f %% of the cases flip between two repeats; the smallest loss seen with a power of 80 %% is %.3f\n",
		100*t.Flips, t.Smallest,
	)
	if fine < enoughPower {
		p.printf("  the gate holds up %.0f %% of the candidates that changed nothing: add cases, or bear a larger margin\n", 100*(1-fine))
	}
}
