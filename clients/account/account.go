// Package account is how the clients of vendors reach a service, and what opens it.
package account

import (
	"context"
	"net/http"
)

// Account says where a service is and how to talk to it.
type Account struct {
	BaseURL string      // Required. Without a trailing slash or with one
	Key     string      // Optional: sent where the protocol wants it
	Tokens  TokenSource // Optional: access tokens, sent as bearer tokens instead of a key
	// Headers go with every request. Optional.
	Headers http.Header
	// Secrets are further texts that must not show, such as values of headers. Optional.
	Secrets     []string
	Path        string // Optional: the path below BaseURL instead of the protocol's, in which {model} is the model
	UserAgent   string // Optional
	Connections int    // Optional: idle connections to keep; at least the concurrency
	ToEmulator  bool   // Optional: say to evalrun's emulator which trial a request is
	// MaxTokensField is the field of the most output tokens for servers of chat completions that know another than
	// max_completion_tokens. Optional; other protocols have one field.
	MaxTokensField string
	// Transport replaces the HTTP transport. Optional.
	Transport http.RoundTripper
}

// TokenSource hands out access tokens. The errors are *eval.Error.
type TokenSource interface {
	// Token is one that is good as far as is known.
	Token(ctx context.Context) (string, error)
	// Renew replaces one that the service refused; false when that is of no use, since it is new.
	Renew(ctx context.Context, refused string) (bool, error)
}
