package session

import (
	"context"

	"github.com/evalrun/evalrun/eval"
)

// refusing is a service that makes no call: it says what is missing. It is used where nothing should be called.
type refusing string

func (r refusing) err() *eval.Error {
	return &eval.Error{Kind: eval.KindTransport, Retry: eval.RetryNever, Unsent: true, Message: string(r)}
}

// Generate refuses.
func (r refusing) Generate(context.Context, *eval.Call) (*eval.Response, error) { return nil, r.err() }

// CountTokens refuses.
func (r refusing) CountTokens(context.Context, *eval.Call) (int, error) { return 0, r.err() }

// Embed refuses.
func (r refusing) Embed(context.Context, *eval.EmbedCall) ([][]float64, error) { return nil, r.err() }

// Model refuses.
func (r refusing) Model(context.Context, string, string) (*eval.Model, error) { return nil, r.err() }

// Models refuses.
func (r refusing) Models(context.Context, string) ([]eval.Model, error) { return nil, r.err() }

// What is missing where a call is refused.
const (
	noModel      refusing = "the plan calls no model, so no service is connected"
	onlyGenerate refusing = "an application only generates answers: it counts no tokens, makes no vectors and has no models"
)
