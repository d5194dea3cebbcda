package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/eval"
)

type compareOptions struct {
	compareRequest
	json   bool
	choose string // a judge, anyJudge, or "" for none
	rank   bool   // all arms of one run

	judge   evalrun.Options
	judging *pflag.FlagSet // flags that --choose needs
}

// anyJudge is the value of --choose that names no judge; no judge has that name.
const anyJudge = "*"

func (a *app) compareCommand() *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use: "compare BASE HEAD | RUN", Short: "Compare two runs, or the arms of one, case by case",
		Long: "Pairs the cases of two runs and reports what changed, with intervals. With a margin there is a verdict and\n" +
			"its exit code: 0 improved or not worse, 1 regressed, 3 inconclusive, 4 not comparable. BASE is a named\n" +
			"baseline, a run or an exported file.",
		Example: "  evalrun compare main latest --margin 0.05\n  evalrun compare latest --rank\n" +
			"  evalrun compare latest --arms pro/old pro/new --margin 0.05\n  evalrun compare latest --arms pro/old pro/new --choose",
		Args: func(_ *cobra.Command, args []string) error {
			if o.rank && len(args) != 1 {
				return eval.BadInput("--rank takes one run, and ranks its arms: evalrun compare RUN --rank")
			}
			if len(args) < 1 || len(args) > 2 {
				return eval.BadInput(
					"compare takes two runs, or one with two of its arms: evalrun compare BASE HEAD, evalrun compare RUN --arms BASE-ARM " +
						"HEAD-ARM",
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
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Rule(&o.Rule)
	fs.Estimand(&o.Rule)
	fs.StringSliceVar(&o.Arms, "arms", nil, "compare these arms (target/prompt) of one run or of two: `BASE HEAD`")
	fs.BoolVar(&o.rank, "rank", false, "rank all arms of one run by --metric, or with --choose by what the judge prefers")
	fs.Within(&o.Within)
	fs.JSON(&o.json)
	fs.BoolVarP(&o.Verbose, "verbose", "v", false, "also show the tests and their p values")
	chooseFlags(fs, &o)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		return completeRuns(cmd, args[min(1, len(args)):], text)
	}
	return cmd
}

// chooseFlags have a judge choose between the answers.
func chooseFlags(all flags.Set, o *compareOptions) {
	all.StringVar(&o.choose, "choose", "", "let a judge choose the better of both answers; `JUDGE` names one of several")
	all.Lookup("choose").NoOptDefVal = anyJudge
	fs := flags.Set{FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError)}
	o.judging = fs.FlagSet
	fs.Trust(&o.judge)
	fs.StringVar(
		&o.ByJudge.Criteria, "criteria", "",
		"with --choose, `TEXT` that says what makes an answer better (default the judge's in the suite)",
	)
	fs.StringVar(
		&o.ByJudge.Suite, "suite", "",
		"with --choose, take the judge from the suite `FILE` (default that of HEAD, as it was)",
	)
	f := &o.judge
	fs.Service(f)
	fs.Limits(f)
	fs.Ledger(f)
	fs.StringVar(&f.Record, "record", "", "with --choose, keep the judge's replies in `DIR`")
	fs.StringVar(&f.Replay, "replay", "", "with --choose, use the replies recorded in `DIR` instead of the service")
	fs.Untrusted(f)
	all.AddFlagSet(fs.FlagSet)
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

func (o *compareOptions) check() error {
	var given []string
	o.judging.VisitAll(func(f *pflag.Flag) {
		if f.Changed && (!o.rank || f.Name != "prices") { // a ranking shows what arms cost
			given = append(given, "--"+f.Name)
		}
	})
	if o.choose == "" && len(given) > 0 {
		return eval.BadInput("%s: such flags are for a judge that chooses: add --choose", strings.Join(given, ", "))
	}
	switch {
	case o.rank:
		return o.checkRank()
	case o.Within > 0:
		return eval.BadInput("--within names arms of a ranking: add --rank, or use --margin to compare two arms")
	}
	if o.choose != "" && o.Rule.Estimand == eval.OfSuite {
		return eval.BadInput("--estimand suite takes pass and scores of single answers, and --choose compares two: leave one of them out")
	}
	return nil
}

// repeated is the first name that is there twice, "" when none is.
func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// checkRank wants arms, a metric, and nothing that is about a comparison of two.
func (o *compareOptions) checkRank() error {
	switch r := &o.Rule; {
	case repeated(o.Arms) != "":
		return eval.BadInput("--arms names %s twice", repeated(o.Arms))
	case len(o.Arms) == 1:
		return eval.BadInput("--rank needs two arms or more: --arms=pro/a,pro/b,pro/c")
	case len(r.Metrics) > 1 || len(r.Metrics) == 1 && strings.Contains(r.Metrics[0], "="):
		return eval.BadInput("--rank takes one metric, without a margin: --metric pass")
	case o.choose != "" && o.Within > 0:
		return eval.BadInput("--choose --rank ranks by what the judge prefers: leave out --within, or --choose")
	case o.choose != "" && len(r.Metrics) > 0:
		return eval.BadInput("--choose --rank ranks by what the judge prefers: leave out --metric, or --choose")
	case r.Estimand == eval.OfSuite:
		return eval.BadInput("--estimand suite compares two arms, and a ranking is about cases like these: leave out --rank, or --estimand")
	case r.Margin > 0 || r.OnInconclusive != "" || r.MinPaired != nil || len(r.AllowRemoved) > 0:
		return eval.BadInput("--margin, --on-inconclusive, --min-paired and --allow-removed compare two arms: leave out --rank, or those")
	}
	return nil
}

func (a *app) compare(ctx context.Context, args []string, o compareOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	o.Preferences = o.choose != ""
	o.ByJudge.Options = a.settings(&o.judge)
	o.ByJudge.Connect = a.caller().Connect
	if o.choose != anyJudge {
		o.ByJudge.Judge = o.choose
	}
	if o.rank {
		return a.rank(ctx, args[0], o)
	}
	c, err := a.runs.compare(ctx, args, o.compareRequest)
	if err != nil {
		return err
	}
	return a.compared(c, o.json)
}

func (a *app) rank(ctx context.Context, run string, o compareOptions) error {
	if o.choose == "" {
		r, err := a.runs.rank(run, o.compareRequest)
		if err != nil {
			return err
		}
		return a.compared(r, o.json)
	}
	p, err := a.runs.rankByPreference(ctx, run, o.compareRequest)
	if err != nil {
		return err
	}
	return a.compared(p, o.json)
}

func (a *app) compared(c interface {
	Write(screen term.Screen) error
	WriteJSON(screen term.Screen) error
	Exit() int
}, json bool,
) error {
	write := func() error { return c.Write(a.screen()) }
	if json {
		write = func() error { return c.WriteJSON(a.screen()) }
	}
	if err := write(); err != nil {
		return err
	}
	return exitWith(c.Exit())
}
