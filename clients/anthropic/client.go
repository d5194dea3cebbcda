// Package anthropic is the client of Anthropic's messages. One call is one attempt: retries, limits and deadlines are
// decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and keeps the key out of every error. Whatever can go wrong comes back
// as one *eval.Error.
package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/protocol"
	"github.com/evalrun/evalrun/internal/wire"
)

// Version is the version of the protocol that requests name, unless the account's headers name another.
const Version = "2023-06-01"

// Client talks to the service; safe for concurrent use.
type Client struct {
	caller *wire.Caller
	path   string
}

// New makes a client. It opens no connection.
func New(a account.Account) *Client {
	headers := http.Header{"Anthropic-Version": {Version}}
	for name, values := range a.Headers {
		headers[http.CanonicalHeaderKey(name)] = values
	}
	a.Headers = headers
	return &Client{path: cmp.Or(a.Path, "v1/messages"), caller: wire.NewCaller(a, "X-Api-Key")}
}

// Close gives up idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew is how far the clock of the service is ahead of this machine's, to the second. It comes from the Date of the
// last answer; false when no answer had one. A proxy's answer counts too.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check finds what the protocol cannot express of a request, all of it in one error.
func Check(r *eval.Request) error { return protocol.Anthropic().Check(r) }

// Generate sends the call to the model once, for a stream if the call says so. It fills in what call.Timing says of
// the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := protocol.Anthropic().Body(&call.Request, protocol.Options{})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.Form{
		Parse: ParseResponse, Stream: func() wire.Assembly { return &assembly{} }, Explain: explain,
	})
}

// explain adds to an error of the service what to do about it.
func explain(e *eval.Error) *eval.Response {
	switch {
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.Message, "model:"):
		e.Message = "the service has no " + strings.Replace(e.Message, ":", "", 1)
	case e.Status == http.StatusBadRequest && strings.Contains(e.Message, "maximum allowed number of output tokens"):
		e.Message += "; lower `generationConfig.maxOutputTokens`"
	}
	return nil
}

// CountTokens requests the number of tokens of the prompt of the call, its system text and its tools included.
func (c *Client) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	var answer struct {
		InputTokens *wire.LenientInt `json:"input_tokens"`
	}
	started := time.Now()
	err := c.caller.Ask(ctx, c.caller.URL("v1/messages/count_tokens", call.Model), protocol.CountBody(&call.Request),
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

// Models lists all models, page by page. The version of the interface is in a header.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "v1/models")
}

// Model requests one model's metadata. An unknown model is an error of status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "v1/models", id)
}
