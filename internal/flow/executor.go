package flow

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Executor makes single attempts of calls, in this process or in others. Its errors are of type *eval.Error.
type Executor interface {
	// Enter waits until there is room for a call, and gives the context with which it is made. Calls of a context that has
	// room already share that. leave gives the room back. When stop is closed or ctx is done, Enter returns at once.
	Enter(ctx context.Context, stop <-chan struct{}) (calling context.Context, leave func())
	// Generate calls the model of a service, or the application call.To. It records the times of the
	// attempt in call.Timing.
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
	// Model and Models describe models of a service by its name, "" being the unnamed one.
	Model(ctx context.Context, service, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, service, apiVersion string) ([]eval.Model, error)
	// Emulated reports whether an emulator answers.
	Emulated() bool
}

// By is the service with a name whose attempts an executor makes; "" is the unnamed service, and applications.
func By(executor Executor, name string) Service { return by{executor, name} }

type by struct {
	Executor
	name string
}

func (b by) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	return b.Executor.Model(ctx, b.name, apiVersion, id)
}

func (b by) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	return b.Executor.Models(ctx, b.name, apiVersion)
}

// Allowing says to an executor how long each attempt may take, where that is made in another process.
func Allowing(next Service, timeout time.Duration) Service { return allowing{next, timeout} }

type allowing struct {
	Service
	timeout time.Duration
}

func (a allowing) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return a.Service.Generate(Allow(ctx, a.timeout), call)
}

func (a allowing) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	return a.Service.CountTokens(Allow(ctx, a.timeout), call)
}

func (a allowing) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	return a.Service.Embed(Allow(ctx, a.timeout), call)
}

func (a allowing) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	return a.Service.Model(Allow(ctx, a.timeout), apiVersion, id)
}

func (a allowing) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	return a.Service.Models(Allow(ctx, a.timeout), apiVersion)
}

// Placed has every attempt of next wait for room at the executor. It repeats an attempt when the process that made it
// is gone. That says nothing about the service, so that neither the breaker nor the number of attempts counts it.
// next has the limiter in it, which admits each attempt.
func Placed(next Service, executor Executor, stop <-chan struct{}) Service {
	return placed{next, executor, stop}
}

type placed struct {
	next     Service
	executor Executor
	stop     <-chan struct{}
}

func (p placed) Generate(ctx context.Context, call *eval.Call) (out *eval.Response, err error) {
	err = p.do(ctx, func(ctx context.Context) error {
		out, err = p.next.Generate(ctx, call)
		return err
	})
	return out, err
}

func (p placed) CountTokens(ctx context.Context, call *eval.Call) (n int, err error) {
	err = p.do(ctx, func(ctx context.Context) error {
		n, err = p.next.CountTokens(ctx, call)
		return err
	})
	return n, err
}

func (p placed) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	err = p.do(ctx, func(ctx context.Context) error {
		out, err = p.next.Embed(ctx, call)
		return err
	})
	return out, err
}

func (p placed) Model(ctx context.Context, apiVersion, id string) (m *eval.Model, err error) {
	err = p.do(ctx, func(ctx context.Context) error {
		m, err = p.next.Model(ctx, apiVersion, id)
		return err
	})
	return m, err
}

func (p placed) Models(ctx context.Context, apiVersion string) (all []eval.Model, err error) {
	err = p.do(ctx, func(ctx context.Context) error {
		all, err = p.next.Models(ctx, apiVersion)
		return err
	})
	return all, err
}

func (p placed) do(ctx context.Context, attempt func(context.Context) error) error {
	for {
		calling, leave := p.executor.Enter(ctx, p.stop)
		err := attempt(calling)
		leave()
		if e := eval.AsError(err); e == nil || e.Origin != eval.FromProcess || ctx.Err() != nil {
			return err
		}
		select {
		case <-p.stop:
			return err
		default:
		}
	}
}
