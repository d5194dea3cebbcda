package flow

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// The circuit opens after this many attempts in a row without any answer; while it is open nothing is sent. Then one
// attempt probes. The third time that it opens, the service is taken to be gone.
const (
	breakerLimit = 20
	breakerPause = 30 * time.Second
	breakerOpens = 3
)

// BreakerConfig says who learns of the waiting and who ends it.
type BreakerConfig struct {
	// Peer is who is called, as people know it. Optional, default: the service
	Peer string
	// Stop ends waiting and forbids further calls once it is closed. Optional.
	Stop <-chan struct{}
	// Waits shows who waits. Required.
	Waits *Waits
	// Notice is called when the circuit opens. Required.
	Notice func(text string)
}

// Breaker is a circuit breaker over all attempts of a run to one service, a model at a time (Nygard, Release It!, 2nd
// edition, section 5.2). It keeps workers from calling an unreachable model again and again, and holds up no other
// model.
type Breaker struct {
	cfg      BreakerConfig
	mu       sync.Mutex
	circuits map[string]*circuit // by model
}

// circuit is the breaker of one model.
type circuit struct {
	*BreakerConfig

	mu      sync.Mutex
	fails   int       // attempts in a row without an answer
	opens   int       // times that it opened without an answer in between
	until   time.Time // open until then; zero: closed
	probing bool
	changed chan struct{} // closed and replaced when it closes, opens, or a probe ends
}

// NewBreaker makes a Breaker whose circuits are closed.
func NewBreaker(cfg BreakerConfig) *Breaker {
	cfg.Peer = cmp.Or(cfg.Peer, "the service")
	return &Breaker{cfg: cfg, circuits: map[string]*circuit{}}
}

func (b *Breaker) of(model string) *circuit {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuits[model]
	if c == nil {
		c = &circuit{BreakerConfig: &b.cfg, changed: make(chan struct{})}
		b.circuits[model] = c
	}
	return c
}

// Protect guards every attempt of next with the breaker.
func (b *Breaker) Protect(next Service) Service { return protected{next, b} }

type protected struct {
	Service
	breaker *Breaker
}

func (p protected) Generate(ctx context.Context, call *eval.Call) (out *eval.Response, err error) {
	err = p.breaker.of(call.Model).do(ctx, &call.Timing, func() error {
		out, err = p.Service.Generate(ctx, call)
		return err
	})
	return out, err
}

func (p protected) CountTokens(ctx context.Context, call *eval.Call) (out int, err error) {
	err = p.breaker.of(call.Model).do(ctx, &call.Timing, func() error {
		out, err = p.Service.CountTokens(ctx, call)
		return err
	})
	return out, err
}

func (p protected) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	err = p.breaker.of(call.Model).do(ctx, &call.Timing, func() error {
		out, err = p.Service.Embed(ctx, call)
		return err
	})
	return out, err
}

func (b *circuit) do(ctx context.Context, timing *eval.Timing, attempt func() error) error {
	probe, err := b.enter(ctx, timing)
	if err != nil {
		return err
	}
	err = attempt()
	b.leave(eval.AsError(err), probe)
	return err
}

// enter waits while the circuit is open. It is true for the one attempt that probes.
func (b *circuit) enter(ctx context.Context, timing *eval.Timing) (probe bool, err error) {
	started := time.Now()
	defer func() { timing.QueuedMs += eval.Milliseconds(time.Since(started)) }()
	for {
		b.mu.Lock()
		now := time.Now()
		switch {
		case b.opens >= breakerOpens:
			b.mu.Unlock()
			return false, b.gone()
		case b.until.IsZero():
			b.mu.Unlock()
			return false, nil
		case !b.probing && !now.Before(b.until):
			b.probing = true
			b.mu.Unlock()
			return true, nil
		}
		wait, changed := b.until.Sub(now), b.changed
		b.mu.Unlock()
		end := b.Waits.begin(b.Peer+" to answer again", wait)
		waited := pause(ctx, b.Stop, wait, changed) // without a time while a probe is under way
		if end(); !waited {
			return false, errStopped()
		}
	}
}

func (b *circuit) gone() error {
	return &eval.Error{
		Kind:   eval.KindTransport,
		Retry:  eval.RetryNever,
		Unsent: true,
		Origin: eval.FromBreaker,
		Message: fmt.Sprintf("%s gave no answer for %d attempts, and none after waiting %s twice", b.Peer, breakerLimit,
			breakerPause),
	}
}

// leave takes note of how an attempt went.
func (b *circuit) leave(e *eval.Error, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch {
	case saysNothing(e):
		if probe {
			b.change()
		}
	case e == nil || !unanswered(e):
		b.answered()
	default:
		b.missed(e, probe)
	}
}

// saysNothing reports whether the end of an attempt says nothing of the service.
func saysNothing(e *eval.Error) bool {
	return e != nil && (e.Kind == eval.KindCanceled || e.Kind == eval.KindBudget || e.Origin == eval.FromLogin ||
		e.Unsent && e.Retry == eval.RetryNever)
}

// answered closes the circuit.
func (b *circuit) answered() {
	b.fails, b.opens = 0, 0
	if !b.until.IsZero() {
		b.until = time.Time{}
		b.change()
	}
}

// missed counts an attempt without an answer, and opens the circuit when there were too many, or when it was the probe.
func (b *circuit) missed(e *eval.Error, probe bool) {
	b.fails++
	if !probe && (!b.until.IsZero() || b.fails < breakerLimit) {
		return
	}
	b.opens++
	b.until = time.Now().Add(breakerPause)
	b.change()
	if b.opens < breakerOpens {
		b.Notice(fmt.Sprintf("%d attempts in a row got no answer (%s); nothing is sent for %s", b.fails, e, breakerPause))
	}
}

// unanswered reports whether nothing at all came back.
func unanswered(e *eval.Error) bool {
	return e.Kind == eval.KindTransport || e.Kind == eval.KindTimeout
}

func (b *circuit) change() {
	close(b.changed)
	b.changed = make(chan struct{})
}
