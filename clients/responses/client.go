// Package responses is the client of OpenAI's Responses. One call is one attempt: retries, limits and deadlines are
// decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and keeps the key out of every error. Whatever can go wrong comes back
// as one *eval.Error.
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

// Client talks to the service; safe for concurrent use.
type Client struct {
	caller *wire.Caller
	path   string
}

// New makes a client. It opens no connection.
func New(a account.Account) *Client {
	return &Client{path: cmp.Or(a.Path, "responses"), caller: wire.NewCaller(a, "")}
}

// Close gives up idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew is how far the clock of the service is ahead of this machine's, to the second. It comes from the Date of the
// last answer; false when no answer had one. A proxy's answer counts too.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check finds what the protocol cannot express of a request, all of it in one error.
func Check(r *eval.Request) error { return protocol.Responses().Check(r) }

// Generate sends the call to the model once, for a stream if the call says so. It fills in what call.Timing says of
// the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := protocol.Responses().Body(&call.Request, protocol.Options{})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.Form{
		Parse: ParseResponse, Stream: func() wire.Assembly { return &assembly{} }, Explain: explain,
	})
}

// explain adds to an error of the service what to do about it. A prompt that the service blocks is an answer.
func explain(e *eval.Error) *eval.Response {
	if blocked := wire.BlockedPrompt(e); blocked != nil {
		return blocked
	}
	if e.Status >= 400 && e.Status < 500 && strings.Contains(e.Message, "v1/chat/completions") {
		e.Message += "; set `protocol: openai` at the service"
	}
	return nil
}

// Models lists all models, as OpenAI does. The version of the interface is in the base address.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "models")
}

// Model requests one model's metadata. An unknown model is an error of status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "models", id)
}
