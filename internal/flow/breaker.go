package flow

import (
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

// Protect guards every attempt of next with a circuit breaker, a model at a time (Nygard, Release It!, 2nd edition,
// section 5.2). It keeps workers from calling an unreachable model again and again, and holds up no other model. peer is
// the service as people know it; notice is called when the circuit opens.
func Protect(next Service, peer string, waits *Waits, notice func(text string)) Service {
	b := &breaker{peer: peer, waits: waits, notice: notice, circuits: map[string]*circuit{}}
	return each{next, b.do}
}

type breaker struct {
	peer     string
	waits    *Waits
	notice   func(text string)
	mu       sync.Mutex          // guards the circuits
	circuits map[string]*circuit // by model
}

type circuit struct {
	fails   int       // attempts in a row without an answer
	opens   int       // times that it opened without an answer in between
	until   time.Time // open until then; zero: closed
	probing bool
	changed chan struct{} // closed and replaced when it closes, opens, or a probe ends
}

func (b *breaker) do(ctx context.Context, a *attempt) error {
	if a.method == describe {
		return a.send(ctx)
	}
	c, probe, err := b.enter(ctx, a)
	if err != nil {
		return err
	}
	err = a.send(ctx)
	b.leave(c, eval.AsError(err), probe)
	return err
}

// enter waits while the circuit is open. It is true for the one attempt that probes.
func (b *breaker) enter(ctx context.Context, a *attempt) (c *circuit, probe bool, err error) {
	defer queued(a.timing, time.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	if c = b.circuits[a.model]; c == nil {
		c = &circuit{changed: make(chan struct{})}
		b.circuits[a.model] = c
	}
	for {
		now := time.Now()
		switch {
		case c.opens >= breakerOpens:
			return nil, false, b.gone()
		case c.until.IsZero():
			return c, false, nil
		case !c.probing && !now.Before(c.until):
			c.probing = true
			return c, true, nil
		}
		wait, changed := c.until.Sub(now), c.changed
		b.mu.Unlock()
		waited := b.waits.wait(ctx, b.peer+" to answer again", wait, changed) // without a time while a probe is under way
		b.mu.Lock()
		if !waited {
			return nil, false, errStopped()
		}
	}
}

func (b *breaker) gone() error {
	return &eval.Error{
		Kind:   eval.KindTransport,
		Retry:  eval.RetryNever,
		Unsent: true,
		Origin: eval.FromBreaker,
		Message: fmt.Sprintf("%s gave no answer for %d attempts, and none after waiting %s twice", b.peer, breakerLimit,
			breakerPause),
	}
}

func (b *breaker) leave(c *circuit, e *eval.Error, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		c.probing = false
	}
	switch {
	case isSilent(e):
		if probe {
			c.change()
		}
	case e == nil || e.Kind != eval.KindTransport && e.Kind != eval.KindTimeout:
		c.answered()
	case c.missed(probe) && c.opens < breakerOpens:
		b.notice(fmt.Sprintf("%d attempts in a row got no answer (%s); nothing is sent for %s", c.fails, e, breakerPause))
	}
}

// isSilent reports whether the end of an attempt does not depend on the service.
func isSilent(e *eval.Error) bool {
	return e != nil && (e.Kind == eval.KindCanceled || e.Kind == eval.KindBudget || e.Origin == eval.FromLogin ||
		e.Unsent && e.Retry == eval.RetryNever)
}

func (c *circuit) answered() {
	c.fails, c.opens = 0, 0
	if !c.until.IsZero() {
		c.until = time.Time{}
		c.change()
	}
}

// missed counts an attempt without an answer. It opens the circuit when there were too many, or when it was the probe,
// and reports whether it did.
func (c *circuit) missed(probe bool) (opened bool) {
	c.fails++
	if !probe && (!c.until.IsZero() || c.fails < breakerLimit) {
		return false
	}
	c.opens++
	c.until = time.Now().Add(breakerPause)
	c.change()
	return true
}

func (c *circuit) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}
