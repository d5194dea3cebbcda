package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
)

// compareOptions are the flags of `evalrun compare`.
type compareOptions struct {
	rule   eval.RuleOptions
	arms   []string
	format string

	choose string // a judge, anyJudge, or "" for none
	judge  harness.ByJudge
}

// anyJudge is the value of --choose that names no judge; no judge has that name.
const anyJudge = "*"

func (a *app) compareCommand() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use: "compare BASE HEAD", Short: "Compare two runs, or two arms of one, case by case",
		Long: "Pairs the cases of two runs and tells what changed, with intervals. With a margin there is a\n" +
			"verdict, and the exit code is its: 0 improved or not worse, 1 regressed, 3 cannot tell yet, 4 not\n" +
			"comparable. BASE is a named baseline, a run or an exported file.",
		Example: "  evalrun compare main latest --margin 0.05\n  evalrun compare latest --arms pro/old pro/new --margin 0.05\n  evalrun " +
			"compare latest --arms pro/old pro/new --choose",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return exit.BadInput(
					"compare takes two runs, or one with two of its arms: evalrun compare BASE HEAD, evalrun compare RUN --arms BASE-ARM HEAD-ARM",
				)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.choose == "" {
				return a.compare(cmd.Context(), args, o)
			}
			return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.compare(ctx, args, o) })
		},
	}
	fs := cmd.Flags()
	ruleFlags(fs, &o.rule)
	fs.StringSliceVar(&o.arms, "arms", nil, "BASE-ARM HEAD-ARM: compare these arms (target/prompt), of one run or of two")
	fs.StringVarP(&o.format, "report", "o", "table", "table or json")
	chooseFlags(fs, &o)
	cmd.ValidArgsFunction = completeRuns
	return cmd
}

// chooseFlags have a judge choose between the answers.
func chooseFlags(fs *pflag.FlagSet, o *compareOptions) {
	fs.StringVar(&o.choose, "choose", "", "ask a judge which of both answers is better; =JUDGE names one of several")
	fs.Lookup("choose").NoOptDefVal = anyJudge
	trustFlag(fs, &o.judge.Flags)
	fs.StringVar(
		&o.judge.Criteria, "criteria", "",
		"with --choose: what makes an answer better (default what the suite says beside the judge)",
	)
	fs.StringVar(&o.judge.Suite, "suite", "", "with --choose: suite that names the judge (default that of HEAD, as it was)")
	f := &o.judge.Flags
	serviceFlags(fs, f)
	limitFlags(fs, f)
	fs.StringVar(&f.Record, "record", "", "with --choose: folder in which the judge's replies are kept")
	fs.StringVar(&f.Replay, "replay", "", "with --choose: folder of recorded replies to use instead of the service")
	untrustedFlag(fs, f)
}

// ruleFlags are the flags that decide a comparison.
func ruleFlags(fs *pflag.FlagSet, r *eval.RuleOptions) {
	fs.Var((*share)(&r.Margin), "margin", "how much lower a rate may be and still count as not worse, such as 0.05")
	fs.Var((*share)(&r.Alpha), "alpha", "one-sided error rate of a verdict, 0.2 at most (default 0.05)")
	fs.StringVar(&r.OnInconclusive, "on-inconclusive", "", "fail (default), warn or pass, when there are too few cases to tell")
	fs.StringArrayVar(&r.Metrics, "metric", nil, "NAME or NAME=MARGIN: a metric that must not get worse (default pass); repeat it for several")
}

// baselineFlags are the flags that compare a run with a baseline.
func baselineFlags(fs *pflag.FlagSet, f *harness.Flags) {
	againstFlags(fs, f)
	fs.StringVar(
		&f.Interleave, "interleave", "",
		"SUITE@REF: ask the arms of an earlier version of a suite (in git) side by side, and compare with them",
	)
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
	if len(args) == 0 || args[0] != "compare" || at < 0 || at+2 >= len(args) || strings.Contains(args[at+1], ",") ||
		strings.HasPrefix(args[at+2], "-") {
		return args
	}
	return slices.Concat(args[:at], []string{"--arms=" + args[at+1] + "," + args[at+2]}, args[at+3:])
}

// compare is `evalrun compare` from top to bottom.
func (a *app) compare(ctx context.Context, args []string, o compareOptions) error {
	if o.format != "table" && o.format != "json" {
		return exit.BadInput("-o takes table or json")
	}
	if len(o.arms) != 0 && len(o.arms) != 2 {
		return exit.BadInput("--arms takes two: --arms BASE-ARM HEAD-ARM")
	}
	if len(args) == 1 && len(o.arms) == 0 {
		return exit.BadInput("compare takes two runs, or one with two of its arms: --arms BASE-ARM HEAD-ARM")
	}
	if o.choose == "" && (o.judge.Criteria != "" || o.judge.Suite != "" || o.judge.Flags.Record != "" || o.judge.Flags.Replay != "") {
		return exit.BadInput("--criteria, --suite, --record and --replay are for a judge that chooses: add --choose")
	}
	c, rule, err := a.compared(ctx, args, o)
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
	return exitWith(verdict.Exit(c, rule))
}

func (a *app) compared(ctx context.Context, args []string, o compareOptions) (*compare.Comparison, *eval.BaselineRule, error) {
	base, head, err := a.openTwo(args)
	if err != nil {
		return nil, nil, err
	}
	defer base.Close() //nolint:errcheck // it was only read
	defer head.Close() //nolint:errcheck // the same
	rule, err := verdict.RuleOf(o.rule)
	if err != nil {
		return nil, nil, err
	}
	what := verdict.Comparing{Base: args[0], Head: args[len(args)-1], Rules: func(string) *eval.BaselineRule { return rule }}
	if len(o.arms) == 2 {
		what.HeadArm, what.BaseOf = o.arms[1], func(string) string { return o.arms[0] }
		for i, d := range []*journal.Document{base, head} {
			if err := verdict.CheckArm(d, o.arms[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	if o.choose == "" {
		c, err := verdict.Compare(base, head, what)
		return c, rule, err
	}
	if rule != nil && len(o.rule.Metrics) == 0 {
		rule.Metrics = append(rule.Metrics, eval.MetricMargin{Name: eval.MetricChoose, Margin: o.rule.Margin})
	}
	chooser, err := a.chooser(ctx, base, head, o)
	if err != nil {
		return nil, nil, err
	}
	defer chooser.Close()
	c, err := chooser.Compare(ctx, what)
	return c, rule, err
}

func (a *app) chooser(ctx context.Context, base, head *journal.Document, o compareOptions) (*harness.Chooser, error) {
	if o.choose != anyJudge {
		o.judge.Judge = o.choose
	}
	return harness.NewChooser(ctx, base, head, o.judge, a.getenv, func(job *harness.Job) (*harness.Session, error) {
		return job.Connect(buildVersion(), a.tellNotice)
	})
}

// openTwo opens both sides at once, which is half of what a comparison takes. One run is both sides.
func (a *app) openTwo(names []string) (base, head *journal.Document, err error) {
	if len(names) == 1 {
		base, err = a.openBaseline(names[0])
		return base, base, err
	}
	var failed error
	var opening sync.WaitGroup
	opening.Go(func() { base, failed = a.openBaseline(names[0]) })
	head, err = a.openBaseline(names[1])
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

func (a *app) openBaseline(name string) (*journal.Document, error) {
	path, err := a.dir.FindBaseline(name)
	if err != nil {
		return nil, exit.BadInput("%w", err)
	}
	return a.dir.Open(path)
}
