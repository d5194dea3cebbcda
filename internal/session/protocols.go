package session

import (
	"context"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/proxy"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/runner"
	"github.com/evalrun/evalrun/suite"
)

// protocols is the only table of this package that depends on protocols.
var protocols = map[eval.ProtocolName]protocol{
	eval.Generative: {(*generative.Client)(nil), "", func(c *contact) speaker { return generative.New(c.server()) }},
	eval.OpenAI:     {(*openai.Client)(nil), "/v1", func(c *contact) speaker { return openai.New(c.server()) }},
	eval.Responses:  {(*openai.ResponsesClient)(nil), "/v1", func(c *contact) speaker { return openai.NewResponses(c.server()) }},
	eval.Anthropic:  {(*anthropic.Client)(nil), "", func(c *contact) speaker { return anthropic.New(c.server()) }},
}

type protocol struct {
	// can shows, by the interfaces that it implements, what the client can do. It is nil and never called.
	can speaker
	// base is the path of the protocol at the emulator.
	base string
	// connect returns a client without opening a connection.
	connect func(*contact) speaker
}

// speaker is a client of any protocol. Its calls are single attempts without limits. Some also implement other
// interfaces of package runner.
type speaker interface {
	runner.Generator
	proxy.Line
	Emulated() bool
	Skew() (skew time.Duration, ok bool)
	Close()
}

// Connect returns a client of the service without opening a connection.
func (c *contact) Connect() speaker { return protocols[c.Protocol].connect(c) }

// Can reports whether a protocol has a method.
func Can(name eval.ProtocolName, method string) (ok bool) {
	switch method {
	case wire.MethodCountTokens:
		_, ok = protocols[name].can.(runner.TokenCounter)
	case wire.MethodEmbed:
		_, ok = protocols[name].can.(runner.Embedder)
	}
	return ok
}

// asService makes a client a flow.Service. Methods that the client lacks are errors, without a request.
// With noMetadata it describes no models.
func asService(one speaker, noMetadata bool) flow.Service { return speakerService{one, noMetadata} }

type speakerService struct {
	speaker
	bare bool // request no metadata of models
}

// Generate makes an attempt of a call, which may be one that a program under test began.
func (a speakerService) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if attempt := proxy.Attempt(ctx); attempt != nil {
		return attempt(call, a.speaker)
	}
	return a.speaker.Generate(ctx, call)
}

func (a speakerService) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	if c, ok := a.speaker.(runner.TokenCounter); ok {
		return c.CountTokens(ctx, call)
	}
	return 0, cannot("count tokens")
}

func (a speakerService) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	if c, ok := a.speaker.(runner.Embedder); ok {
		return c.Embed(ctx, call)
	}
	return nil, cannot("make embeddings")
}

// Model requests a model's metadata. It allows for keys that may call models but not read their metadata.
func (a speakerService) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	source, ok := a.speaker.(runner.ModelSource)
	if !ok || a.bare {
		return nil, &eval.Error{
			Kind: eval.KindReplayMiss, Unsent: true, Retry: eval.RetryNever,
			Message: "the service does not describe its models",
		}
	}
	m, err := source.Model(ctx, apiVersion, id)
	return m, permitted(err)
}

// Models lists the models. Without metadata it returns an error.
func (a speakerService) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	source, ok := a.speaker.(runner.ModelSource)
	if !ok || a.bare {
		e := cannot("list its models")
		e.Status = notFound
		return nil, e
	}
	models, err := source.Models(ctx, apiVersion)
	return models, permitted(err)
}

// HTTP statuses.
const (
	forbiddenModel = 403
	notFound       = 404
)

// permitted rewrites a 403 about models, because a key that may not list models may still call them.
func permitted(err error) error {
	e := eval.AsError(err)
	if e == nil || e.Status != forbiddenModel {
		return err
	}
	out := *e
	out.Kind = eval.KindStatus
	return &out
}

func cannot(what string) *eval.Error {
	return &eval.Error{
		Kind: eval.KindStatus, Unsent: true, Retry: eval.RetryNever,
		Message: "the protocol of the service cannot " + what,
	}
}

func (c *contact) server() wire.Server {
	return wire.Server{
		BaseURL: c.URL, HeaderPrefix: c.HeaderPrefix, Key: c.Key, TokenSource: c.TokenSource, Path: c.Path,
		Headers: c.headers(), Secrets: c.Secrets(), UserAgent: c.UserAgent, Connections: c.Connections,
		ToEmulator: c.ToEmulator, MaxTokensField: c.MaxTokensField, Resend: c.Resend, TLS: c.TLS,
	}
}

type contact struct {
	*suite.NamedService
	URL         string // its address
	Key         string
	TokenSource wire.TokenSource // nil: there is a key, or nothing
	UserAgent   string
	Connections int
	ToEmulator  bool
}

func (c *contact) headers() map[string][]string {
	out := map[string][]string{}
	for _, h := range c.Headers {
		out[h.Name] = []string{h.Value}
	}
	return out
}

// Secrets returns the values of secret headers, to be masked.
func (c *contact) Secrets() []string {
	var out []string
	for _, h := range c.Headers {
		if h.Secret && h.Value != "" {
			out = append(out, h.Value)
			_, last, found := strings.Cut(h.Value, " ") // the token of "Bearer ..."
			if found {
				out = append(out, strings.TrimSpace(last))
			}
		}
	}
	return out
}
