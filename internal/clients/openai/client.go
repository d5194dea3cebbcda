// Package openai is a client for chat completions, the protocol of OpenAI that many servers speak. One call
// is one attempt: retries, limits and deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error. It accepts many variants of answers, because servers differ.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Client calls the service. It is safe for concurrent use.
type Client struct {
	caller         *wire.Caller
	path           string
	maxTokensField string
}

// New returns a client without opening a connection.
func New(a wire.Account) *Client {
	return &Client{path: cmp.Or(a.Path, "chat/completions"), maxTokensField: a.MaxTokensField, caller: wire.NewCaller(a, "")}
}

// Close closes idle connections.
func (c *Client) Close() { c.caller.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.caller.Emulated() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *Client) Skew() (time.Duration, bool) { return c.caller.Skew() }

// Check reports, in one error, all parts of a request that the protocol cannot express.
func Check(r *eval.Request) error { return wire.OpenAI().Check(r) }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if err := Check(&call.Request); err != nil {
		return nil, c.caller.Unsendable(err)
	}
	body := wire.OpenAI().Body(&call.Request, wire.Options{MaxTokensField: c.maxTokensField})
	return c.caller.Post(ctx, call, c.caller.URL(c.path, call.Model), body, wire.AnswerFormat{
		Parse: ParseResponse, Stream: func() wire.Assembly { return newAssembly(call) }, Explain: c.explain,
	})
}

// explain adds advice to an error of the service. A prompt that the service blocks is an answer.
func (c *Client) explain(e *eval.Error) *eval.Response {
	if blocked := wire.BlockedPrompt(e); blocked != nil {
		return blocked
	}
	if fix := c.fix(e.Message); fix != "" && e.Status >= 400 && e.Status < 500 {
		e.Message += "; " + fix
	}
	return nil
}

// Patterns of messages about a token-limit field that the server does not accept.
var (
	wantsOldField = regexp.MustCompile(`(?i)(unrecognized|unsupported|unknown|not permitted|extra_forbidden|` +
		`extra inputs|not support)`)
	wantsNewField = regexp.MustCompile(`(?i)'?max_tokens'?.*max_completion_tokens`)
)

// fix returns advice for a message of the service, "" when there is none.
func (c *Client) fix(message string) string {
	old := c.maxTokensField == "max_tokens"
	switch {
	case old && wantsNewField.MatchString(message):
		return "remove `maxTokensField: max_tokens` from the service"
	case !old && strings.Contains(message, "max_completion_tokens") && wantsOldField.MatchString(message):
		return "set `maxTokensField: max_tokens` at the service"
	case strings.Contains(message, "v1/responses"):
		return "set `protocol: responses` at the service"
	case strings.Contains(message, "not a chat model"):
		return "name a chat model: the protocol openai has chat completions alone"
	}
	return ""
}

// Models lists all models. The base address includes the API version.
func (c *Client) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.caller.Models(ctx, "models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.caller.Model(ctx, "models", id)
}

// Embed returns one vector per text, all of the same length.
func (c *Client) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	started := time.Now()
	var answer struct {
		Data []struct {
			Index     *int       `json:"index"`
			Embedding []*float64 `json:"embedding"`
		} `json:"data"`
	}
	err := c.caller.Ask(ctx, c.caller.URL("embeddings", call.Model), wire.EmbedBody(call), &answer)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if err != nil {
		return nil, err
	}
	lists := make([][]*float64, len(call.Texts))
	for i, d := range answer.Data {
		if d.Index != nil { // some servers send no index
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
