package openai

import (
	"cmp"
	"context"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// ResponsesClient calls a service that has OpenAI's Responses API. It is safe for concurrent use.
type ResponsesClient struct{ *wire.Caller }

// NewResponses returns a client without opening a connection.
func NewResponses(s wire.Server) *ResponsesClient {
	s.Path = cmp.Or(s.Path, "responses")
	return &ResponsesClient{wire.NewCaller(s, "", false)}
}

// CheckResponses reports, in one error, all parts of a request that the protocol cannot express.
func CheckResponses(r *eval.Request) error { return wire.Responses().Check(r) }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *ResponsesClient) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := CheckResponses(&call.Request); err != nil {
		return nil, c.Unsendable(err)
	}
	body := wire.Responses().Body(&call.Request, wire.Options{})
	return c.Post(ctx, call, c.URL(c.Server.Path, call.Model), body, wire.AnswerFormat{
		Parse: ParseResponses, Stream: func() wire.Assembly { return &responsesAssembly{} }, Explain: explain,
	})
}

// explain adds advice to an error of the service. A prompt that the service blocks is an answer.
func explain(e *eval.Error) *eval.Response {
	if blocked := wire.BlockedPrompt(e); blocked != nil {
		return blocked
	}
	if e.Status >= 400 && e.Status < 500 && strings.Contains(e.Message, "v1/chat/completions") {
		e.Message += "; set `protocol: openai` at the service"
	}
	return nil
}

// Models lists all models, at the same path as chat completions. The base address includes the API version.
func (c *ResponsesClient) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.Caller.Models(ctx, "models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *ResponsesClient) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.Caller.Model(ctx, "models", id)
}
