package main

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// compareOptions are the flags of `evalrun compare`.
type compareOptions struct {
	rule   harness.Rule
	arms   []string
	format string
}

func (a *app) compareCommand() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use: "compare BASE HEAD", Short: "Compare two runs, or two arms of one, case by case",
		Long: "Pairs the cases of two runs and tells what changed, with intervals. With a margin there is a\n" +
			"verdict, and the exit code is its: 0 improved or not worse, 1 regressed, 3 cannot tell yet, 4 not\n" +
			"comparable. BASE is a named baseline, a run or an exported file.",
		Example: "  evalrun compare main latest --margin 0.05\n  evalrun compare latest --arms pro/old pro/new --margin 0.05",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return harness.Exitf(harness.ExitBadInput, "compare takes two runs, or one with two of its arms: evalrun compare BASE HEAD, evalrun compare RUN --arms BASE-ARM HEAD-ARM")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.compare(args, o) },
	}
	fs := cmd.Flags()
	ruleFlags(fs, &o.rule)
	fs.StringSliceVar(&o.arms, "arms", nil, "BASE-ARM HEAD-ARM: compare these arms (target/prompt), of one run or of two")
	fs.StringVarP(&o.format, "report", "o", "table", "table or json")
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

// ruleFlags are the flags that decide a comparison.
func ruleFlags(fs *pflag.FlagSet, r *harness.Rule) {
	fs.Var((*share)(&r.Margin), "margin", "how much lower a rate may be and still count as not worse, such as 0.05")
	fs.Var((*share)(&r.Alpha), "alpha", "one-sided error rate of a verdict, 0.2 at most (default 0.05)")
	fs.StringVar(&r.OnInconclusive, "on-inconclusive", "", "fail (default), warn or pass, when there are too few cases to tell")
	fs.StringArrayVar(&r.Metrics, "metric", nil, "NAME or NAME=MARGIN: a metric that must not get worse (default pass); repeat it for several")
}

// baselineFlags are the flags that compare a run with a baseline.
func baselineFlags(fs *pflag.FlagSet, f *harness.Flags) {
	againstFlags(fs, f)
	fs.StringVar(&f.Interleave, "interleave", "", "SUITE@REF: ask the arms of an earlier version of a suite (in git) side by side, and compare with them")
	fs.BoolVar(&f.Rule.StopEarly, "stop-early", false, "ask no more once the verdict is known")
}

// againstFlags say what a run is compared with, and by which rule.
func againstFlags(fs *pflag.FlagSet, f *harness.Flags) {
	fs.StringVar(&f.Baseline, "baseline", "", "compare with this: a named baseline, a run, or an exported file")
	fs.BoolVar(&f.NoBaseline, "no-baseline", false, "do not compare with the baseline of the suite's gate")
	ruleFlags(fs, &f.Rule)
}

// twoArms makes of `--arms A B` what flags can read, --arms=A,B.
func twoArms(args []string) []string {
	at := slices.Index(args, "--arms")
	if len(args) == 0 || args[0] != "compare" || at < 0 || at+2 >= len(args) || strings.Contains(args[at+1], ",") || strings.HasPrefix(args[at+2], "-") {
		return args
	}
	return slices.Concat(args[:at], []string{"--arms=" + args[at+1] + "," + args[at+2]}, args[at+3:])
}

// compare is `evalrun compare` from top to bottom.
func (a *app) compare(args []string, o compareOptions) error {
	if o.format != "table" && o.format != "json" {
		return harness.Exitf(harness.ExitBadInput, "-o takes table or json")
	}
	if len(o.arms) != 0 && len(o.arms) != 2 {
		return harness.Exitf(harness.ExitBadInput, "--arms takes two: --arms BASE-ARM HEAD-ARM")
	}
	if len(args) == 1 && len(o.arms) == 0 {
		return harness.Exitf(harness.ExitBadInput, "compare takes two runs, or one with two of its arms: --arms BASE-ARM HEAD-ARM")
	}
	c, rule, err := a.compared(args, o)
	if err != nil {
		return err
	}
	if o.format == "json" {
		err = reports.ComparisonJSON(a.out, c)
	} else {
		err = reports.Comparison(a.out, c, a.reportOptions())
	}
	if err != nil {
		return err
	}
	return exit(harness.ComparisonExit(c, rule))
}

func (a *app) compared(args []string, o compareOptions) (*eval.Comparison, *eval.BaselineRule, error) {
	base, head, err := openTwo(args)
	if err != nil {
		return nil, nil, err
	}
	defer base.Close() //nolint:errcheck // it was only read
	defer head.Close() //nolint:errcheck // the same
	rule, err := o.rule.Baseline()
	if err != nil {
		return nil, nil, err
	}
	what := harness.Comparing{Base: args[0], Head: args[len(args)-1], Rules: func(string) *eval.BaselineRule { return rule }}
	if len(o.arms) == 2 {
		what.HeadArm, what.BaseOf = o.arms[1], func(string) string { return o.arms[0] }
		for i, d := range []*journal.Document{base, head} {
			if err := harness.CheckArm(d, o.arms[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	c, err := harness.Compare(base, head, what)
	return c, rule, err
}

// openTwo opens both sides at once, which is half of what a comparison takes. One run is both sides.
func openTwo(names []string) (base, head *journal.Document, err error) {
	if len(names) == 1 {
		base, err = openBaseline(names[0])
		return base, base, err
	}
	var failed error
	var opening sync.WaitGroup
	opening.Go(func() { base, failed = openBaseline(names[0]) })
	head, err = openBaseline(names[1])
	opening.Wait()
	if err = cmp.Or(failed, err); err == nil {
		return base, head, nil
	}
	for _, d := range []*journal.Document{base, head} {
		if d != nil {
			_ = d.Close() // the first error is the one to tell
		}
	}
	return nil, nil, err
}

func openBaseline(name string) (*journal.Document, error) {
	path, err := harness.FindBaseline(name)
	if err != nil {
		return nil, harness.Exitf(harness.ExitBadInput, "%w", err)
	}
	return harness.OpenRun(path)
}
