package evalrun

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/gate"
	"github.com/evalrun/evalrun/internal/overview"
	"github.com/evalrun/evalrun/internal/rundir"
	"github.com/evalrun/evalrun/internal/session"
	"github.com/evalrun/evalrun/journal"
	"github.com/evalrun/evalrun/reports"
	"github.com/evalrun/evalrun/runner"
)

// ErrNothing is wrapped by the error of a job whose options select no trial. Selection.AllowEmpty allows such a job.
var ErrNothing = errors.New("no trial is selected")

// Run runs a job. After an error there is a Result if there is a run file. Result.Exit says whether the gate holds.
func Run(ctx context.Context, j *Job) (*Result, error) {
	if err := j.checkPlaces(); err != nil {
		return nil, err
	}
	result, next, err := j.run(ctx)
	if next != "" {
		return j.goOn(ctx, next)
	}
	return result, err
}

// run runs a job, as far as it gets in this session. next is the run directory if the run goes on in another one.
func (j *Job) run(ctx context.Context) (result *Result, next string, err error) {
	o := &j.options
	session, err := j.connect()
	if err != nil {
		return nil, "", err
	}
	defer session.Close()
	plan, err := o.plan(ctx, session)
	if err != nil {
		return nil, "", err
	}
	if plan.Size() == 0 && !o.AllowEmpty && (plan.Shard() == nil || plan.Shard().Trials == 0) {
		return nil, "", j.nothing()
	}
	dir, err := session.Run(ctx, plan, &watch{o, session}, o.Interrupt)
	switch {
	case dir == "":
		return nil, "", err
	case err == nil && session.Continues():
		return nil, dir, nil
	}
	result, err = j.end(session, dir, plan.Size(), err)
	return result, "", err
}

// goOn continues a run whose batches are answered, or are waited for.
func (j *Job) goOn(ctx context.Context, dir string) (*Result, error) {
	o := j.options
	o.Suites, o.ProjectFile = nil, "" // it has its own
	o.FailedIn, o.ChangedSince, o.ProgramsFrom = "", "", ""
	o.RetryErrors = false // what fails again would be sent by each round
	o.Progress = func(e Event) {
		if _, again := e.(RunResumed); !again {
			j.options.emit(e)
		}
	}
	return Resume(ctx, dir, o)
}

// Resume continues a run. It sends the missing trials and never repeats a judged one. Suites, service and settings come
// from the run, and options that contradict them are an error. Limits in the options win. The ledger, the executor, custom
// scorers and hooks are those of the options alone. For a complete run it sends nothing and applies the gate again.
func Resume(ctx context.Context, dir string, o Options) (*Result, error) {
	options := o.settings()
	options.RunPrograms, options.StopPrograms = true, ctx.Done() // a run with --no-content keeps nothing that they wrote
	outputs, err := reports.ParseOutputs(o.Reports, options.In().Join)
	if err != nil {
		return nil, err
	}
	in := options.In()
	if err := o.checkLinks(in, in.Path(dir)); err != nil {
		return nil, err
	}
	if err := o.checkNotify(in); err != nil {
		return nil, err
	}
	r, err := session.Reopen(dir, options)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := cmp.Or(r.CheckSources(), reports.SpareRun(outputs, &r.SoFar().Run, in.Join)); err != nil {
		return nil, err
	}
	o.emit(RunOpened{})
	j := &Job{options: o, outputs: outputs, resumed: true}
	if r.Finished() {
		doc := r.Document()
		gate.ApplyIn(in, doc)
		return j.report(in, doc)
	}
	if err := j.reload(r); err != nil {
		return nil, err
	}
	result, next, err := j.resume(ctx, r)
	if next != "" {
		return j.goOn(ctx, next)
	}
	return result, err
}

// checkPlaces checks the folders in which a run writes. Nothing is sent before that.
func (j *Job) checkPlaces() error {
	f := &j.job.Options
	written := []string{f.Out, f.Record, f.ReplayOr}
	for _, report := range f.Reports {
		_, path, _ := strings.Cut(report, "=")
		written = append(written, path)
	}
	if err := j.options.checkLinks(f.In(), written...); err != nil {
		return err
	}
	return f.In().Check(f.Out)
}

// Continues returns an error, bad input, if a run began with other suites or options. Limits and reports may differ.
func (j *Job) Continues(run *eval.Run) error { return j.job.Continues(run) }

// checkLinks refuses or reports the links on the way to what is written.
func (o *Options) checkLinks(in rundir.Dir, written ...string) error {
	notices, err := in.Links(written...)
	for _, text := range notices {
		o.emit(Notice{text})
	}
	return err
}

func (j *Job) reload(r *session.Resumption) error {
	l, err := r.Load()
	if err == nil {
		j.job, err = r.Settle(l)
	}
	return err
}

