// Package evalrun tests prompts. It sends the cases of YAML suites to a model, scores the answers, compares runs, and
// says by an exit code whether the result is good enough. It is the command evalrun without a terminal; both run
// suites the same way, with retries, limits, resuming and the gate.
//
// The usual order: Load, then Run, then Report or Compare. Resume continues a run that was interrupted.
//
// Any number of runs may be in progress in one process, in any folders.
package evalrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/scorers"
	"github.com/evalrun/evalrun/suite"
)

// Options say what to run and how. All are optional but Suites. Resume takes the suites, the selection, the sources and the
// gate of the run itself, and refuses others.
type Options struct {
	// What runs.

	// Dir is the folder in which relative paths begin and which has .evalrun, with runs, history and cache. "" is the
	// working directory.
	Dir string
	// Suites are suite files. They may be left out with Sources.Rescore, which takes the suites of that run, and with
	// ProjectFile, which takes the suites that it names.
	Suites []string
	// ProjectFile names a project file. Its settings apply where the options, the environment and the suites set nothing.
	// "" is none, and untrusted suites take none. Its settings of reports, the run directory and recorded answers are for
	// the command alone.
	ProjectFile string
	// Selection selects trials. Selection.Selected lists places of Trials. Such a part says nothing about the whole: it is
	// not compared with a baseline, and Result.Open applies no gate to it.
	Selection eval.SelectionOptions
	// Vars replace variables of every case.
	Vars map[string]string
	// Seed makes the sample and the emulator reproducible.
	Seed uint64
	// Scorers are custom kinds, in addition to the built-in ones.
	Scorers []scorers.Kind
	// Gate replaces rules of the suites' gates.
	Gate eval.GateOptions
	// RetryErrors makes Resume send the errors of a complete run again. Run ignores it.
	RetryErrors bool

	// Where answers come from, and what they may cost.

	Service eval.ServiceOptions
	// Emulator is a script that answers instead of a service: eval.DemoScript or a file.
	Emulator string
	Sources  eval.SourceOptions
	Limits   eval.LimitOptions
	Ledger   LedgerOptions
	// Executor makes the attempts of calls, for example in other processes. nil: this process makes them.
	Executor Executor

	// What is allowed.

	// Untrusted suites can neither choose the service, nor read the environment, nor start programs, nor call other hosts.
	Untrusted bool
	// Allow lifts single restrictions of Untrusted, as --allow does: `program`, `http=HOST`, `services=HOST:KEYENV`.
	Allow []string
	// Trust allows a run that somebody else made to name the service and start programs, when it is resumed or rescored.
	Trust bool

	// What is written.

	// Out is the run directory; "" makes a new one below .evalrun/runs.
	Out string
	// Name and Labels of the run help to find it later. A label without a value has the value "".
	Name   string
	Labels map[string]string
	// Version is recorded in the run file and sent as user agent.
	Version string
	// NoContent keeps prompts and answers out of all files.
	NoContent bool
	// NoHistory leaves the run out of the history of Dir.
	NoHistory bool
	// Reports are written when the run has ended. Each is FORMAT=PATH, or FORMAT to write it to Stdout.
	Reports []string
	// Stdout takes the reports without a path. nil discards them.
	Stdout io.Writer
	// Layout is how reports on Stdout look.
	Layout reports.Options

	// What a program around the run sees and does.

	// Progress receives each Event, from one goroutine at a time except for notices.
	Progress func(Event)
	// Interrupt ends a run early. After the first value no new call is made, and calls in progress may finish; the second
	// value abandons them. Canceling the context abandons them at once. Either way Resume continues the run.
	Interrupt <-chan os.Signal
	// Getenv replaces os.Getenv for the EVALRUN_* variables.
	Getenv func(name string) string
	// Reading receives the name of a suite file and the path of each file that the suite is about to read, from any goroutine.
	Reading func(suite, path string)
	// Listing receives the name of a suite file, a glob of files that the suite is about to list, and a function. The
	// function lists the paths that match the glob now. It needs Reading.
	Listing func(suite, glob string, matches func() []string)
}

// LedgerOptions name the server (`evalrun ledger`) whose limits this process shares with others. They are never part of
// a run file. The token of the ledger is in EVALRUN_LEDGER_TOKEN.
type LedgerOptions struct {
	URL  string        // "" takes the address in EVALRUN_LEDGER, if any
	CA   string        // a file with certificates to trust in addition
	Wait time.Duration // how long the ledger may be away before the run ends; 0 for ten minutes
	None bool          // use none, although EVALRUN_LEDGER or the run to resume names one

	// Lost is for an Executor, which has no run to end. It is called once, when the ledger was away for Wait or grants
	// nothing to this process. From then on calls fail with an error that is Unsent and eval.FromProcess. Optional.
	Lost func(reason string)
}

