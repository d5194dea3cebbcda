// Package oauth logs a person in to the service by OAuth 2.0 for desktop applications (RFC 8252): the
// authorization-code flow with PKCE through the system's browser and a callback on this
// machine. It keeps the tokens in a file of the user's, and refreshes them, once, however many
// workers and processes notice that they have expired.
//
// No token, code or secret stands in an error or in what is printed.
//
// The usual order: ReadClient, Login.Run, Store.Save; afterwards NewTokens for a genlang.Client.
package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/evalrun/evalrun/eval"
)

// Client is an OAuth client of type desktop application, as the client secrets file that one downloads
// describes it.
type Client struct {
	ID        string `json:"clientId"`
	Secret    string `json:"clientSecret,omitempty"`
	Project   string `json:"project,omitempty"` // of the cloud; "" when the file names none
	AuthURL   string `json:"authUrl"`
	TokenURL  string `json:"tokenUrl"`
	RevokeURL string `json:"revokeUrl,omitempty"`
	// SecretInHeader says that the token endpoint wants the secret as basic authentication.
	SecretInHeader bool `json:"secretInHeader,omitempty"`

	path string // of the redirect URI, as it was registered
}

// maxSecretsFile bounds a client secrets file.
const maxSecretsFile = 1 << 20

// ReadClient reads a client secrets file. The error says what is wrong with it.
func ReadClient(path string) (*Client, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSecretsFile:
		return nil, fmt.Errorf("%s is not a client secrets file", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parseClient(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseClient(data []byte) (*Client, error) {
	var file struct {
		Installed *struct {
			ClientID     string   `json:"client_id"`
			ClientSecret string   `json:"client_secret"`
			ProjectID    string   `json:"project_id"`
			AuthURI      string   `json:"auth_uri"`
			TokenURI     string   `json:"token_uri"`
			RevokeURI    string   `json:"revoke_uri"`
			RedirectURIs []string `json:"redirect_uris"`
		} `json:"installed"`
		Web json.RawMessage `json:"web"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a client secrets file: %w", err)
	}
	in := file.Installed
	switch {
	case in == nil && file.Web != nil:
		return nil, errors.New("it is of a web application; create an OAuth client of type desktop app, and download that one's file")
	case in == nil:
		return nil, errors.New("it has no `installed` object: it is not the file of an OAuth client of type desktop app")
	case in.ClientID == "":
		return nil, errors.New("`installed.client_id` is missing")
	}
	c := &Client{
		ID: in.ClientID, Secret: in.ClientSecret, Project: in.ProjectID,
		AuthURL: in.AuthURI, TokenURL: in.TokenURI, RevokeURL: in.RevokeURI, path: redirectPath(in.RedirectURIs),
	}
	for name, u := range map[string]string{"auth_uri": c.AuthURL, "token_uri": c.TokenURL} {
		if problem := checkEndpoint(u); problem != "" {
			return nil, fmt.Errorf("`installed.%s` %s", name, problem)
		}
	}
	if c.RevokeURL != "" {
		if problem := checkEndpoint(c.RevokeURL); problem != "" {
			return nil, fmt.Errorf("`installed.revoke_uri` %s", problem)
		}
	}
	return c, nil
}

// redirectPath is the path of the loopback redirect URI that the client has registered: servers compare it to
// the letter, and only the port is free (RFC 8252, section 7.3). An address counts before a name.
func redirectPath(uris []string) string {
	path, found := "", false
	for _, raw := range uris {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" {
			continue
		}
		if u.Hostname() == "127.0.0.1" {
			return u.EscapedPath()
		}
		if u.Hostname() == "localhost" && !found {
			path, found = u.EscapedPath(), true
		}
	}
	return path
}

// checkEndpoint says why secrets must not be sent to an address, "" when they may.
func checkEndpoint(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return "is missing"
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "is not an address"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "is not encrypted: it must begin with https://"
	}
	return ""
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// config is the client in the library's words.
func (c *Client) config(redirect string, scopes []string) *oauth2.Config {
	// Without a style the library tries both whenever one fails, which presents a code twice.
	style := oauth2.AuthStyleInParams
	if c.SecretInHeader {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, AuthStyle: style},
	}
}

// endpointTimeout bounds a call of the token or the revocation endpoint.
const endpointTimeout = 30 * time.Second

// direct is an HTTP client that follows no redirect, on which secrets would travel along.
func direct() *http.Client {
	return &http.Client{
		Timeout:       endpointTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// token asks the token endpoint by ask. A server that wants the secret as basic authentication says that it does
// not know the client; it is asked once more that way.
func (c *Client) token(ctx context.Context, ask func(context.Context, *oauth2.Config) (*oauth2.Token, error), redirect string, scopes []string) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, direct())
	t, err := ask(ctx, c.config(redirect, scopes))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && c.Secret != "" && !c.SecretInHeader && (refused.ErrorCode == "invalid_client" || refused.ErrorCode == "" && refused.Response.StatusCode == http.StatusUnauthorized) {
		c.SecretInHeader = true
		if t, err = ask(ctx, c.config(redirect, scopes)); err != nil {
			c.SecretInHeader = false
		}
	}
	return t, err
}

// Refusal is the error of an authorization server that said no.
type Refusal struct {
	Code    string // of RFC 6749, section 5.2, such as invalid_grant; or the HTTP status
	Message string
}

func (e *Refusal) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Code + ": " + e.Message
}

// explain makes an error of the token endpoint fit to be shown. What was sent there is taken out of
// it.
func explain(err error, secrets ...string) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		r := &Refusal{Code: refused.ErrorCode, Message: refused.ErrorDescription}
		if r.Code == "" && refused.Response != nil {
			r.Code = fmt.Sprintf("HTTP status %d", refused.Response.StatusCode)
		}
		r.Code, r.Message = hide(r.Code, secrets), hide(r.Message, secrets)
		return r
	}
	return errors.New(hide(err.Error(), secrets))
}

// maxMessage bounds what an authorization server has to say.
const maxMessage = 300

func hide(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) > 3 {
			text = strings.NewReplacer(s, "[secret]", url.QueryEscape(s), "[secret]").Replace(text)
		}
	}
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "..."
	}
	return text
}

// Scopes of the service, after the prefix that the deployment gives.
const (
	ScopeRetriever     = "generative-language.retriever"
	ScopeCloudPlatform = "cloud-platform"
)

// Scope is the identifier of a scope of the service. One that is an address already stays.
func Scope(base, name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	return strings.TrimRight(base, "/") + "/auth/" + name
}

// Token is what a login has given.
type Token struct {
	Client       Client    `json:"client"`
	Scopes       []string  `json:"scopes"`
	AccessToken  string    `json:"accessToken"`
	RefreshToken string    `json:"refreshToken,omitempty"`
	ObtainedAt   time.Time `json:"obtainedAt"`
	Expiry       time.Time `json:"expiry"` // zero: the server did not say
}

// fill takes over an answer of the token endpoint; what it leaves out stays as it was.
func (t *Token) fill(answer *oauth2.Token, now time.Time) {
	t.AccessToken, t.Expiry, t.ObtainedAt = answer.AccessToken, answer.Expiry.Round(0), now.Round(0)
	if answer.RefreshToken != "" {
		t.RefreshToken = answer.RefreshToken
	}
	if granted, _ := answer.Extra("scope").(string); granted != "" {
		t.Scopes = strings.Fields(granted)
	}
}

// maxEarly is how long before its end a token is replaced, so that it does not expire on the way; a
// tenth of its lifetime when that is shorter.
const maxEarly = 10 * time.Second

// Expired reports whether the access token is no longer to be used.
func (t *Token) Expired(now time.Time) bool {
	if t.Expiry.IsZero() {
		return false
	}
	early := min(maxEarly, t.Expiry.Sub(t.ObtainedAt)/10)
	return !now.Before(t.Expiry.Add(-early))
}

// Missing lists the scopes among wanted that were not granted.
func (t *Token) Missing(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(s string) bool { return slices.Contains(t.Scopes, s) })
}

// LoginAgain is how errors end that only a new login cures.
const LoginAgain = "log in again: evalrun auth login --client-secrets FILE"

// authError is an error that ends a run with the advice to log in.
func authError(format string, args ...any) *eval.Error {
	e := eval.Errorf(eval.KindAuth, format, args...)
	e.Permanent = true
	return e
}
