// Has the settings with which a vendor's client reaches a service: address, credentials and
// headers.

package wire

import (
	"context"
	"net/http"
)

// Account has the address of a service and its credentials.
type Account struct {
	BaseURL     string      // Required. Without a trailing slash or with one
	Key         string      // Optional: sent where the protocol wants it
	TokenSource TokenSource // Optional: access tokens, sent as bearer tokens instead of a key
	// Headers are sent with every request. Optional.
	Headers http.Header
	// Secrets are further texts to mask in errors, such as values of headers. Optional.
	Secrets     []string
	Path        string // Optional: replaces the protocol's path below BaseURL; {model} is replaced by the model
	UserAgent   string // Optional
	Connections int    // Optional: idle connections to keep; should be at least the concurrency
	ToEmulator  bool   // Optional: tell evalrun's emulator which trial a request belongs to
	// MaxTokensField names the field with the limit of output tokens, for chat-completions servers that do
	// not know max_completion_tokens. Optional; other protocols ignore it.
	MaxTokensField string
	// Transport replaces the HTTP transport. Optional.
	Transport http.RoundTripper
}

// TokenSource hands out access tokens. Its errors are *eval.Error.
type TokenSource interface {
	// Token returns a token that has not expired.
	Token(ctx context.Context) (string, error)
	// Renew replaces a token that the service refused. It returns false when the token is new, so that
	// another one would not help.
	Renew(ctx context.Context, refused string) (bool, error)
}
