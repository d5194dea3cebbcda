package eval

import "context"

// Vector is the embedding of a text.
type Vector []float64

// EmbedCall asks for the vectors of texts, in one call of the service.
type EmbedCall struct {
	Model      string
	APIVersion string
	Texts      []string // from 1 to service.MaxEmbedTexts
	Timing     Timing
}

// Embedder turns texts into vectors, in their order and all of one length. The error is an *Error.
type Embedder interface {
	Embed(ctx context.Context, call *EmbedCall) ([]Vector, error)
}
