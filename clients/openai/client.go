// Package openai is the client of chat completions, the protocol of OpenAI that many servers speak. One call is one
// attempt: retries, limits and deadlines are decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and keeps the key out of every error. Whatever can go wrong comes back
// as one *eval.Error. It is liberal in what it reads, since servers differ.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/evalrun/evalrun/internal/protocol"
	"github.com/evalrun/evalrun/internal/wire"
)

// Client talks to the service; safe for concurrent use.
type Client struct {
	caller         *wire.Caller
	path           string
	maxTokensField string
}

// New makes a client. It opens no connection.
func New(a account.Account) *Client {
	return &Client{path: cmp.Or(a.Path, "chat/completions"), maxTokensField: a.MaxTokensField, caller: wire.NewCaller(a, "")}
}

// Close gives up idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew is how far the clock of the service is ahead of this machine's, to the second. It comes from the Date of the
// last answer; false when no answer had one. A proxy's answer counts too.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check finds what the protocol cannot express of a request, all of it in one error.
func Check(r *eval.Request) error { return protocol.OpenAI().Check(r) }

// Generate sends the call to the model once, for a stream if the call says so. It fills in what call.Timing says of
// the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := protocol.OpenAI().Body(&call.Request, protocol.Options{MaxTokensField: c.maxTokensField})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.Form{
		Parse: ParseResponse, Stream: func() wire.Assembly { return newAssembly(call) }, Explain: c.explain,
	})
}

// explain adds to an error of the service what to do about it. A prompt that the service blocks is an answer.
func (c *Client) explain(e *eval.Error) *eval.Response {
	if blocked := wire.BlockedPrompt(e); blocked != nil {
		return blocked
	}
	if fix := c.fix(e.Message); fix != "" && e.Status >= 400 && e.Status < 500 {
		e.Message += "; " + fix
	}
	return nil
}

// What servers say of a field for the limit of an answer that they do not take.
const (
	wantsOldField lazy.Pattern = `(?i)(unrecognized|unsupported|unknown|not permitted|extra_forbidden|` +
		`extra inputs|not support)`
	wantsNewField lazy.Pattern = `(?i)'?max_tokens'?.*max_completion_tokens`
)

// fix is what to do about a message of the service, "" where nothing is known.
func (c *Client) fix(message string) string {
	old := c.maxTokensField == "max_tokens"
	switch {
	case old && wantsNewField.Matches(message):
		return "remove `maxTokensField: max_tokens` from the service"
	case !old && strings.Contains(message, "max_completion_tokens") && wantsOldField.Matches(message):
		return "set `maxTokensField: max_tokens` at the service"
	case strings.Contains(message, "v1/responses"):
		return "set `protocol: responses` at the service"
	case strings.Contains(message, "not a chat model"):
		return "name a chat model: the protocol openai has chat completions alone"
	}
	return ""
}

// Models lists all models. The version of the interface is in the base address.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "models")
}

// Model requests one model's metadata. An unknown model is an error of status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "models", id)
}

// Embed requests the vectors of texts, one per text and all of one length.
func (c *Client) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	started := time.Now()
	var answer struct {
		Data []struct {
			Index     *int       `json:"index"`
			Embedding []*float64 `json:"embedding"`
		} `json:"data"`
	}
	err := c.caller.Ask(ctx, c.caller.URL("embeddings", call.Model), protocol.EmbedBody(call), &answer)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if err != nil {
		return nil, err
	}
	lists := make([][]*float64, len(call.Texts))
	for i, d := range answer.Data {
		if d.Index != nil { // some servers number none
			i = *d.Index
		}
		if i < 0 || i >= len(lists) || lists[i] != nil {
			return nil, eval.Errorf(eval.KindMalformed, "embedding %d of %d texts came twice, or was not requested", i+1,
				len(lists))
		}
		lists[i] = d.Embedding
	}
	return wire.Vectors(lists, fmt.Appendf(nil, "%d embeddings", len(answer.Data)))
}