// resume sends the missing trials of a run, and closes r. next is as of run.
func (j *Job) resume(ctx context.Context, r *session.Resumption) (result *Result, next string, err error) {
	o := &j.options
	opened, err := j.connect()
	if err != nil {
		return nil, "", err
	}
	defer opened.Close()
	plan, err := o.plan(ctx, opened)
	if err != nil {
		return nil, "", err
	}
	todo, err := session.NewTodo(r, plan)
	if err != nil {
		return nil, "", err
	}
	o.emit(RunResumed{Todo{
		Send: todo.Send, Rescore: todo.Rescore, Settled: todo.Settled, Twice: todo.Twice, Restarted: todo.Restarted,
		Dropped: todo.Dropped,
	}})
	err = opened.Resume(ctx, todo, &watch{o, opened}, o.Interrupt)
	dir := r.Dir
	r.Close()
	if err == nil && opened.Continues() {
		return nil, dir, nil
	}
	result, err = j.end(opened, dir, plan.Size(), err)
	return result, "", err
}

func (j *Job) connect() (*session.Session, error) {
	o := &j.options
	session, err := session.Connect(j.job, o.Version, func(text string) { o.emit(Notice{text}) })
	if err == nil {
		session.ReportRetries(func(text string) { o.emit(RetryPlanned{text}) }, o.Layout.Verbose)
	}
	return session, err
}

// plan makes the plan, for which it requests the metadata of models. An interrupt during that ends the run before it
// begins.
func (o *Options) plan(ctx context.Context, session *session.Session) (*runner.Plan, error) {
	ctx, end := eval.Until(ctx, o.Interrupt)
	plan, err := session.Plan(ctx)
	if code := end(); code != eval.CodeOK {
		return nil, eval.WithCode(code, errors.New("interrupted before the first call"))
	}
	return plan, err
}

type watch struct {
	options *Options
	session *session.Session
}

// Start emits Started.
func (w *watch) Start(trials int) {
	w.options.emit(Started{trials, w.session.Waiting})
}

// Done emits TrialDone.
func (w *watch) Done(r *eval.Result, spent eval.Spent) {
	w.options.emit(TrialDone{r, spent})
}

// Finish emits Finished.
func (w *watch) Finish() { w.options.emit(Finished{}) }

// mostKept is the most trials of a run whose facts are kept in memory at its end, for the gate, the nights and the history, which else
// read the run file once more each.
const mostKept = 100_000

// end records answers, and reports a run of some trials that has just ended. broken is the error that broke it off, if any.
func (j *Job) end(session *session.Session, dir string, trials int, broken error) (*Result, error) {
	o := &j.options
	o.emit(RunWritten{})
	if broken == nil {
		broken = session.Record(dir)
	}
	in := j.job.Options.In()
	o.emit(RunEnded{})
	var how []journal.Reading
	if trials <= mostKept {
		how = append(how, journal.KeepFacts)
	}
	doc, err := rundir.At("").Open(dir, how...)
	o.emit(RunRead{})
	if err != nil { // not bad input: something was sent
		return nil, errors.Join(broken, eval.Incomplete("%w", err))
	}
	gate.JudgeDrift(in, doc)
	if err := doc.KeepDrift(); err != nil {
		o.emit(Problem{err})
	}
	gate.ApplyIn(in, doc)
	before := o.verdictBefore(in, &doc.Run)
	result, err := j.report(in, doc) // if the run broke off, what it has is reported all the same
	if problem := o.notify(in, doc, before, session.KeyVariables()); problem != nil {
		o.emit(Problem{problem})
	}
	if broken != nil {
		result.Exit = eval.WorstCode(result.Exit, eval.CodeOf(broken))
		if eval.CodeOf(broken) == eval.CodeBadInput { // nothing was sent
			result.Exit = eval.CodeBadInput
		}
	}
	return result, errors.Join(broken, err)
}

// report writes the reports of a run and adds it to the history. It closes the document.
func (j *Job) report(in rundir.Dir, doc *journal.Document) (*Result, error) {
	defer doc.Close() //nolint:errcheck // it was only read
	o := &j.options
	stdout := o.Stdout
	if stdout == nil {
		stdout = io.Discard
	}
	result := &Result{
		Dir:      rundir.At("").Abs(doc.Dir),
		Name:     doc.Dir,
		Exit:     doc.Gate().Exit,
		Headline: overview.HeadlineOf(doc).String(),
		Counts:   doc.Summary.Counts,
		End:      doc.End,
		part:     o.Selected != nil,
		in:       in,
	}
	if !doc.End.Completed() {
		options := o.settings()
		result.Resume = options.ResumeCommand(&doc.Run, doc.Dir, j.resumed)
	}
	o.emit(ReportsDue{result})
	layout := o.Layout
	layout.Latest, layout.Folder = in.IsLatest(doc.Dir), in.Abs("")
	written, err := reports.WriteOutputs(doc, j.outputs, stdout, layout)
	result.Reports = written
	if !o.NoHistory {
		if problem := in.Remember(doc); problem != nil { // nothing depends on it
			o.emit(Problem{problem})
		}
	}
	if err != nil {
		result.Exit = eval.WorstCode(result.Exit, eval.CodeIncomplete)
		err = eval.WithCode(result.Exit, err)
	}
	return result, err
}
