// Package dialect speaks to named services: which client has the protocol of a service, what it can do, and what
// opens the service. That is a key, headers, or a token that a program prints (Printed). It makes single attempts and
// knows of no limits.
package dialect

import (
	"context"
	"time"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/clients/anthropic"
	"github.com/evalrun/evalrun/clients/generative"
	"github.com/evalrun/evalrun/clients/openai"
	"github.com/evalrun/evalrun/clients/responses"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/flow"
	"github.com/evalrun/evalrun/internal/service"
	"github.com/evalrun/evalrun/runner"
)

// protocols says who speaks the protocols of named services. Nothing else here depends on a protocol.
var protocols = map[string]protocol{
	service.Generative: {(*generative.Client)(nil), "", func(c *Contact) Speaker {
		return generative.New(generative.Config{
			BaseURL: c.URL, HeaderPrefix: c.HeaderPrefix, Key: c.Key, Tokens: c.Tokens, Path: c.Path, Headers: c.headers(),
			Secrets: c.Secrets(), UserAgent: c.UserAgent, Connections: c.Connections, ToEmulator: c.ToEmulator,
		})
	}},
	service.OpenAI:    {(*openai.Client)(nil), "/v1", func(c *Contact) Speaker { return openai.New(c.account()) }},
	service.Responses: {(*responses.Client)(nil), "/v1", func(c *Contact) Speaker { return responses.New(c.account()) }},
	service.Anthropic: {(*anthropic.Client)(nil), "", func(c *Contact) Speaker { return anthropic.New(c.account()) }},
}

// protocol is a way of speaking to services.
type protocol struct {
	// can is a client that says what it can do by the interfaces that it implements. It is nil and not called.
	can Speaker
	// base is the path of base URLs at the emulator.
	base string
	// connect makes a client. It opens no connection.
	connect func(*Contact) Speaker
}

// Speaker is what all clients of protocols can do. The interfaces of package runner are what some can.
type Speaker interface {
	runner.Generator
	Emulated() bool
	Skew() (skew time.Duration, ok bool)
	Close()
}

// Connect makes the client of the service. It opens no connection.
func (c *Contact) Connect() Speaker { return protocols[c.Protocol].connect(c) }

// EmulatorPath is the path of base URLs of a protocol at the emulator.
func EmulatorPath(protocol string) string { return protocols[protocol].base }

// Can reports whether a protocol has a method.
func Can(name, method string) (ok bool) {
	switch method {
	case service.MethodCountTokens:
		_, ok = protocols[name].can.(runner.TokenCounter)
	case service.MethodEmbed:
		_, ok = protocols[name].can.(runner.Embedder)
	}
	return ok
}

// AsService makes a service of a client: what it cannot do is an error, and nothing is sent. Without metadata it
// describes no models.
func AsService(one Speaker, noMetadata bool) flow.Service { return adapted{one, noMetadata} }

// adapted is a client as a service.
type adapted struct {
	Speaker
	bare bool // no metadata of models are requested
}

func (a adapted) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	if c, ok := a.Speaker.(runner.TokenCounter); ok {
		return c.CountTokens(ctx, call)
	}
	return 0, cannot("count tokens")
}

func (a adapted) Embed(ctx context.Context, call *eval.EmbedCall) ([][]float64, error) {
	if c, ok := a.Speaker.(runner.Embedder); ok {
		return c.Embed(ctx, call)
	}
	return nil, cannot("make embeddings")
}

// Model describes a model, if the service does that. A key that may not look at models may still call them.
func (a adapted) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	source, ok := a.Speaker.(runner.ModelSource)
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
	source, ok := a.Speaker.(runner.ModelSource)
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
func (c *Contact) account() account.Account {
	return account.Account{
		BaseURL: c.URL, Key: c.Key, Tokens: c.Tokens, Path: c.Path, Headers: c.headers(), Secrets: c.Secrets(),
		UserAgent: c.UserAgent, Connections: c.Connections, ToEmulator: c.ToEmulator, MaxTokensField: c.MaxTokensField,
	}
}
