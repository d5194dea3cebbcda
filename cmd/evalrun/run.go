package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalrun/evalrun"
	"github.com/evalrun/evalrun/cmd/evalrun/flags"
	"github.com/evalrun/evalrun/cmd/evalrun/term"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/internal/text"
	"github.com/evalrun/evalrun/reports"
)

type runOptions struct {
	evalrun.Options
	flags.LevelFlags
	dryRun, open, watch, runPrograms bool
}

// checkRaced says how a metric is written, when one after --race was read as a suite.
func (o *runOptions) checkRaced(suites []string) error {
	for _, name := range suites {
		if _, err := os.Stat(name); err != nil && o.Race == "pass" && !strings.ContainsAny(name, "./*\\") && name != "-" {
			return eval.BadInput("there is no suite file %s; if it is the metric of the race, write --race=%s", name, name)
		}
	}
	return nil
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run [SUITE...]", Short: "Run suites, score the answers, and apply the gate", Args: suites,
		Long: "Without SUITE it runs the suites of the project file evalrun.yaml, or the only suite of this folder. A setting\n" +
			"comes from the flag, else the variable, else the suite, else the project file (`evalrun help project`).",
		Example: "  evalrun run suite.yaml --emulator\n" +
			"  evalrun run suite.yaml --case 'refund-*' -v\n" +
			"  evalrun run suite.yaml --baseline main --margin 0.05\n" +
			"  evalrun run --failed-in latest -o html=report.html",
		Annotations: map[string]string{usualFlags: "case tag failed-in repeats var base-url emulator concurrency budget-calls " +
			"max-failures min-pass-rate baseline margin report verbose watch dry-run out cache record replay"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkRaced(args); err != nil {
				return err
			}
			switch {
			case o.watch && a.watching == nil:
				if err := a.checkWatch(&o); err != nil {
					return err
				}
				return a.watch(cmd.Context(), o.Level())
			case o.dryRun:
				return a.interruptible(cmd.Context(), func(ctx context.Context) error { return a.dryRun(ctx, &o) })
			}
			a.watches(&o)
			return a.run(cmd.Context(), o)
		},
	}
	fs := flags.Set{FlagSet: cmd.Flags()}
	fs.Service(&o.Options)
	fs.Limits(&o.Options)
	fs.BoolVar(&o.Batch, "batch", false, "submit calls in batches at a lower price, and end with exit 5; resume collects")
	fs.Wait(&o.Options)
	fs.Ledger(&o.Options)
	fs.Select(&o.Options)
	fs.Reports(&o.Options)
	fs.Out(&o.Options)
	fs.Identity(&o.Options)
	fs.Recording(&o.Options)
	fs.StringVar(&o.ReplayOr, "replay-or-record", "", "use the answers recorded in `DIR`; request and record missing ones")
	fs.BoolVar(&o.Cache, "cache", false, "keep answers in .evalrun/cache, and use those of earlier runs for equal requests")
	fs.StringVar(&o.Answers, "answers", "", "score the answers in a JSON lines `FILE` that was made elsewhere, without a service")
	fs.StringVar(&o.Extend, "extend", "", "continue the finished `RUN` with more repeats or new cases, and keep its answers")
	fs.StringVar(&o.ProgramsFrom, "programs-from", "", "take what programs of the suites write from `RUN`, and run none of them")
	fs.Untrusted(&o.Options)
	fs.Gate(&o.Options)
	fs.Baseline(&o.Options)
	fs.Race(&o.Options)
	fs.Failures(&o.MaxFailures, "")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print the rendered requests as JSON lines, and send nothing")
	fs.RunPrograms(&o.runPrograms)
	fs.Notify(&o.Options)
	fs.BoolVar(&o.open, "open", false, "open the HTML report in the browser after the run")
	fs.BoolVar(&o.watch, "watch", false, "run again what a changed file affects, with cached answers for the rest; Ctrl-C ends it")
	o.AddLevel(fs.FlagSet, verboseHelp)
	completeFormats(cmd)
	completeSelection(cmd)
	flags.ConfigSuites(cmd, &o.Options)
	return cmd
}

const verboseHelp = "report each trial and retry as it ends, and print arms, cases and settings"

// options are the flags and what the command adds: where reports go, how they look, and who watches.
func (a *app) options(o *runOptions, shown *shown, signals <-chan os.Signal) evalrun.Options {
	options := o.Options
	options.Reports = reports.WithTable(o.Reports)
	options.Stdout = a.out
	options.Getenv = a.getenv
	options.Version = buildVersion()
	options.Interrupt = signals
	options.Progress = shown.event
	if a.watching != nil {
		options.Reading, options.Listing = a.watching.note, a.watching.list
	}
	options.Layout.Width, options.Layout.Color = a.outWidth, a.color(a.outWidth)
	o.Arrange(&options.Layout, o.Reports)
	return options
}

