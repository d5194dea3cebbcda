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

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// Options say what to run and how. All are optional but Suites. A run file records the options of package eval. Resume takes
// these from the run itself, and refuses others, except for limits, reports and permissions. Those of runner.Caller are of this
// process alone: a program that resumes or rescores a run brings its own.
type Options struct {
	eval.Options
	runner.Caller

	// Stdout takes the reports without a path. nil discards them.
	Stdout io.Writer
	// Layout is how reports on Stdout look.
	Layout reports.Options
	// Progress receives each Event, from one goroutine at a time except for notices.
	Progress func(Event)
}

// LedgerOptions name the server whose limits this process shares with others.
type LedgerOptions = runner.LedgerOptions

// settings are options as package session takes them.
func (o *Options) settings() session.Options {
	return session.OptionsOf(o.Options, o.Caller, reports.Names())
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
	resumed bool // by Resume
}

// Load reads and checks suites, and settles the service and the limits: options win over the environment, the
// environment over the suites. It sends nothing, and runs the programs that write prompts. The error lists every problem with
// file, line, column and a hint.
func Load(ctx context.Context, o Options) (*Job, error) {
	options := o.settings()
	outputs, err := reports.ParseOutputs(o.Reports, options.In().Join)
	if err == nil && options.Rescore == "" {
		if err = options.TakeSuites(); err == nil && len(options.Suites) == 0 {
			err = eval.BadInput("no suite is named")
		}
	}
	if err != nil {
		return nil, err
	}
	if err := o.checkNotify(options.In()); err != nil {
		return nil, err
	}
	ctx, end := eval.Until(ctx, o.Interrupt)
	options.RunPrograms, options.StopPrograms = true, ctx.Done()
	l, err := session.Load(options)
	if code := end(); code != eval.CodeOK {
		return nil, eval.WithCode(code, errors.New("interrupted before the first call"))
	}
	if err != nil {
		return nil, err
	}
	j, err := l.Settle()
	if err != nil {
		return nil, err
	}
	job := &Job{options: o, outputs: outputs, job: j}
	if err := job.checkReports(); err != nil {
		return nil, err
	}
	return job, nil
}

// checkReports returns an error if a report would replace a file that the job reads.
func (j *Job) checkReports() error {
	for _, s := range j.job.Suites {
		var names []string
		for name := range s.Sources() {
			names = append(names, name)
		}
		if err := reports.SpareSuite(j.outputs, s.Name, s.Dir(), names...); err != nil {
			return err
		}
	}
	f := &j.job.Options
	return reports.SpareInputs(j.outputs, &f.Options, f.ProjectFile, f.In().Join)
}

// Suites are the suites of the job, read-only.
func (j *Job) Suites() []*suite.Suite { return j.job.Suites }

// Warnings are what Load found that is no error.
func (j *Job) Warnings() diag.List { return j.job.Diags }

// WriteWarnings writes the warnings with their source lines, as the command does.
func (j *Job) WriteWarnings(w io.Writer, color bool) error { return j.job.WriteProblems(w, color) }

// KeepPrograms writes what the programs of the suites wrote into a folder, for Options.ProgramsFrom of another job.
func (j *Job) KeepPrograms(dir string) error { return j.job.KeepPrograms(dir) }

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
	// run is incomplete, 5 that it waits for its batches, 130 or 143 that a signal ended it. Without a gate, failed trials
	// give 1 and errors 4.
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
func ExitCode(err error) int { return eval.CodeOf(err) }

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
	gate.MeasureJudges(dir, after)
	if before.Run.ID == after.Run.ID {
		side := compare.Compared{Run: before.Run.ID, StartedAt: before.Run.StartedAt}
		return &Comparison{
			Base:    side,
			Head:    side,
			Verdict: eval.Invalid,
			Why:     "it is the same run on both sides; compare two of its arms, or two runs",
			Arms:    []compare.ArmComparison{},
		}, nil
	}
	return gate.Compare(before, after, gate.Comparing{
		Base: base, Head: head, Suite: o.Suite, Rules: func(string) *eval.BaselineRule { return rule },
	})
}
