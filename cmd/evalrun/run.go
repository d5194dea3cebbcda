package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/exit"
	"github.com/evalrun/evalrun/internal/harness"
	"github.com/evalrun/evalrun/internal/verdict"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/runner"
)

// runOptions are the flags of `evalrun run`.
type runOptions struct {
	harness.Flags
	dryRun, quiet, verbose bool
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: "run SUITE...", Short: "Ask, score, report, and apply the gate", Args: suites,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dryRun {
				return a.dryRun(args, o)
			}
			return a.run(cmd.Context(), args, o)
		},
	}
	fs := cmd.Flags()
	serviceFlags(fs, &o.Flags)
	limitFlags(fs, &o.Flags)
	selectFlags(fs, &o.Flags)
	reportFlags(fs, &o.Flags)
	outFlags(fs, &o.Flags)
	fs.StringVar(&o.Record, "record", "", "folder in which the answers are kept, to be replayed and reviewed")
	fs.StringVar(&o.Replay, "replay", "", "folder of recorded answers to use instead of the service; a trial without one is an error")
	fs.StringVar(&o.ReplayOr, "replay-or-record", "", "folder of recorded answers; what is missing there is asked, and recorded")
	fs.BoolVar(&o.Cache, "cache", false, "keep answers in .evalrun/cache, and use those of earlier runs for what asks the same to the letter")
	fs.StringVar(&o.Answers, "answers", "", "JSON lines of answers that were made elsewhere, to be judged without a service")
	untrustedFlag(fs, &o.Flags)
	gateFlags(fs, &o.Flags)
	baselineFlags(fs, &o.Flags)
	positive(fs, &o.MaxFailures, "max-failures", "stop after so many failed trials")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print the rendered requests, one JSON object a line, and ask nothing")
	quietFlags(fs, &o)
	completeFormats(cmd)
	completeSelection(cmd)
	return cmd
}

// quietFlags say how much is told on the way.
func quietFlags(fs *pflag.FlagSet, o *runOptions) {
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but errors, a verdict that is not good, and what -o wants")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "tell of each trial as it ends and of each retry, and list every case")
}

// outputs are the reports to write. The table that nobody wanted by -o is none of a quiet run's.
func (o *runOptions) outputs() ([]harness.Output, error) {
	out, err := harness.Outputs(o.Reports)
	if err == nil && o.quiet && len(out) > len(o.Reports) {
		out = out[:len(o.Reports)]
	}
	return out, err
}

// run is `evalrun run` from top to bottom.
func (a *app) run(ctx context.Context, files []string, o runOptions) error {
	outputs, err := o.outputs()
	if err != nil {
		return err
	}
	job, err := a.job(files, o.Flags, o.quiet)
	if err != nil {
		return err
	}
	if err := a.dir.Check(o.Out); err != nil {
		return err
	}
	session, progress, err := a.watched(job, o)
	if err != nil {
		return err
	}
	defer session.Close()
	signals, release := a.signals()
	defer release()
	plan, err := plan(ctx, session, signals)
	if err != nil {
		return err
	}
	if plan.Size() == 0 && !o.AllowEmpty && (plan.Shard() == nil || plan.Shard().Trials == 0) {
		return nothing(job, "; --allow-empty makes this no error")
	}
	a.collectLess()
	dir, err := session.Run(ctx, plan, progress, signals)
	release()
	if dir == "" {
		return err
	}
	if err == nil {
		err = session.Record(dir)
	}
	return a.reported(err, dir, outputs, o)
}

// watched makes a session whose doings are shown.
func (a *app) watched(job *harness.Job, o runOptions) (*harness.Session, *progress, error) {
	progress := a.progress(o)
	session, err := job.Connect(buildVersion(), progress.notice)
	if err != nil {
		return nil, nil, err
	}
	progress.waiting = session.Waiting
	if o.verbose {
		session.Retrying = progress.notice
	}
	return session, progress, nil
}

// runHeap is the memory from which garbage is collected as often as it takes to stay there. Large answers would otherwise leave several
// times as much.
const runHeap = 256 << 20

// collectLess collects garbage less often: while a run goes on, little is kept alive and much allocated.
func (a *app) collectLess() {
	if a.getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if a.getenv("GOMEMLIMIT") == "" {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		debug.SetMemoryLimit(max(runHeap, int64(2*m.HeapAlloc))) //nolint:gosec // memory has an end
	}
}

// reported writes the reports of a run that has just ended, with err if it broke, and gives the exit code. Who
// was interrupted learns how to go on.
func (a *app) reported(err error, dir string, outputs []harness.Output, o runOptions) error {
	a.explain(err) // the journal broke; what is in it can be reported all the same
	reported := a.report(dir, outputs, o)
	if err == nil {
		return reported
	}
	a.explain(reported)
	return exitWith(exit.Worst(exit.Of(err), exit.Of(reported)))
}

// plan asks the service about its models; a signal meanwhile ends the command.
func plan(ctx context.Context, session *harness.Session, signals <-chan os.Signal) (*runner.Plan, error) {
	ctx, signaled := until(ctx, signals)
	p, err := session.Plan(ctx)
	if code := signaled(); code != exit.CodeOK {
		return nil, exit.With(code, errors.New("interrupted before the first call"))
	}
	return p, err
}

