package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/suite"
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
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.StringVar(&o.against, "against", "", "use the repeats of `RUN` (required)")
	fs.Rule(&o.Rule)
	fs.AllowFile(&o.Options)
	fs.JSON(&o.json)
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
	tests, err := a.runs.selfTest(l.Suites[0], o.against, l.Options.WithDefaults())
	if err != nil {
		return err
	}
	if o.json {
		return a.screen().JSON(tests)
	}
	return tests.Write(a.out)
}

type selfTests []gate.ArmSelfTest

// selfTest compares a run with itself by the gate of a suite.
func (f folder) selfTest(s *suite.Suite, name string, o *eval.WithDefaults) (selfTests, error) {
	doc, err := f.OpenBaseline(name)
	if err != nil {
		return nil, err
	}
	defer doc.Close() //nolint:errcheck // only read
	return gate.SelfTest(s, doc, o)
}

// Write writes the tests for people.
func (t selfTests) Write(w io.Writer) error {
	p := term.Printer{W: w}
	for i := range t {
		writeSelfTest(&p, &t[i])
	}
	return p.Err
}

// enoughPower is the share of unchanged candidates that a gate should pass.
const enoughPower = 0.8

func writeSelfTest(p *term.Printer, t *gate.ArmSelfTest) {
	p.Printf("%s\n", diag.CleanLine(
		fmt.Sprintf("%s on %s: %d comparisons of %s with themselves, margin %g", t.Suite, t.Arm, t.Draws, diag.Count(t.Units, "case"), t.Margin),
	))
	if t.Repeats > 0 {
		p.Printf("  about these %d cases, with pairs of repeats: %d of each case\n", t.Units, t.Repeats)
	}
	p.Printf("  false alarms (regressed): %s, where %s are allowed\n", diag.Percent(t.FalseAlarms), diag.Percent(t.Alpha))
	fine := t.Verdicts[eval.NotWorse] + t.Verdicts[eval.Improved]
	p.Printf("  not worse or improved: %s, cannot tell: %s\n", diag.Percent(fine), diag.Percent(t.Verdicts[eval.Inconclusive]))
	p.Printf(
		"  %s of the answers flip between two repeats; with as many, a loss of %.3f is reported in %.0f %%\n",
		diag.Percent(t.Flips), t.Smallest, 100*t.Detects,
	)
	if fine < enoughPower {
		p.Printf(
			"  the gate blocks %.0f %% of unchanged candidates; add %s or use a larger margin\n",
			100*(1-fine), map[bool]string{true: "repeats", false: "cases"}[t.Repeats > 0],
		)
	}
}
