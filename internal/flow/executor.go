package flow

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
)

// By is the service with a name whose attempts an executor makes; "" is the unnamed service, and applications.
func By(executor eval.Executor, name string) Service { return by{executor, name} }

type by struct {
	eval.Executor
	name string
}

func (b by) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	return b.Executor.Model(ctx, b.name, apiVersion, id)
}

func (b by) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	return b.Executor.Models(ctx, b.name, apiVersion)
}

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

// Allowing is Allow for each attempt of next, which another process makes.
func Allowing(next Service, timeout time.Duration) Service {
	return each{next, func(ctx context.Context, a *attempt) error { return a.send(Allow(ctx, timeout)) }}
}

// Deadline bounds each attempt, body included. With 0 the bound set by Allow applies, if any.
func Deadline(next Service, timeout time.Duration) Service {
	return each{next, func(ctx context.Context, a *attempt) error {
		timeout := cmp.Or(timeout, Allowed(ctx))
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		err := a.send(ctx)
		e := eval.AsError(err)
		if e == nil || e.Kind != eval.KindTimeout {
			return err
		}
		if e.Origin != eval.FromLogin {
			e.Message = "no complete answer within " + timeout.String()
		}
		if a.timing.Chunks > 0 {
			e.Message += fmt.Sprintf("; %s of the stream had come", diag.Count(a.timing.Chunks, "chunk"))
		}
		return err
	}}
}

// Placed has every attempt of next wait for room at the executor. It repeats an attempt when the process that made it
// is gone. That does not depend on the service, so neither the breaker nor the number of attempts counts it.
// next has the limiter in it, which admits each attempt.
func Placed(next Service, executor eval.Executor, stop <-chan struct{}) Service {
	return each{next, func(ctx context.Context, a *attempt) error {
		for {
			calling, leave := executor.Enter(ctx, stop)
			err := a.send(calling)
			leave()
			if e := eval.AsError(err); e == nil || e.Origin != eval.FromProcess || ctx.Err() != nil || isClosed(stop) {
				return err
			}
		}
	}}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
