// Package flow holds what is between a trial and an attempt. That is recorded and cached answers, retries with
// back-off, the circuit breaker, adaptive concurrency, the limiter of rates and budgets, and the deadline of an
// attempt. Each is a decorator of a Service that knows nothing of the others. Package internal/session puts them
// together in this order, outermost first. So every attempt is limited and counted, and an answer that is there
// already costs none.
package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Service is what the decorators wrap: the client, or another decorator. Its errors are of type *eval.Error.
type Service interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
	Model(ctx context.Context, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, apiVersion string) ([]eval.Model, error)
}

// Deadline bounds each attempt, body included. With 0 the bound set by Allow applies, if any.
func Deadline(next Service, timeout time.Duration) Service { return deadline{next, timeout} }

type allowedKey struct{}

// Allow says how long an attempt may take that another process makes: waiting for a grant there does not count.
func Allow(ctx context.Context, timeout time.Duration) context.Context {
	return context.WithValue(ctx, allowedKey{}, timeout)
}

// Allowed is how long an attempt may take; 0: it was not said.
func Allowed(ctx context.Context) time.Duration {
	timeout, _ := ctx.Value(allowedKey{}).(time.Duration)
	return timeout
}

// bounded is the context of an attempt, with its bound.
func (d *deadline) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.timeout == 0 {
		d.timeout = Allowed(ctx)
	}
	if d.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d.timeout)
}

type deadline struct {
	Service
	timeout time.Duration
}

func (d deadline) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	r, err := d.Service.Generate(ctx, call)
	err = d.explain(err)
	if e := eval.AsError(err); e != nil && e.Kind == eval.KindTimeout && call.Timing.Chunks > 0 {
		e.Message += fmt.Sprintf("; %d chunks of the stream had come", call.Timing.Chunks)
	}
	return r, err
}

func (d deadline) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	n, err := d.Service.CountTokens(ctx, call)
	return n, d.explain(err)
}

func (d deadline) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	v, err := d.Service.Embed(ctx, call)
	return v, d.explain(err)
}

func (d deadline) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	m, err := d.Service.Model(ctx, apiVersion, id)
	return m, d.explain(err)
}

func (d deadline) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	m, err := d.Service.Models(ctx, apiVersion)
	return m, d.explain(err)
}

// explain adds the deadline to a timeout's message.
func (d deadline) explain(err error) error {
	if e := eval.AsError(err); e != nil && e.Kind == eval.KindTimeout && e.Origin != eval.FromLogin {
		e.Message = "no complete answer within " + d.timeout.String()
	}
	return err
}

// pause waits for d, or for a change if a channel is given; with neither it does not wait. It returns false
// if the run ends first.
func pause(ctx context.Context, stop <-chan struct{}, d time.Duration, changed <-chan struct{}) bool {
	if d <= 0 && changed == nil {
		return true
	}
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
		return false
	case <-stop:
		return false
	}
	return true
}
