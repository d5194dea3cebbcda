package harness

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/clients/anthropic"
	"github.com/evalrun/evalrun/clients/generative"
	"github.com/evalrun/evalrun/clients/openai"
	"github.com/evalrun/evalrun/clients/responses"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/runner"
)

// protocols says who speaks the protocols of named services. Nothing else here depends on a protocol.
var protocols = map[string]protocol{
	service.Generative: {(*generative.Client)(nil), "", func(c *contact) speaker {
		return generative.New(generative.Config{
			BaseURL: c.url, HeaderPrefix: c.HeaderPrefix, Key: c.key, Tokens: c.tokens, Path: c.Path, Headers: c.headers(),
			Secrets: c.secrets(), UserAgent: c.userAgent, Connections: c.connections, ToEmulator: c.toEmulator,
		})
	}},
	service.OpenAI:    {(*openai.Client)(nil), "/v1", func(c *contact) speaker { return openai.New(c.account()) }},
	service.Responses: {(*responses.Client)(nil), "/v1", func(c *contact) speaker { return responses.New(c.account()) }},
	service.Anthropic: {(*anthropic.Client)(nil), "", func(c *contact) speaker { return anthropic.New(c.account()) }},
}

// protocol is a way of speaking to services.
type protocol struct {
	// can is a client that says what it can do by the interfaces that it implements. It is nil and not called.
	can speaker
	// base is the path of base URLs at the emulator.
	base string
	// connect makes a client. It opens no connection.
	connect func(*contact) speaker
}

// speaker is what all clients of protocols can do. The interfaces of package runner are what some can.
type speaker interface {
	runner.Generator
	Emulated() bool
	Skew() (skew time.Duration, ok bool)
	Close()
}

// tokens hands out access tokens.
type tokens interface {
	Token(ctx context.Context) (string, error)
	Renew(ctx context.Context, refused string) (bool, error)
}

// can reports whether a protocol has a method.
func can(name, method string) (ok bool) {
	switch method {
	case service.MethodCountTokens:
		_, ok = protocols[name].can.(runner.TokenCounter)
	case service.MethodEmbed:
		_, ok = protocols[name].can.(runner.Embedder)
	}
	return ok
}

// adapted is a client as a service: what it cannot do is an error, and nothing is sent.
type adapted struct {
	speaker
	bare bool // no metadata of models are requested
}

func (a adapted) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	if c, ok := a.speaker.(runner.TokenCounter); ok {
		return c.CountTokens(ctx, call)
	}
	return 0, cannot("count tokens")
}

func (a adapted) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	if c, ok := a.speaker.(runner.Embedder); ok {
		return c.Embed(ctx, call)
	}
	return nil, cannot("make embeddings")
}

// Model describes a model, if the service does that. A key that may not look at models may still call them.
func (a adapted) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	source, ok := a.speaker.(runner.ModelSource)
	if !ok || a.bare {
		return nil, &eval.Error{
			Kind: eval.KindReplayMiss, Unsent: true, Permanent: true,
			Message: "the service does not describe its models",
		}
	}
	m, err := source.Model(ctx, apiVersion, id)
	return m, permitted(err)
}

// Models lists the models, if the service does that.
func (a adapted) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	source, ok := a.speaker.(runner.ModelSource)
	if !ok || a.bare {
		e := cannot("list its models")
		e.Status = notFound
		return nil, e
	}
	models, err := source.Models(ctx, apiVersion)
	return models, permitted(err)
}

// Statuses of HTTP.
const (
	forbidden = 403
	notFound  = 404
)

// permitted is an error about models that says no more of the key than that it may not look at them.
func permitted(err error) error {
	e := eval.AsError(err)
	if e == nil || e.Status != forbidden {
		return err
	}
	out := *e
	out.Kind = eval.KindStatus
	return &out
}

// cannot is the error of what a protocol does not have.
func cannot(what string) *eval.Error {
	return &eval.Error{
		Kind: eval.KindStatus, Unsent: true, Permanent: true,
		Message: "the protocol of the service cannot " + what,
	}
}

// account is what opens the service to a client.
func (c *contact) account() account.Account {
	return account.Account{
		BaseURL: c.url, Key: c.key, Tokens: c.tokens, Path: c.Path, Headers: c.headers(), Secrets: c.secrets(),
		UserAgent: c.userAgent, Connections: c.connections, ToEmulator: c.toEmulator, MaxTokensField: c.MaxTokensField,
	}
}
