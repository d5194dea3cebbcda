package flow

import (
	"context"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// successesPerStep is how many answers let one more call run at once again.
const successesPerStep = 10

// Adaptive keeps the number of calls in progress within what the service bears, a model at a time. It halves the bound
// when the service reports too many calls (429, 503), and adds one after ten answers, up to the declared concurrency.
// It is the additive increase, multiplicative decrease of TCP (Chiu and Jain, 1989).
type Adaptive struct {
	most  int
	stop  <-chan struct{}
	waits *Waits

	mu    sync.Mutex
	gates map[string]*gate // by model
}

// gate is the bound of one model.
type gate struct {
	limit     int
	running   int
	successes int
	halved    time.Time // calls that began before then do not halve again
	paused    time.Time // the end of the pause that the service requested
	waiters   int
	changed   chan struct{} // closed and replaced when there may be room
}

// NewAdaptive makes a bound of at most `most` calls for each model.
func NewAdaptive(most int, stop <-chan struct{}, waits *Waits) *Adaptive {
	return &Adaptive{most: most, stop: stop, waits: waits, gates: map[string]*gate{}}
}

// Bound puts every attempt of next under the bound.
func (a *Adaptive) Bound(next Service) Service { return adapted{next, a} }

type adapted struct {
	Service
	bound *Adaptive
}

func (s adapted) Generate(ctx context.Context, call *eval.Call) (out *eval.Response, err error) {
	err = s.bound.do(ctx, call.Model, &call.Timing, func() error {
		out, err = s.Service.Generate(ctx, call)
		return err
	})
	return out, err
}

func (s adapted) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	err = s.bound.do(ctx, call.Model, &call.Timing, func() error {
		out, err = s.Service.Embed(ctx, call)
		return err
	})
	return out, err
}

func (a *Adaptive) do(ctx context.Context, model string, timing *eval.Timing, attempt func() error) error {
	g, err := a.enter(ctx, model, timing)
	if err != nil {
		return err
	}
	began := time.Now()
	err = attempt()
	a.leave(g, eval.AsError(err), began)
	return err
}

func (a *Adaptive) enter(ctx context.Context, model string, timing *eval.Timing) (*gate, error) {
	for {
		a.mu.Lock()
		g := a.gates[model]
		if g == nil {
			g = &gate{limit: a.most, changed: make(chan struct{})}
			a.gates[model] = g
		}
		left := time.Until(g.paused)
		if g.running < g.limit && left <= 0 {
			g.running++
			a.mu.Unlock()
			return g, nil
		}
		g.waiters++
		changed := g.changed
		a.mu.Unlock()
		ok := a.wait(ctx, timing, left, changed)
		a.mu.Lock()
		g.waiters--
		a.mu.Unlock()
		if !ok {
			return nil, errStopped()
		}
	}
}

// wait waits until there may be room, or until a pause is over.
func (a *Adaptive) wait(ctx context.Context, timing *eval.Timing, d time.Duration, changed <-chan struct{}) bool {
	started := time.Now()
	defer func() { timing.QueuedMs += eval.Milliseconds(time.Since(started)) }()
	what := "an overloaded service"
	if d > 0 {
		what = "the pause that the service requested"
	}
	defer a.waits.begin(what, d)()
	return pause(ctx, a.stop, d, changed)
}

// leave gives the place of a call free and takes note of how it went.
func (a *Adaptive) leave(g *gate, e *eval.Error, began time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g.running--
	switch {
	case e == nil:
		if g.successes++; g.successes >= successesPerStep && g.limit < a.most {
			g.successes = 0
			g.limit++
		}
	case e.Status == 429 || e.Status == 503:
		g.overloaded(e, began)
	}
	if g.waiters > 0 {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

// overloaded halves the bound, once for all calls that began before, and pauses for as long as the service requested.
// Otherwise every worker would use up its attempts on what one answer has said already.
func (g *gate) overloaded(e *eval.Error, began time.Time) {
	now := time.Now()
	if began.After(g.halved) {
		g.limit = max(1, g.limit/2)
		g.successes = 0
		g.halved = now
	}
	if until := now.Add(e.RetryAfter); e.RetryAfter > 0 && e.Retry != eval.RetryNever && until.After(g.paused) {
		g.paused = until
	}
}
