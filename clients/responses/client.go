// Package responses is a client for OpenAI's Responses API. One call is one attempt: retries, limits and
// deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error.
package responses

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/protocol"
	"github.com/evalrun/evalrun/internal/wire"
)

// Client calls the service. It is safe for concurrent use.
type Client struct {
	caller *wire.Caller
	path   string
}

// New returns a client without opening a connection.
func New(a account.Account) *Client {
	return &Client{path: cmp.Or(a.Path, "responses"), caller: wire.NewCaller(a, "")}
}

// Close closes idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check reports, in one error, all parts of a request that the protocol cannot express.
func Check(r *eval.Request) error { return protocol.Responses().Check(r) }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := protocol.Responses().Body(&call.Request, protocol.Options{})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.AnswerFormat{
		Parse: ParseResponse, Stream: func() wire.Assembly { return &assembly{} }, Explain: explain,
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
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "models", id)
}
