package runner

import (
	"context"

	"github.com/evalrun/evalrun/eval"
)

// Generator sends a call to a model. The error is an *eval.Error.
type Generator interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
}

// TokenCounter requests the number of tokens of the contents of a call. The error is an *eval.Error.
type TokenCounter interface {
	CountTokens(ctx context.Context, call *eval.Call) (int, error)
}

// ModelSource returns metadata of models. The error is an *eval.Error.
type ModelSource interface {
	Model(ctx context.Context, apiVersion, id string) (*eval.Model, error)
	Models(ctx context.Context, apiVersion string) ([]eval.Model, error)
}

// ModelSources find the source of metadata for the models of a service. As a ModelSource it is that of the unnamed
// service.
type ModelSources interface {
	ModelSource
	// Of is the source of a named service.
	Of(service string) ModelSource
	// Lost records that a named service refuses metadata, or cannot be reached. It reports whether the plan makes sense
	// without it.
	Lost(service string, err *eval.Error) bool
}

// Embedder turns texts into vectors, in their order and all of one length. The error is an *eval.Error.
type Embedder interface {
	Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error)
}