// until is a context that ends with a signal, and a function that ends it and gives the exit code that
// the signal means.
func until(ctx context.Context, signals <-chan os.Signal) (context.Context, func() (code int)) {
	ctx, cancel := context.WithCancel(ctx)
	caught := make(chan os.Signal, 1)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case sig := <-signals:
			caught <- sig
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() int {
		cancel()
		<-watched
		select {
		case sig := <-caught:
			return exit.OfSignal(sig.String())
		default:
			return exit.CodeOK
		}
	}
}

// interruptible runs a command that a signal ends. It returns when the command has put away what must not be
// lost.
func (a *app) interruptible(ctx context.Context, command func(context.Context) error) error {
	signals, release := a.signals()
	defer release()
	ctx, signaled := until(ctx, signals)
	err := command(ctx)
	if code := signaled(); code != exit.CodeOK {
		return exit.With(code, errors.New("interrupted"))
	}
	return err
}

// nothing is the error of a selection without trials.
func nothing(job *harness.Job, remedy string) error {
	return exit.Incomplete("no trial is selected%s%s", job.Hint(), remedy)
}

// reportHeap is the memory in which a run is reported, unless its index needs more: a million trials do not.
const reportHeap = 180 << 20

// smallHeap keeps little garbage while a run is opened, whose index is all that is kept; the function it returns
// ends that.
func (a *app) smallHeap() (opened func()) {
	if a.getenv("GOGC") != "" || a.getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(reportHeap)
	return func() { // collecting all the time would not make a larger index smaller
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		debug.SetMemoryLimit(max(reportHeap, int64(2*m.HeapAlloc))) //nolint:gosec // memory has an end
	}
}

// openRun opens a run for its reports.
func (a *app) openRun(name string) (*journal.Document, error) {
	defer a.smallHeap()()
	doc, err := a.dir.Open(name)
	if err == nil {
		verdict.Apply(doc)
	}
	return doc, err
}

// report writes the reports of a run that has just ended and gives its exit code.
func (a *app) report(dir string, outputs []harness.Output, o runOptions) error {
	doc, err := a.openRun(dir)
	if err != nil { // not bad input: something was asked
		return exit.Incomplete("%w", err)
	}
	return a.reportOf(doc, outputs, o)
}

// reportOf is report with the run at hand, which it closes. The history learns of the run.
func (a *app) reportOf(doc *journal.Document, outputs []harness.Output, o runOptions) error {
	defer doc.Close() //nolint:errcheck // it was only read
	options := a.reportOptions()
	options.Verbose = o.verbose
	written, err := harness.WriteReports(doc, outputs, a.out, options)
	a.explain(a.dir.Remember(doc)) // nothing depends on it
	if err != nil {
		return exit.With(exit.Worst(doc.Gate.Exit, exit.CodeIncomplete), err)
	}
	switch {
	case !o.quiet:
		for _, line := range written {
			fmt.Fprintln(a.err, line)
		}
		fmt.Fprintf(a.err, "run: %s\n", doc.Dir)
	case doc.Gate.Exit != exit.CodeOK && !slices.ContainsFunc(outputs, harness.Output.Standard):
		fmt.Fprintf(a.err, "evalrun: %s\n", reports.Verdict(doc))
	}
	if doc.End != nil && doc.End.Reason == eval.EndStopped && doc.End.Message != "" {
		fmt.Fprintf(a.err, "evalrun: %s\n", diag.CleanLine(doc.End.Message))
	}
	if doc.End == nil || doc.End.Reason != eval.EndCompleted {
		fmt.Fprintf(a.err, "go on with it by: evalrun resume %s\n", doc.Dir)
	}
	return exitWith(doc.Gate.Exit)
}

// request is a line of --dry-run.
type request struct {
	Suite      string        `json:"suite"`
	Case       string        `json:"case"`
	Arm        string        `json:"arm"`
	Model      string        `json:"model"`
	APIVersion string        `json:"apiVersion"`
	Repeats    int           `json:"repeats"`
	Request    *eval.Request `json:"request"`
}

func (a *app) dryRun(files []string, o runOptions) error {
	job, err := a.job(files, o.Flags, false)
	if err != nil {
		return err
	}
	plan := job.Plan()
	if plan.Size() == 0 && !o.AllowEmpty {
		return nothing(job, "; --allow-empty makes this no error")
	}
	var last *request
	show := func() error {
		if last == nil {
			return nil
		}
		line, err := eval.Marshal(last)
		if err == nil {
			_, err = fmt.Fprintf(a.out, "%s\n", line)
		}
		return err
	}
	for t := range plan.Trials() {
		if t.Repeat > 1 {
			last.Repeats++
			continue
		}
		if err := show(); err != nil {
			return err
		}
		last = &request{t.Suite, t.Case, t.Arm, t.Model, t.Request.APIVersion, 1, &t.Request}
	}
	return show()
}
