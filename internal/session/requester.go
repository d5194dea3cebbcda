package session

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/runner"
)

// Requester calls services outside of runs.
type Requester struct {
	Version string       // of evalrun
	Notice  func(string) // what people should know meanwhile
}

// Connect connects to the services of a job. The caller closes the session.
func (c Requester) Connect(j *Job) (*Session, error) {
	s, err := Connect(j, c.Version, c.Notice)
	if err == nil {
		s.BoundTime()
	}
	return s, err
}

type servedModels struct {
	Service string       `json:"service"` // "" for the service without a name
	Models  []eval.Model `json:"models"`
	// Err says why there are no models.
	Err error `json:"-"`
}

// String returns the service and its number of models, for people.
func (s *servedModels) String() string {
	return runner.Served(s.Service) + ": " + diag.Count(len(s.Models), "model")
}

// ModelsOf yields the models of every service that the suites name, or those of ids if not empty.
func (c Requester) ModelsOf(ctx context.Context, j *Job, ids []string) iter.Seq[*servedModels] {
	names := slices.Sorted(maps.Keys(j.Settings.Services))
	if j.NeedsService() {
		names = append([]string{""}, names...)
	}
	return func(yield func(*servedModels) bool) {
		for _, name := range names {
			one := &servedModels{Service: name}
			one.Models, one.Err = c.modelsAt(ctx, j, name, ids)
			if !yield(one) {
				return
			}
		}
	}
}

func (c Requester) modelsAt(ctx context.Context, j *Job, name string, ids []string) ([]eval.Model, error) {
	session, err := connectTo(j, name, c.Version, c.Notice)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	if len(ids) == 0 {
		return session.Models(ctx)
	}
	m, err := session.Model(ctx, strings.TrimPrefix(ids[0], "models/"))
	if err != nil {
		return nil, err
	}
	return []eval.Model{*m}, nil
}
