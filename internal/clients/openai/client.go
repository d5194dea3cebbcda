// Package openai has clients for the protocols of OpenAI: chat completions, which many servers speak, and the Responses
// API. One call is one attempt: retries, limits and deadlines are decorators in internal/flow.
//
// A client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error. It accepts many variants of answers, because servers differ.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Client calls the service. It is safe for concurrent use.
type Client struct{ common }

// common has what both protocols have at the same paths: models, and batches.
type common struct {
	*wire.Caller
	protocol wire.Protocol
	path     string // of the protocol
}

func newCommon(s wire.Server, p wire.Protocol, path string) common {
	s.Path = cmp.Or(s.Path, path)
	return common{wire.NewCaller(s, "", false), p, path}
}

// Models lists all models. The base address includes the API version.
func (c common) Models(ctx context.Context, _ string) ([]eval.Model, error) {
	return c.Caller.Models(ctx, "models")
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c common) Model(ctx context.Context, _, id string) (*eval.Model, error) {
	return c.Caller.Model(ctx, "models", id)
}

// New returns a client without opening a connection.
func New(s wire.Server) *Client {
	return &Client{newCommon(s, wire.OpenAI(), "chat/completions")}
}

// Generate sends the call once, as a stream if it wants one. call.Timing gets the times of the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return c.Caller.Generate(ctx, call, c.protocol, c.format(call))
}

// Read reads the reply to a call in a batch.
func (c *Client) Read(call *eval.Call, reply *wire.BatchReply) (*eval.Response, error) {
	return c.ReadReply(reply, c.URL(c.Server.Path, call.Model), c.format(call))
}

func (c *Client) format(call *eval.Call) wire.AnswerFormat {
	return wire.AnswerFormat{
		Parse: ParseResponse, Stream: func() wire.Assembly { return newAssembly(call) }, Explain: c.explain,
	}
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

func (c *Client) fix(message string) string {
	old := c.Server.MaxTokensField == "max_tokens"
	switch wantsNew := wantsNewField.MatchString(message); {
	case old && wantsNew:
		return "remove `maxTokensField: max_tokens` from the service"
	case !old && !wantsNew && strings.Contains(message, "max_completion_tokens") && wantsOldField.MatchString(message):
		return "set `maxTokensField: max_tokens` at the service"
	case strings.Contains(message, "v1/responses"):
		return "set `protocol: responses` at the service"
	case strings.Contains(message, "not a chat model"):
		return "name a chat model: the protocol openai has chat completions alone"
	}
	return ""
}

// Embed returns one vector per text, all of the same length.
func (c *Client) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	var answer embeddings
	q := wire.Question{URL: c.URL(embeddingsPath, call.Model), Body: wire.EmbedBody(call), Timing: &call.Timing}
	if _, err := c.Ask(ctx, q, &answer); err != nil {
		return nil, err
	}
	return answer.vectors(len(call.Texts))
}

type embeddings struct {
	Data []struct {
		Index     *int       `json:"index"`
		Embedding []*float64 `json:"embedding"`
	} `json:"data"`
}

// vectors reads the embeddings of n texts.
func (answer *embeddings) vectors(n int) ([][]float64, error) {
	lists := make([][]*float64, n)
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
