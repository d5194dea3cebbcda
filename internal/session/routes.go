package session

import (
	"context"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/runner"
)

type routes struct {
	flow.Service // the unnamed one, and applications
	named        map[string]flow.Service
	lost         func(service string, e *eval.Error) bool
}

// through makes the routes of a session; way wires the service with a name.
func (s *Session) through(way func(of string) flow.Service) *routes {
	r := &routes{Service: way(""), named: map[string]flow.Service{}, lost: s.lost}
	for name := range s.Settings.Services {
		r.named[name] = way(name)
	}
	return r
}

// of returns the service with a name. All names were checked when the suites were loaded.
func (r *routes) of(name string) flow.Service {
	if name == "" {
		return r.Service
	}
	return r.named[name]
}

func (r *routes) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	resp, err := r.of(call.Service).Generate(ctx, call)
	return resp, withService(err, call.Service, call.Model)
}

func (r *routes) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	n, err := r.of(call.Service).CountTokens(ctx, call)
	return n, withService(err, call.Service, call.Model)
}

func (r *routes) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	v, err := r.of(call.Service).Embed(ctx, call)
	return v, withService(err, call.Service, call.Model)
}

// Of is the source of metadata for the models of a service.
func (r *routes) Of(name string) runner.ModelSource { return described{r.of(name), name} }

// Lost records that a service does not answer about its models.
func (r *routes) Lost(name string, e *eval.Error) bool { return r.lost(name, e) }

type described struct {
	runner.ModelSource
	name string
}

func (d described) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	m, err := d.ModelSource.Model(ctx, apiVersion, id)
	return m, withService(err, d.name, id)
}

func (d described) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	m, err := d.ModelSource.Models(ctx, apiVersion)
	return m, withService(err, d.name, "")
}

// withService adds to an error its service and model; nil stays nil.
func withService(err error, service, model string) error {
	if err == nil {
		return nil
	}
	e := *eval.AsError(err)
	e.Service, e.Model = service, model
	return &e
}