// jobOptions are the options as internal/session takes them.
func (o *Options) jobOptions() session.Options {
	f := session.Options{
		Options: eval.Options{
			ServiceOptions:   o.Service,
			LimitOptions:     o.Limits,
			SelectionOptions: o.Selection,
			SourceOptions:    o.Sources,
			GateOptions:      o.Gate,
			Emulator:         o.Emulator,
			Name:             o.Name,
			Labels:           maps.Clone(o.Labels),
			Vars:             o.Vars,
			Seed:             o.Seed,
			Out:              o.Out,
			Reports:          o.Reports,
			Untrusted:        o.Untrusted,
			Allow:            o.Allow,
			NoContent:        o.NoContent,
		},
		Dir:         rundir.At(o.Dir),
		Ledger:      session.LedgerOptions(o.Ledger),
		Executor:    o.Executor,
		ScorerTable: o.Scorers,
		Trust:       o.Trust,
		NoHistory:   o.NoHistory,
		Reading:     o.Reading,
		Listing:     o.Listing,
	}
	if f.Selected != nil {
		f.Baseline = eval.NoBaseline{}
	}
	for _, path := range []*string{&f.Prices, &f.Record, &f.Replay, &f.ReplayOr, &f.Answers, &f.Ledger.CA} {
		*path = f.Dir.Join(*path)
	}
	return f
}

func (o *Options) getenv() func(string) string {
	if o.Getenv != nil {
		return o.Getenv
	}
	return os.Getenv
}

func (o *Options) emit(e Event) {
	if o.Progress != nil {
		o.Progress(e)
	}
}

// Job is suites with the settings by which they run.
type Job struct {
	options Options
	outputs []reports.Output
	job     *session.Job
	part    bool // Options.Selection.Selected names single trials
	resumed bool // by Resume
}

// Load reads and checks suites, and settles the service and the limits: options win over the environment, the
// environment over the suites. It sends nothing. The error lists every problem with file, line, column and a hint.
func Load(_ context.Context, o Options) (*Job, error) {
	outputs, err := reports.ParseOutputs(o.Reports, rundir.At(o.Dir).Join)
	if err != nil {
		return nil, err
	}
	if err := o.Selection.Shard.Check(); err != nil {
		return nil, eval.BadInput("%w", err)
	}
	options := o.jobOptions()
	chosen := session.ProjectSource{File: o.ProjectFile, None: o.ProjectFile == "", Getenv: o.getenv()}
	if err := options.UseProject(chosen, o.Suites); err != nil {
		return nil, err
	}
	if len(o.Suites) == 0 && options.Rescore == "" {
		if o.Suites, err = options.ProjectSuites(); err != nil {
			return nil, err
		}
	}
	var l *session.Loaded
	switch {
	case options.Rescore != "":
		l, err = session.LoadRescored(options.Rescore, o.Suites, options, o.getenv())
	case len(o.Suites) == 0:
		err = eval.BadInput("no suite is named")
	default:
		l, err = session.Load(o.Suites, options, o.getenv())
	}
	if err != nil {
		return nil, err
	}
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	return &Job{options: o, outputs: outputs, job: j, part: o.Selection.Selected != nil}, nil
}

// Suites are the suites of the job, read-only.
func (j *Job) Suites() []*suite.Suite { return j.job.Suites }

// Warnings are what Load found that is no error.
func (j *Job) Warnings() diag.List { return j.job.Diags }

// WriteWarnings writes the warnings with their source lines, as the command does.
func (j *Job) WriteWarnings(w io.Writer, color bool) error { return j.job.WriteProblems(w, color) }

// Trials yields what would be sent, in the order of the suites. It sends nothing.
func (j *Job) Trials(yield func(*eval.Trial) bool) {
	for t := range j.job.Plan().Trials() {
		if !yield(&t.Trial) {
			return
		}
	}
}

// Empty is nil if there are trials to run. Otherwise it wraps ErrNothing, and says which option selects nothing and what
// it could have meant.
func (j *Job) Empty() error {
	if j.job.Plan().Size() > 0 {
		return nil
	}
	return j.nothing()
}

