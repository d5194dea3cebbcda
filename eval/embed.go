package eval

import "context"

// Vector is the embedding of a text.
type Vector []float64

// EmbedCall asks for the vectors of texts, in one call of the service.
type EmbedCall struct {
	Model      string
	APIVersion string
	Texts      []string // from 1 to MaxEmbedTexts
	Timing     Timing
}

// MaxEmbedTexts is how many texts one call may embed.
const MaxEmbedTexts = 100

// MaxEmbedBytes is how long the texts of one call are together at most, unless one alone is longer.
const MaxEmbedBytes = MaxPromptBytes / 2

// DefaultEmbeddingModel embeds where a suite names no model for it.
const DefaultEmbeddingModel = "embedding-001"

// Embedder turns texts into vectors, in their order and all of one length. The error is an *Error.
type Embedder interface {
	Embed(ctx context.Context, call *EmbedCall) ([]Vector, error)
}
