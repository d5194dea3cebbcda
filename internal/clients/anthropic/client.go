// Package anthropic is a client for Anthropic's Messages API. One call is one attempt: retries, limits and
// deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// version is the protocol version that requests name, unless the server's headers set another one.
const version = "2023-06-01"

const path = "v1/messages"

// Client calls the service. It is safe for concurrent use.
type Client struct{ *wire.Caller }

// New returns a client without opening a connection.
func New(s wire.Server) *Client {
	headers := http.Header{"Anthropic-Version": {version}}
	for name, values := range s.Headers {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	s.Headers, s.Path = headers, cmp.Or(s.Path, path)
	return &Client{wire.NewCaller(s, "X-Api-Key", false)}
}

// Generate sends the call once, as a stream if it wants one. call.Timing gets the times of the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return c.Caller.Generate(ctx, call, wire.Anthropic(), format)
}

var format = wire.AnswerFormat{Parse: ParseResponse, Stream: func() wire.Assembly { return &assembly{} }, Explain: explain}

func explain(e *eval.Error) *eval.Response {
	switch {
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.Message, "model:"):
		e.Message = "the service has no " + strings.Replace(e.Message, ":", "", 1)
	case e.Status == http.StatusBadRequest && strings.Contains(e.Message, "maximum allowed number of output tokens"):
		e.Message += "; lower `generationConfig.maxOutputTokens`"
	}
	return nil
}

// CountTokens returns the number of tokens in the whole prompt, including its system text and tools.
func (c *Client) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	var answer struct {
		InputTokens *wire.LenientInt `json:"input_tokens"`
	}
	q := wire.Question{
		URL: c.URL("v1/messages/count_tokens", call.Model), Body: wire.CountBody(&call.Request), Timing: &call.Timing,
	}
	if _, err := c.Ask(ctx, q, &answer); err != nil {
		return 0, err
	}
	if answer.InputTokens == nil || *answer.InputTokens < 0 {
		return 0, eval.Errorf(eval.KindMalformed, "the answer to count_tokens has no valid input_tokens")
	}
	return int(*answer.InputTokens), nil
}

// Models lists all models, page by page. A header has the API version.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.Caller.Models(ctx, "v1/models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.Caller.Model(ctx, "v1/models", id)
}
