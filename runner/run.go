package runner

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/labels"
	"github.com/evalrun/evalrun/pricing"
)

// Config says how a plan is carried out.
type Config struct {
	Generator   Generator
	Counter     TokenCounter
	Embedder    Embedder
	Concurrency int // trials of one model under way at once; at least 1
	// Services are how many trials of one model of a named service are under way at once, where that is not Concurrency.
	Services    map[string]int
	CountTokens string // suite.CountAlways, CountAuto or CountNever
	// TokensMatter says that a limit or a budget of tokens is set, so that prompts are
	// counted rather than estimated.
	TokensMatter bool
	Stop         *Stop
	Prices       *pricing.List // of scorers that judge costs; nil: nothing has a price
	// Labels are what people say of answers, by the names of suites whose scorers take that. Optional.
	Labels map[string]*labels.File
	// Schedule are the trials of the plan in the order in which they are sent. Optional: that of the plan.
	Schedule iter.Seq[*Planned]
	// Skip says why a trial need not run any more, "" when it must. Optional.
	Skip func(*Planned) string
	// Hold waits before a trial is sent, until one of the channels is closed at the latest. Optional.
	Hold func(t *Planned, stop, done <-chan struct{})
	// Enter waits until there is room for another trial, or until stop is closed. It gives the context of the trial's calls. leave is
	// called once its result is taken or its answer is written down. Optional.
	Enter func(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
	// Recorded says what is known of a trial from before. Optional.
	Recorded func(*Planned) Recorded
	// Replies are earlier replies of judges: their questions are not sent again. Optional.
	Replies iter.Seq[eval.Judgement]
	// RepeatUseless repeats questions to judges whose earlier replies do not count.
	RepeatUseless bool
	// Keeper writes down answers that wait to be scored, turns of unfinished chats, and replies of judges. Optional.
	Keeper Keeper
	// Folder finds the folder in which the program of a trial works, by the trial's session, "" for none. Optional.
	Folder func(session string) string
	// Writing lets the call that is made with the context count as under way until written is called, once its answer is written down.
	// Optional.
	Writing func(ctx context.Context) (calling context.Context, written func())
	// Keys are names of variables of the environment that hold keys, which programs do not get.
	Keys []string
	// Session makes the names of trials for applications: those of another process are others.
	Session string
	// Read reads an answer of an application that was not sent for now, since the suite may read it in another way today. The error is an
	// *eval.Error. Optional.
	Read func(to app.Target, resp *eval.Response) (*eval.Response, error)
}

// Recorded is what is known of a trial from before.
type Recorded struct {
	// Settled trials are neither sent nor yielded.
	Settled bool
	// Result, if any, holds an answer that only has to be judged. Its workspace is an absolute path.
	Result *eval.Result
	// Kept, if any, is what became of the trial, as it stays.
	Kept *eval.Result
	// Turns, if any, are those of a live chat that were answered before the run broke off.
	Turns []eval.Turn
}

// Stop keeps a run from beginning new trials. Trials that were not begun are skipped, with the reason; what is under
// way is finished.
type Stop struct {
	once   sync.Once
	closed chan struct{}
	reason string
}

// NewStop makes a signal that was not given yet.
func NewStop() *Stop { return &Stop{closed: make(chan struct{})} }

// Now gives the signal. Only the first reason counts.
func (s *Stop) Now(reason string) {
	s.once.Do(func() {
		s.reason = reason
		close(s.closed)
	})
}

// Done is closed once the signal was given.
func (s *Stop) Done() <-chan struct{} { return s.closed }

// Reason is why the signal was given, "" while it was not.
func (s *Stop) Reason() string {
	select {
	case <-s.closed:
		return s.reason
	default:
		return ""
	}
}

// Run sends every trial of the plan and yields the results as they come. Each model has Concurrency workers, so that
// one that has to wait holds up no other. A worker continues when its result was taken, or its answer was kept to wait
// for judges or embeddings; MaxWaiting answers may wait for each. Canceling ctx, or leaving the loop, abandons what is
// under way; no goroutine outlives the loop.
func Run(ctx context.Context, plan *Plan, cfg Config) iter.Seq[eval.Result] {
	return func(yield func(eval.Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r := &run{
			Config: cfg, plan: plan, counts: newCounts(), vectors: newVectors(cfg.Embedder), replies: newReplies(cfg.Replies),
			pools: map[ModelRef]chan struct{}{},
			scoring: make(
				chan struct{}, runtime.GOMAXPROCS(0),
			), programs: make(chan struct{}, programsPerCPU*runtime.GOMAXPROCS(0)), results: make(chan delivery, cfg.Concurrency),
		}
		finished := r.start(ctx)
		defer func() {
			cancel()
			for d := range r.results { // workers that still send must not block
				d.release()
			}
			<-finished
		}()
		for d := range r.results {
			more := yield(d.result)
			d.release()
			if !more {
				return
			}
		}
	}
}

type run struct {
	Config
	plan     *Plan
	counts   *counts
	results  chan delivery // from everybody to the consumer
	scoring  chan struct{} // holds a token for each answer that is being scored: more at once would only keep calls from being read
	programs chan struct{} // the same for answers that are scored by programs

	vectors   *vectors
	comparing sync.WaitGroup

	replies *replies // of judges
	pooling sync.Mutex
	// hold a token for each answer that waits for a judge, or for vectors, by their models
	pools map[ModelRef]chan struct{}
}

// job is a trial to ask, or to judge when its answer is known from before.
type job struct {
	trial *Planned
	known *eval.Result
	turns []eval.Turn // of a live chat that are known
}

// delivery is a result on its way to the consumer. taken, if any, gets a value once the consumer has decided about the
// result; it has room for that.
type delivery struct {
	result eval.Result
	taken  chan struct{}
}

func (d *delivery) release() {
	if d.taken != nil {
		d.taken <- struct{}{}
	}
}

// start launches the feeder and the workers. The channel it returns is closed when all have ended; results is closed
// just before.
func (r *run) start(ctx context.Context) <-chan struct{} {
	var working sync.WaitGroup
	schedule := r.Schedule
	if schedule == nil {
		schedule = r.plan.Trials()
	}
	f := newFeeder(r.plan, schedule, r.admit, r.workersOf)
	working.Go(func() { f.run(ctx) })
	for _, l := range f.lanes {
		for range l.workers {
			working.Go(func() {
				taken := make(chan struct{}, 1)
				for j, ok := f.take(l); ok; j, ok = f.take(l) {
					r.work(ctx, j, taken)
				}
			})
		}
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		working.Wait()
		r.vectors.hurry(ctx)
		r.comparing.Wait()
		r.vectors.calls.Wait()
		close(r.results)
	}()
	return finished
}

// admit makes a job of a trial; false when there is nothing to do for it, or no more.
func (r *run) admit(t *Planned) (j job, ok bool) {
	j.trial = t
	if r.Recorded == nil {
		return j, true
	}
	known := r.Recorded(t)
	if known.Kept != nil {
		known.Kept.Trial = t.Trial
		r.send(*known.Kept)
	}
	j.known, j.turns = known.Result, known.Turns
	return j, !known.Settled && known.Kept == nil
}

func (r *run) skip(t *Planned) string {
	if r.Skip == nil {
		return ""
	}
	return r.Skip(t)
}

// work brings a trial to its result, and waits until that is taken. The result may be an error that ends the run, such
// as a refused key.
func (r *run) work(ctx context.Context, j job, taken chan struct{}) {
	a := &scoring{trial: j.trial, result: eval.Result{Trial: j.trial.Trial, Vars: j.trial.shownVars(), Scores: []eval.Score{}, Turns: j.turns}}
	if scored := a.guarded(func() bool { return r.score(ctx, a, j.known) }); scored {
		r.deliver(a.result, taken)
		a.leave()
		return
	}
	if j.known == nil {
		r.keepAnswer(a)
	}
	a.leave() // judges need room too
	pool := r.waiting(a)
	select {
	case pool <- struct{}{}:
	case <-ctx.Done(): // no more calls are made: there is nothing to bound
		pool = nil
	}
	r.comparing.Go(func() {
		a.guarded(func() bool {
			a.result = r.compare(ctx, a)
			return true
		})
		r.deliver(a.result, make(chan struct{}, 1))
		if pool != nil {
			<-pool
		}
	})
}

// keepAnswer writes down an answer that waits to be scored.
func (r *run) keepAnswer(a *scoring) {
	one := &a.result
	if r.Keeper == nil || a.noted || one.Response == nil ||
		one.Timing.Attempts == 0 { // recorded and cached answers are somewhere else already
		return
	}
	a.noted = true
	r.Keeper.KeepAnswer(&eval.PaidAnswer{
		ID: one.ID, N: one.N, Model: one.Model, Request: one.Request, Response: one.Response, Turns: one.Turns, Usage: one.Usage,
		Timing: one.Timing, TraceID: one.TraceID,
	})
}

// score gets an answer and scores it. It is false when embeddings or judges are wanted first.
func (r *run) score(ctx context.Context, a *scoring, known *eval.Result) bool {
	if known != nil {
		known, err := r.reread(a.trial, known)
		if a.recorded(known); err != nil {
			a.failed(eval.AsError(err))
			return true
		}
		if err := empty(a.result.Response); err != nil {
			a.failed(eval.AsError(err))
			return true
		}
	} else if !r.ask(ctx, a) {
		return true
	}
	a.answer.Context.Prices, a.answer.Context.Abandoned = r.Prices, ctx.Done()
	a.answer.Context.Keys, a.answer.Context.Labels = r.Keys, r.Labels[a.trial.Suite]
	a.answer.Context.Workspace = r.folder(a.trial, known)
	slots := r.slots(a)
	slots <- struct{}{}
	defer func() { <-slots }()
	return a.score()
}

// guarded makes a panic an error of the trial: one trial with which evalrun cannot cope costs none of the others.
func (a *scoring) guarded(judge func() bool) (scored bool) {
	defer func() {
		if p := recover(); p != nil {
			a.failed(eval.Errorf(eval.KindScorer, "this is a bug in evalrun, not in what you did: %v", p))
			scored = true
		}
	}()
	return judge()
}

// deliver sends a result and waits until it is taken. That does not last for ever: the consumer reads until all have
// ended, and when it leaves early, the remaining results are thrown away.
func (r *run) deliver(result eval.Result, taken chan struct{}) {
	r.results <- delivery{result, taken}
	<-taken
}

// send delivers a result without waiting for the consumer.
func (r *run) send(result eval.Result) { r.results <- delivery{result: result} }

func skipped(t *Planned, reason string) eval.Result {
	return eval.Result{Trial: t.Trial, Outcome: eval.Skip, SkipReason: reason, Scores: []eval.Score{}}
}

// ask makes the call of a trial. Without an answer the result is settled, and ask is false.
func (r *run) ask(ctx context.Context, a *scoring) bool {
	if r.Hold != nil {
		r.Hold(a.trial, r.Stop.Done(), ctx.Done())
	}
	if r.unsent(ctx, a) {
		return false
	}
	if r.Enter != nil {
		ctx, a.room = r.Enter(ctx, r.Stop.Done())
		if r.unsent(ctx, a) {
			return false
		}
	}
	err := eval.AsError(r.call(ctx, a))
	switch {
	case err == nil:
		return true
	case err.Kind == eval.KindBudget:
		a.result = skipped(a.trial, err.Message)
		a.result.OverBudget = err.Message
	case err.Kind == eval.KindCanceled && a.result.Timing.Attempts == 0:
		a.result = skipped(a.trial, cmp.Or(r.Stop.Reason(), "interrupted"))
	case err.Kind == eval.KindCanceled: // it was sent, and may have cost something
		a.failed(eval.Errorf(eval.KindTransport, "abandoned when the run was stopped"))
	default:
		a.failed(err)
	}
	return false
}

// unsent skips a trial that makes no sense any more.
func (r *run) unsent(ctx context.Context, a *scoring) bool {
	reason := cmp.Or(r.Stop.Reason(), r.skip(a.trial))
	if reason == "" && ctx.Err() == nil {
		return false
	}
	a.result = skipped(a.trial, cmp.Or(reason, "interrupted"))
	return true
}

// call calls the model. The error is an *eval.Error.
func (r *run) call(ctx context.Context, a *scoring) error {
	t := a.trial
	a.result.Request, a.result.Timing = &t.Request, &eval.Timing{}
	if t.Problem != nil {
		return eval.Errorf(eval.KindScorer, "the trial cannot run any more: %s", t.Problem)
	}
	for _, text := range t.References() { // an answer that could not be judged is money lost
		if err := t.Embedding.check(text); err != nil {
			return err
		}
	}
	if t.Request.Live || t.tools != nil {
		return r.converse(ctx, a)
	}
	if !a.needsReplies() {
		return r.answer(ctx, a)
	}
	ctx, written := r.writing(ctx)
	defer written()
	err := r.answer(ctx, a)
	if err == nil {
		r.keepAnswer(a)
	}
	return err
}

// answer gets the answer of a trial that is one request.
func (r *run) answer(ctx context.Context, a *scoring) error {
	call := r.newCall(a.trial)
	resp, err := r.generate(ctx, a.trial, call, a.result.Timing)
	a.trace(call.Session, a.result.Timing)
	if err != nil {
		return err
	}
	a.result.Response, a.result.Usage = resp, resp.Usage
	if err := empty(resp); err != nil {
		return err
	}
	a.answered()
	return nil
}

// writing lets a call count as under way until its answer is written down.
func (r *run) writing(ctx context.Context) (context.Context, func()) {
	if r.Writing == nil {
		return ctx, func() {}
	}
	return r.Writing(ctx)
}
