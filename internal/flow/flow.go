// Package flow holds what is between a trial and an attempt. That is recorded and cached answers, retries with
// back-off, the circuit breaker, adaptive concurrency, the limiter of rates and budgets, and the deadline of an
// attempt. Each is a decorator of a Service that knows nothing of the others. Package internal/session puts them
// together in this order, outermost first. So every attempt is limited and counted, and an answer that is there
// already costs none.
package flow

import (
	"context"

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

// attempt is a call of any method, for decorators that treat the methods alike.
type attempt struct {
	method method
	model  string // "" for metadata
	timing *eval.Timing
	most   int // attempts; 0: as the policy says
	send   func(context.Context) error
}

type method int

const (
	generate method = iota + 1
	countTokens
	embed
	describe // metadata of models
)

// each is a service that does something around each call of the next one.
type each struct {
	next   Service
	around func(ctx context.Context, a *attempt) error
}

func (s each) Generate(ctx context.Context, call *eval.Call) (out *eval.Response, err error) {
	err = s.around(ctx, &attempt{generate, call.Model, &call.Timing, call.Attempts, func(ctx context.Context) (err error) {
		out, err = s.next.Generate(ctx, call)
		return err
	}})
	return out, err
}

func (s each) CountTokens(ctx context.Context, call *eval.Call) (out int, err error) {
	err = s.around(ctx, &attempt{countTokens, call.Model, &call.Timing, 0, func(ctx context.Context) (err error) {
		out, err = s.next.CountTokens(ctx, call)
		return err
	}})
	return out, err
}

func (s each) Embed(ctx context.Context, call *eval.EmbedCall) (out [][]float64, err error) {
	err = s.around(ctx, &attempt{embed, call.Model, &call.Timing, 0, func(ctx context.Context) (err error) {
		out, err = s.next.Embed(ctx, call)
		return err
	}})
	return out, err
}

func (s each) Model(ctx context.Context, apiVersion, id string) (out *eval.Model, err error) {
	err = s.around(ctx, &attempt{describe, "", &eval.Timing{}, 0, func(ctx context.Context) (err error) {
		out, err = s.next.Model(ctx, apiVersion, id)
		return err
	}})
	return out, err
}

func (s each) Models(ctx context.Context, apiVersion string) (out []eval.Model, err error) {
	err = s.around(ctx, &attempt{describe, "", &eval.Timing{}, 0, func(ctx context.Context) (err error) {
		out, err = s.next.Models(ctx, apiVersion)
		return err
	}})
	return out, err
}
