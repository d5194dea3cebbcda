// Is a client for OpenAI's Responses API. One call is one attempt: retries, limits and
// deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error.

package openai

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// ResponsesClient calls the service. It is safe for concurrent use.
type ResponsesClient struct {
	caller *wire.Caller
	path   string
}

// NewResponses returns a client without opening a connection.
func NewResponses(a wire.Account) *ResponsesClient {
	return &ResponsesClient{path: cmp.Or(a.Path, "responses"), caller: wire.NewCaller(a, "")}
}

// Close closes idle connections.
func (c *ResponsesClient) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *ResponsesClient) Emulated() bool { return c.caller.Emulated() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *ResponsesClient) Skew() (time.Duration, bool) { return c.caller.Skew() }

// CheckResponses reports, in one error, all parts of a request that the protocol cannot express.
func CheckResponses(r *eval.Request) error { return wire.Responses().Check(r) }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *ResponsesClient) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := CheckResponses(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := wire.Responses().Body(&call.Request, wire.Options{})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.AnswerFormat{
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
	return c.caller.Models(ctx, "models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *ResponsesClient) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "models", id)
}
