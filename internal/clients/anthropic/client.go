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
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Version is the protocol version that requests name, unless the account's headers set another one.
const Version = "2023-06-01"

// Client calls the service. It is safe for concurrent use.
type Client struct {
	caller *wire.Caller
	path   string
}

// New returns a client without opening a connection.
func New(a wire.Account) *Client {
	headers := http.Header{"Anthropic-Version": {Version}}
	for name, values := range a.Headers {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	a.Headers = headers
	return &Client{path: cmp.Or(a.Path, "v1/messages"), caller: wire.NewCaller(a, "X-Api-Key")}
}

// Close closes idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check reports, in one error, all parts of a request that the protocol cannot express.
func Check(r *eval.Request) error { return wire.Anthropic().Check(r) }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := wire.Anthropic().Body(&call.Request, wire.Options{})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.AnswerFormat{
		Parse: ParseResponse, Stream: func() wire.Assembly { return &assembly{} }, Explain: explain,
	})
}

// explain adds advice to an error of the service.
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
	started := time.Now()
	err := c.caller.Ask(ctx, c.caller.URL("v1/messages/count_tokens", call.Model), wire.CountBody(&call.Request),
		&answer)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if err != nil {
		return 0, err
	}
	if answer.InputTokens == nil || *answer.InputTokens < 0 {
		return 0, eval.Errorf(eval.KindMalformed, "the answer to count_tokens has no valid input_tokens")
	}
	return int(*answer.InputTokens), nil
}

// Models lists all models, page by page. A header has the API version.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "v1/models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "v1/models", id)
}