func (j *Job) nothing() error { return eval.Incomplete("%w%s", ErrNothing, j.job.Hint()) }

// Service is the service that the job calls, as far as it is known before the run. Its address is "" when there is none.
func (j *Job) Service() eval.RunService { return j.job.Settings.Service }

// NeedsService reports whether the job calls models. One that tests applications alone, without judges, does not.
func (j *Job) NeedsService() bool { return j.job.NeedsService() }

// Result is how a run ended.
type Result struct {
	// Dir is the absolute path of the run directory. Name is its path as it was given or chosen, for commands.
	Dir, Name string
	// Exit is the exit code of the command: 0 the gate holds, 1 it does not, 3 it cannot be decided. 4 means that the
	// run is incomplete, 130 or 143 that a signal ended it. Without a gate, failed trials give 1 and errors 4.
	Exit int
	// Resume is the command that continues the run, "" for a complete one. It names what the run file does not keep: the
	// ledger, and what an earlier resume was given. It has no secrets.
	Resume string
	// Headline says in one line how the run ended.
	Headline string
	// Counts are the outcomes of the trials.
	Counts eval.Counts
	// End is the last line of the run file; nil when it could not be written.
	End *eval.End
	// Reports are the reports that were written, each as FORMAT: PATH.
	Reports []string

	part bool       // as in Job
	in   rundir.Dir // has the history
}

// Open opens the run, with its gate applied. The caller closes the document.
func (r *Result) Open() (*journal.Document, error) {
	doc, err := journal.Open(r.Dir)
	if err == nil && !r.part {
		gate.ApplyIn(r.in, doc)
	}
	return doc, err
}

// WriteError writes an error of this package as the command does: problems in files appear with source lines and hints.
func WriteError(w io.Writer, err error, color bool) error {
	var bad *session.BadFiles
	if errors.As(err, &bad) {
		return bad.WriteProblems(w, color)
	}
	_, err = fmt.Fprintln(w, diag.Clean(err.Error()))
	return err
}

// ExitCode is the exit code that the command gives an error of this package: 2 for bad input, 4 for a service that
// cannot be used, 0 for nil.
func ExitCode(err error) int { return eval.Of(err) }

// Report writes a run in one of the formats of package reports. dir is a run directory, a run file, the id of a run or `latest`.
func Report(_ context.Context, w io.Writer, dir, format string) error {
	f := reports.Lookup(format)
	if f == nil {
		return eval.BadInput("there is no report format %q; %s", format, diag.DidYouMean(format, reports.Names()))
	}
	doc, err := rundir.At("").Open(dir)
	if err != nil {
		return err
	}
	gate.ApplyIn(rundir.At(""), doc)
	return errors.Join(f.Write(w, doc, reports.Options{}), doc.Close())
}

// CompareOptions say how two runs are compared. All are optional.
type CompareOptions struct {
	// Dir is the folder in which relative paths begin, as in Options.
	Dir string
	// Rule gives metrics a verdict; without a margin there are estimates only.
	Rule eval.RuleOptions
	// Suite is the only suite to compare.
	Suite string
}

// Comparison is the outcome of Compare. Its verdict is eval.Invalid, with the reason, when runs cannot be compared, such
// as a run with itself.
type Comparison = compare.Comparison

// Compare compares two runs arm by arm. base and head are run directories, ids, `latest`, names of baselines or exported files.
func Compare(_ context.Context, base, head string, o CompareOptions) (*Comparison, error) {
	rule, err := gate.RuleOf(o.Rule)
	if err != nil {
		return nil, err
	}
	dir := rundir.At(o.Dir)
	before, err := dir.OpenBaseline(base)
	if err != nil {
		return nil, err
	}
	defer before.Close() //nolint:errcheck // it was only read
	after, err := dir.OpenBaseline(head)
	if err != nil {
		return nil, err
	}
	defer after.Close() //nolint:errcheck // it was only read
	if before.Run.ID == after.Run.ID {
		side := compare.Compared{Run: before.Run.ID, StartedAt: before.Run.StartedAt}
		return &Comparison{
			Base:    side,
			Head:    side,
			Verdict: eval.Invalid,
			Why:     "a run cannot be compared with itself",
			Arms:    []compare.ArmComparison{},
		}, nil
	}
	return gate.Compare(before, after, gate.Comparing{
		Base: base, Head: head, Suite: o.Suite, Rules: func(string) *eval.BaselineRule { return rule },
	})
}
