package flow

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Shared is a ledger whose limits several processes keep together.
type Shared interface {
	// Grant waits until a call may be sent. The error is an *eval.Error: of kind budget if it never may,
	// and of kind canceled if the run ends first.
	Grant(ctx context.Context, call Claim) (Granted, error)
	// LimitsTokens reports whether it matters how many tokens a call costs.
	LimitsTokens() bool
}

// Claim is a call to be granted, at what it may cost.
type Claim struct {
	Service string // by its name, "" for the unnamed one
	Model   string
	Calls   int // 1, or 0 for a request for metadata
	Tokens  int
	Money   float64
}

// Granted is a call that may be sent.
type Granted interface {
	// Settle reports the cost of the call, and how long the service wants no further calls.
	Settle(tokens int, money float64, retryAfter time.Duration)
	// Return says that the call was not sent.
	Return()
}

// granted has a call granted by the shared ledger.
func (l *Limiter) granted(ctx context.Context, to peer, calls int, cost amount) (Granted, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // waiting ends with the run
		select {
		case <-l.cfg.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	if l.cfg.Waits != nil {
		defer l.cfg.Waits.begin("the ledger", 0)()
	}
	return l.cfg.Shared.Grant(ctx, Claim{to.service, to.model, calls, cost.tokens, cost.money})
}

// undo removes a call that was not sent.
func (l *Limiter) undo(held *meteredCall) {
	l.settle(held, amount{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls--
}

// fail settles a call that failed, and holds up all processes for as long as the service wants.
func (l *Limiter) fail(held *meteredCall, err *eval.Error) {
	held.pause = err.RetryAfter
	l.settle(held, costOf(err, held.reserved))
}

// Model requests metadata, which counts for the rates of the shared ledger, and for no budget.
func (s limited) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	if s.limiter.cfg.Shared == nil {
		return s.Service.Model(ctx, apiVersion, id)
	}
	held, err := s.limiter.granted(ctx, peer{s.name, id}, 0, amount{})
	if err != nil {
		return nil, err
	}
	m, err := s.Service.Model(ctx, apiVersion, id)
	var pause time.Duration
	if e := eval.AsError(err); e != nil {
		pause = e.RetryAfter
	}
	held.Settle(0, 0, pause)
	return m, err
}
