package flow

import (
	"context"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// successesPerStep is how many answers let one more call run at once again.
const successesPerStep = 10

// Adapt keeps the number of calls in progress within what the service bears, a model at a time. It halves the bound
// when the service reports too many calls (429, 503), and adds one after ten answers, up to most.
// It is the additive increase, multiplicative decrease of TCP (Chiu and Jain, 1989).
func Adapt(next Service, most int, waits *Waits) Service {
	a := &adaptive{most: most, waits: waits, gates: map[string]*gate{}}
	return each{next, a.do}
}

type adaptive struct {
	most  int
	waits *Waits
	mu    sync.Mutex       // guards the gates
	gates map[string]*gate // by model
}

type gate struct {
	limit     int
	running   int
	successes int
	halved    time.Time // calls that began before then do not halve again
	paused    time.Time // the end of the pause that the service requested
	waiters   int
	changed   chan struct{} // closed and replaced when there may be room
}

func (a *adaptive) do(ctx context.Context, at *attempt) error {
	if at.method != generate && at.method != embed {
		return at.send(ctx)
	}
	g, err := a.enter(ctx, at)
	if err != nil {
		return err
	}
	began := time.Now()
	err = at.send(ctx)
	a.leave(g, eval.AsError(err), began)
	return err
}

func (a *adaptive) enter(ctx context.Context, at *attempt) (*gate, error) {
	defer queued(at.timing, time.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.gates[at.model]
	if g == nil {
		g = &gate{limit: a.most, changed: make(chan struct{})}
		a.gates[at.model] = g
	}
	for {
		left, what := time.Until(g.paused), "an overloaded service"
		switch {
		case left > 0:
			what = "the pause that the service requested"
		case g.running < g.limit:
			g.running++
			return g, nil
		}
		g.waiters++
		changed := g.changed
		a.mu.Unlock()
		waited := a.waits.wait(ctx, what, left, changed)
		a.mu.Lock()
		g.waiters--
		if !waited {
			return nil, errStopped()
		}
	}
}

// leave gives the place of a call free and takes note of how it went.
func (a *adaptive) leave(g *gate, e *eval.Error, began time.Time) {
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