func (a *app) run(ctx context.Context, o runOptions) error {
	signals, release := a.signals()
	defer release()
	shown := a.shown(o, release)
	options := a.options(&o, shown, signals)
	options.Layout.Listed = shown.listed
	j, err := evalrun.Load(ctx, options)
	if err != nil {
		return err
	}
	if err := a.warn(j, o.Level()); err != nil {
		return err
	}
	shown.Suites = len(j.Suites())
	result, err := evalrun.Run(ctx, j)
	if errors.Is(err, evalrun.ErrNothing) {
		err = eval.Incomplete("%w; --allow-empty makes this no error", err)
	}
	if result != nil && o.open {
		a.explain(a.open(result))
	}
	return a.ended(result, err, o)
}

func (a *app) warn(j *evalrun.Job, level term.Level) error {
	if warnings := j.Warnings(); level == term.Quiet || warnings.Len() == 0 {
		return nil
	}
	return j.WriteWarnings(a.err, a.errColor())
}

type shown struct {
	*term.ProgressBar
	app     *app
	release func() // gives signals back
	tabled  bool   // the table goes to standard output
	listed  bool   // the table follows the failures, in one place
}

func (a *app) shown(o runOptions, release func()) *shown {
	tabled := reports.Tabled(o.Reports)
	listed := tabled && o.Level() == term.Usual && (a.together || a.getenv("CI") != "")
	return &shown{ProgressBar: a.progress(o), app: a, release: release, tabled: tabled, listed: listed}
}

func (a *app) progress(o runOptions) *term.ProgressBar {
	return term.NewProgress(a.err, a.barColumns(), term.Verbosity{Color: a.errColor(), Level: o.Level()})
}

// barColumns is the room for a bar, nil where standard error is a log, even if that claims to be a terminal.
func (a *app) barColumns() func() int {
	if a.errWidth > 0 && a.getenv("CI") == "" && a.getenv("TERM") != "dumb" {
		return a.errColumns
	}
	return nil
}

func (s *shown) event(e evalrun.Event) {
	switch e := e.(type) {
	case evalrun.Notice:
		s.Notice(e.Text)
	case evalrun.RunResumed:
		if s.Level != term.Quiet {
			s.app.showTodo(&e.Todo)
		}
	case evalrun.Started:
		s.Waiting = e.Waiting
		s.Start(e.Trials)
	case evalrun.TrialDone:
		s.Done(e.Result, e.Spent)
		if s.app.watching != nil {
			s.app.watching.done(e.Result)
		}
	case evalrun.RetryPlanned:
		if s.Level == term.Verbose {
			s.Notice(e.Text)
		}
	case evalrun.Finished:
		s.Finish()
	case evalrun.RunWritten: // a signal ends what follows as usual
		s.release()
	case evalrun.ReportsDue: // so that the headline is the last line
		s.begin(e.Run)
	case evalrun.Problem:
		s.app.explain(e.Err)
	case evalrun.RunOpened, evalrun.RunEnded, evalrun.RunRead: // nothing to show
	}
}

// interruptible runs a command that a signal ends, and returns when nothing can be lost.
func (a *app) interruptible(ctx context.Context, command func(context.Context) error) error {
	signals, release := a.signals()
	defer release()
	ctx, signaled := eval.Until(ctx, signals)
	err := command(ctx)
	if code := signaled(); code != eval.CodeOK {
		return eval.WithCode(code, errors.New("interrupted"))
	}
	return err
}

// begin says where the run is, unless a table on standard output does. If the run ended before its plan, it says why.
func (s *shown) begin(r *evalrun.Result) {
	a := s.app
	if why := r.End.StopReason(); why != "" {
		fmt.Fprintf(a.err, "evalrun: %s\n", diag.CleanLine(why))
	}
	if s.Level != term.Quiet && !s.tabled {
		fmt.Fprintf(a.err, "run: %s\n", r.Name)
	}
	tabled := s.listed && r.Resume == "evalrun resume "+text.ShellWord(r.Name)
	if r.Resume != "" && !tabled {
		fmt.Fprintf(a.err, "to continue: %s\n", diag.CleanLine(r.Resume))
	}
}

// ended prints the paths of the reports, unless the table does, and returns the exit code. err says why
// there is no result, or what failed after the run.
func (a *app) ended(r *evalrun.Result, err error, o runOptions) error {
	if r == nil {
		return err
	}
	a.explain(err)
	switch {
	case reports.Tabled(o.Reports):
	case o.Level() != term.Quiet:
		for _, line := range r.Reports {
			fmt.Fprintln(a.err, line)
		}
	case r.Exit != eval.CodeOK:
		fmt.Fprintf(a.err, "evalrun: %s\n", r.Headline)
	}
	return exitWith(r.Exit)
}

func (a *app) dryRun(ctx context.Context, o *runOptions) error {
	j, err := a.writtenJob(ctx, &o.Options, o.runPrograms)
	if err != nil {
		return err
	}
	plan := j.Plan()
	if j.SelectsNothing(plan) && !o.AllowEmpty {
		return j.Nothing("; --allow-empty makes this no error")
	}
	err = session.WriteRequests(a.out, j, plan)
	a.sayUnwritten(j)
	return err
}

// sayUnwritten says what comes from programs that did not run.
func (a *app) sayUnwritten(j *session.Job) {
	if lacking := j.UnwrittenNotice(); lacking != "" {
		fmt.Fprintf(a.err, "note: %s\n", lacking)
	}
}
