package runner

import (
	"cmp"
	"context"
	"iter"
	"runtime"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Run sends every trial of the plan and yields the results as they come, each with why the run may have to stop. The caller
// stops it, by Config.Stop. Each model has Services.Concurrency workers, so
// that a model that has to wait holds up no other. A worker continues once its result is taken, or once its answer is kept to
// wait for judges or embeddings; at most maxWaiting answers wait for each of them. Canceling ctx, or leaving the loop,
// abandons calls in progress. No goroutine outlives the loop.
func Run(ctx context.Context, plan *Plan, cfg Config) iter.Seq2[eval.Result, Halt] {
	return func(yield func(eval.Result, Halt) bool) {
		ctx, cancel := context.WithCancel(ctx)
		cpus := runtime.GOMAXPROCS(0)
		r := &run{
			Config:   cfg,
			plan:     plan,
			counts:   newMemo[int](maxCounts),
			results:  make(chan delivery, cfg.Services.Concurrency),
			scoring:  make(chan struct{}, cpus),
			programs: make(chan struct{}, programsPerCPU*cpus),
			vectors:  newVectors(cfg.Services.Embedder),
			replies:  newReplies(cfg.EarlierRuns.Replies),
			pools:    map[ModelRef]chan struct{}{},
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
			more := yield(d.result, d.halt)
			d.release()
			if !more {
				return
			}
		}
	}
}

type run struct {
	Config
	plan    *Plan
	counts  *memo[int]
	results chan delivery // to the consumer

	// scoring holds a token for each answer that is being scored. More at once would only delay reading answers.
	scoring chan struct{}
	// programs holds a token for each answer that a program scores.
	programs chan struct{}

	vectors   *vectors
	comparing sync.WaitGroup // answers that wait for judges or vectors

	replies *memo[judgeReply]
	pooling sync.Mutex
	// pools hold a token for each answer that waits for a judge or for vectors, by the model of the judge or the vectors.
	pools map[ModelRef]chan struct{}
}

// assignment is a trial to send, or only to score when there is an earlier answer.
type assignment struct {
	trial   *Planned
	earlier *eval.Result        // has the earlier answer; nil when there is none
	turns   []eval.AnsweredCall // of a live chat, answered earlier
}

// delivery is a result for the consumer, who sends to taken, which never blocks, when it is dealt with.
type delivery struct {
	result eval.Result
	halt   Halt
	taken  chan struct{}
}

func (d *delivery) release() {
	if d.taken != nil {
		d.taken <- struct{}{}
	}
}

// start launches the feeder and the workers. The returned channel is closed when all of them have ended; results is
// closed just before.
func (r *run) start(ctx context.Context) <-chan struct{} {
	var working sync.WaitGroup
	schedule := r.Schedule
	if schedule == nil {
		schedule = r.plan.Trials()
	}
	f := newFeeder(r.plan, schedule, r.admit, r.Services.workersOf)
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

// admit makes the assignment of a trial. ok is false when nothing is left to do for it.
func (r *run) admit(t *Planned) (next assignment, ok bool) {
	next.trial = t
	if r.EarlierRuns.Trial == nil {
		return next, true
	}
	switch known := r.EarlierRuns.Trial(t).(type) {
	case SettledTrial:
		return next, false
	case FinalResult:
		known.Result.Trial = t.Trial
		r.send(*known.Result)
		return next, false
	case AnsweredTrial:
		next.earlier = known.Result
	case BegunTrial:
		next.turns = known.Calls
	}
	return next, true
}

// work runs a trial and waits until the consumer has taken the result, which may end the run: a refused key, say.
func (r *run) work(ctx context.Context, next assignment, taken chan struct{}) {
	a := &scoring{
		trial: next.trial,
		result: eval.Result{
			Trial:  next.trial.Trial,
			Vars:   next.trial.shownVars(),
			Scores: []eval.Score{},
			Calls:  next.turns,
		},
	}
	if scored := a.guarded(func() bool { return r.score(ctx, a, next.earlier) }); scored {
		r.deliver(a, taken)
		a.leave()
		return
	}
	if next.earlier == nil {
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
		r.deliver(a, make(chan struct{}, 1))
		if pool != nil {
			<-pool
		}
	})
}

func (r *run) keepAnswer(a *scoring) {
	result := &a.result
	if r.Keeper == nil || a.noted || result.Response == nil {
		return
	}
	if result.Timing.Attempts == 0 { // recorded and cached answers are somewhere else already
		return
	}
	a.noted = true
	r.Keeper.KeepAnswer(result)
}

// score gets an answer and scores it. It returns false when embeddings or judges are needed first.
func (r *run) score(ctx context.Context, a *scoring, earlier *eval.Result) bool {
	if earlier != nil {
		known, err := r.readAgain(a.trial, earlier)
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
	given := a.answer.Context
	given.Prices = r.ScorerData.Prices
	given.PeopleLabels = r.ScorerData.PeopleLabels[a.trial.Suite]
	given.Keys = r.Environment.Keys
	given.Abandoned = ctx.Done()
	given.Workspace = r.folder(a.trial, earlier)
	slots := r.slots(a)
	slots <- struct{}{}
	defer func() { <-slots }()
	return a.score()
}

// guarded turns a panic into an error of the trial, so that the others continue.
func (a *scoring) guarded(score func() bool) (scored bool) {
	defer func() {
		if p := recover(); p != nil {
			a.failed(eval.Errorf(eval.KindScorer, "this is a bug in evalrun, not in what you did: %v", p))
			scored = true
		}
	}()
	return score()
}

// deliver sends the result of an answer and waits until it is taken. The wait ends: the consumer reads until all workers have ended,
// and Run discards the remaining results when the consumer leaves early.
func (r *run) deliver(a *scoring, taken chan struct{}) {
	r.results <- delivery{a.result, a.halt, taken}
	<-taken
}

// send delivers a result without waiting for the consumer.
func (r *run) send(result eval.Result) { r.results <- delivery{result: result} }

func skipped(t *Planned, why eval.Ending) eval.Result {
	return eval.Result{Trial: t.Trial, Ending: why, Scores: []eval.Score{}}
}

// ask makes the call of a trial. It returns false when there is no answer; the result says why then.
func (r *run) ask(ctx context.Context, a *scoring) bool {
	if r.Admission != nil {
		r.Admission.Hold(a.trial, r.Stop.Done(), ctx.Done())
	}
	if r.unsent(ctx, a) {
		return false
	}
	if r.Admission != nil {
		ctx, a.room = r.Admission.Enter(ctx, r.Stop.Done())
		if r.unsent(ctx, a) {
			return false
		}
	}
	err := eval.AsError(r.call(ctx, a))
	switch {
	case err == nil:
		return true
	case err.Kind == eval.KindBudget:
		a.result = skipped(a.trial, eval.Skipped{Reason: err.Message})
		a.halt = SpentBudget{err.Message}
	case err.Kind == eval.KindWaiting:
		a.halt = Waits{}
	case err.Kind == eval.KindCanceled && a.result.Timing.Attempts == 0:
		a.result = skipped(a.trial, eval.Skipped{Reason: cmp.Or(r.Stop.Reason(), "interrupted")})
	case err.Kind == eval.KindCanceled: // it was sent, and may have cost something
		a.failed(eval.Errorf(eval.KindTransport, "abandoned when the run was stopped"))
	default:
		a.failed(err)
	}
	return false
}

// unsent reports whether a trial need not run any more, and makes its result a skip then.
func (r *run) unsent(ctx context.Context, a *scoring) bool {
	var why eval.Ending
	if reason := r.Stop.Reason(); reason != "" {
		why = eval.Skipped{Reason: reason}
	} else if r.Admission != nil && r.Admission.Waits(a.trial) {
		a.halt = Waits{}
		return true
	} else if r.Admission != nil {
		why = r.Admission.Skip(a.trial)
	}
	if why == nil && ctx.Err() != nil {
		why = eval.Skipped{Reason: "interrupted"}
	}
	if why == nil {
		return false
	}
	a.result = skipped(a.trial, why)
	return true
}

// call calls the model. The error is an *eval.Error.
func (r *run) call(ctx context.Context, a *scoring) error {
	t := a.trial
	a.result.Request, a.result.Timing = &t.Request, &eval.Timing{}
	if t.Problem != nil {
		return eval.Errorf(eval.KindScorer, "the trial cannot run any more: %s", t.Problem)
	}
	for _, text := range t.References() { // before paying for an answer that could not be judged
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

// answer gets the answer of a trial that takes a single call.
func (r *run) answer(ctx context.Context, a *scoring) error {
	call := r.newCall(a.trial)
	resp, err := r.generate(ctx, a.trial, call, a.result.Timing)
	a.trace(call.TrialName, a.result.Timing)
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

// writing calls Keeper.Writing, if there is a Keeper.
func (r *run) writing(ctx context.Context) (context.Context, func()) {
	if r.Keeper == nil {
		return ctx, func() {}
	}
	return r.Keeper.Writing(ctx)
}
