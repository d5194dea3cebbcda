// Package oauth logs a person in to the service by OAuth 2.0 for desktop applications (RFC 8252). It uses
// the authorization-code flow with PKCE, the system's browser, and a callback on this machine. It stores
// the tokens in a file of the user. It refreshes an expired token once, even when several workers and
// processes need it.
//
// No error and no output contains a token, code or secret.
//
// The usual order: ReadClient, Login.Run, LoginFile.Keep; afterwards NewAccessTokens for a generative.Client.
package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
)

// desktopClient is an OAuth client for desktop applications, as described by a downloaded client secrets file.
type desktopClient struct {
	ID        string `json:"clientId"`
	Secret    string `json:"clientSecret,omitempty"`
	Project   string `json:"project,omitempty"` // the cloud project; "" when the file names none
	AuthURL   string `json:"authUrl"`
	TokenURL  string `json:"tokenUrl"`
	RevokeURL string `json:"revokeUrl,omitempty"`
	// SecretInHeader means that the token endpoint wants the secret by basic authentication.
	SecretInHeader bool `json:"secretInHeader,omitempty"`

	host, path string // of the registered redirect URI; host "" means 127.0.0.1
}

// maxSecretsFile bounds a client secrets file, in bytes.
const maxSecretsFile = 1 << 20

// ReadClient reads a client secrets file. Its error says what is wrong with the file.
func ReadClient(path string) (*desktopClient, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSecretsFile:
		return nil, fmt.Errorf("%s is not a client secrets file", path)
	}
	data, err := files.ReadFile(path, maxSecretsFile)
	if err != nil {
		return nil, err
	}
	c, err := parseClient(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseClient(data []byte) (*desktopClient, error) {
	var file struct {
		Installed *installed      `json:"installed"`
		Web       json.RawMessage `json:"web"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), &file); err != nil {
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
	return in.client()
}

type installed struct {
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret"`
	ProjectID    string   `json:"project_id"`
	AuthURI      string   `json:"auth_uri"`
	TokenURI     string   `json:"token_uri"`
	RevokeURI    string   `json:"revoke_uri"`
	RedirectURIs []string `json:"redirect_uris"`
}

// client checks that secrets may be sent to the endpoints.
func (in *installed) client() (*desktopClient, error) {
	c := &desktopClient{
		ID: in.ClientID, Secret: in.ClientSecret, Project: in.ProjectID,
		AuthURL: in.AuthURI, TokenURL: in.TokenURI, RevokeURL: in.RevokeURI, path: redirectPath(in.RedirectURIs),
	}
	for name, u := range map[string]string{"auth_uri": c.AuthURL, "token_uri": c.TokenURL, "revoke_uri": c.RevokeURL} {
		if err := CheckEndpoint(u); err != nil && (u != "" || name != "revoke_uri") {
			return nil, fmt.Errorf("`installed.%s` %w", name, err)
		}
	}
	return c, nil
}

// redirectPath returns the path of the registered loopback redirect URI. Servers require the same path and
// ignore only the port (RFC 8252, section 7.3). An IP address is preferred to a host name.
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

// Redirect selects one of the registered loopback redirect URIs, for servers that compare the host or path
// exactly. The port of uri is ignored: the callback uses a free one.
func (c *desktopClient) Redirect(uri string) error {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not a redirect address on this machine, such as http://localhost/callback", uri)
	}
	c.host, c.path = u.Hostname(), u.EscapedPath()
	return nil
}

// CheckEndpoint returns an error when secrets must not be sent to an address.
func CheckEndpoint(address string) error {
	u, err := url.Parse(address)
	switch {
	case address == "":
		return errors.New("is missing")
	case err != nil || u.Host == "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("is not an address")
	case u.Scheme == "http" && !wire.IsLoopback(u.Hostname()):
		return errors.New("is not encrypted: it must begin with https://")
	}
	return nil
}

func (c *desktopClient) config(redirect string, scopes []string) *oauth2.Config {
	// Without a style, the library tries both after a failure. That would present a code twice.
	style := oauth2.AuthStyleInParams
	if c.SecretInHeader {
		style = oauth2.AuthStyleInHeader
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: c.AuthURL, TokenURL: c.TokenURL, AuthStyle: style},
	}
}

// endpointTimeout bounds a request to the token or revocation endpoint.
const endpointTimeout = 30 * time.Second

// direct returns an HTTP client that follows no redirect, since a redirect would forward the secrets.
func direct() *http.Client {
	return &http.Client{
		Timeout:       endpointTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// token sends a request to the token endpoint. Servers that want the secret by basic authentication report
// an unknown client in various ways. So after such an error, token repeats the request once with basic
// authentication.
func (c *desktopClient) token(
	ctx context.Context,
	ask func(context.Context, *oauth2.Config) (*oauth2.Token, error),
	redirect string,
	scopes []string,
) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, direct())
	t, err := ask(ctx, c.config(redirect, scopes))
	if c.Secret != "" && !c.SecretInHeader && wantsHeader(err) {
		c.SecretInHeader = true
		token, errByHeader := ask(ctx, c.config(redirect, scopes))
		if errByHeader == nil {
			return token, nil
		}
		c.SecretInHeader = false
		if !wantsHeader(errByHeader) { // the server knew the client, so this is the real error
			err = errByHeader
		}
	}
	return t, err
}

// wantsHeader reports whether the server may want the secret by basic authentication.
func wantsHeader(err error) bool {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return false
	}
	return refused.Response.StatusCode == http.StatusUnauthorized ||
		slices.Contains([]string{"invalid_client", "unauthorized_client", "invalid_request"}, refused.ErrorCode)
}

func (c *desktopClient) tokenHost() string {
	u, err := url.Parse(c.TokenURL)
	if err != nil { // checked by ReadClient
		return "the authorization server"
	}
	return u.Host
}

// refusedError is an error reply of an authorization server.
type refusedError struct {
	Code    string // as in RFC 6749, section 5.2, such as invalid_grant; or the HTTP status
	Message string
}

func (e *refusedError) Error() string {
	if e.Message == "" {
		return e.Code
	}
	return e.Code + ": " + e.Message
}

// explain rewrites an error of an endpoint for people. It masks the values that were sent.
func (c *desktopClient) explain(err error, sent ...string) error {
	var refused *oauth2.RetrieveError
	var transport *url.Error
	switch {
	case errors.As(err, &refused):
		code := refused.ErrorCode
		if code == "" {
			code = fmt.Sprintf("HTTP status %d", refused.Response.StatusCode)
		}
		return c.refusal(code, refused.ErrorDescription, sent...)
	case errors.As(err, &transport):
		return errors.New(c.shown(transport.Err.Error(), sent))
	case errors.Is(err, errToken):
		return err
	}
	return errors.New("its answer does not follow the standard")
}

func (c *desktopClient) refusal(code, description string, sent ...string) *refusedError {
	return &refusedError{c.shown(code, sent), c.shown(description, sent)}
}

// shown is the beginning of a server's text on one line, without secrets.
func (c *desktopClient) shown(text string, sent []string) string {
	return wire.Excerpt([]byte(c.hidden(sent).OutOf(text)))
}

// hidden returns the secrets to mask: those of the client, of proxies, and those sent.
func (c *desktopClient) hidden(sent []string) *wire.Secrets {
	all := slices.Concat(
		sent, wire.OfProxies(),
		[]string{c.Secret, c.ID + ":" + c.Secret, url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret)},
	)
	return wire.NewSecrets(all...)
}

// Token is the result of a login.
type Token struct {
	Client       desktopClient `json:"client"`
	Scopes       []string      `json:"scopes"`
	AccessToken  string        `json:"accessToken"`
	RefreshToken string        `json:"refreshToken,omitempty"`
	ObtainedAt   time.Time     `json:"obtainedAt"`
	Expiry       time.Time     `json:"expiry"` // zero: unknown
}

// errToken marks errors about tokens that cannot be used.
var errToken = errors.New("")

// fill takes the tokens from a reply of the token endpoint. Fields that the reply leaves out stay as they
// were. sent is the code or refresh token of the request, masked in the scopes.
func (t *Token) fill(answer *oauth2.Token, sent string, now time.Time) error {
	switch {
	case !strings.EqualFold(answer.Type(), "Bearer"):
		return fmt.Errorf("it gave a token of another type than Bearer%w", errToken)
	case strings.ContainsFunc(answer.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("it gave a token with characters that no header can hold%w", errToken)
	}
	t.AccessToken = answer.AccessToken
	t.Expiry = answer.Expiry.Round(0)
	t.ObtainedAt = now.Round(0)
	if answer.RefreshToken != "" {
		t.RefreshToken = answer.RefreshToken
	}
	if granted, _ := answer.Extra("scope").(string); granted != "" {
		t.Scopes = strings.Fields(t.Client.hidden([]string{sent, t.RefreshToken, t.AccessToken}).OutOf(granted))
	}
	return nil
}

// maxEarly is how long before its expiry a token is replaced, so that it does not expire during a request.
// For short-lived tokens it is a tenth of the lifetime.
const maxEarly = 10 * time.Second

// Expired reports whether the access token needs to be replaced.
func (t *Token) Expired(now time.Time) bool {
	if t.Expiry.IsZero() {
		return false
	}
	early := min(maxEarly, t.Expiry.Sub(t.ObtainedAt)/10)
	return !now.Before(t.Expiry.Add(-early))
}

// Missing lists the wanted scopes that were not granted.
func (t *Token) Missing(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(s string) bool { return slices.Contains(t.Scopes, s) })
}

// LoginHint ends the messages of errors that only a new login resolves.
const LoginHint = "log in again: evalrun auth login --client-secrets FILE"

// authError returns an error that ends the run.
func authError(format string, args ...any) *eval.Error {
	e := eval.Errorf(eval.KindAuth, format, args...)
	e.Retry = eval.RetryNever
	return ofLogin(e)
}

// ofLogin marks an error as a problem of the login, rather than of one request.
func ofLogin(e *eval.Error) *eval.Error {
	e.Origin = eval.FromLogin
	return e
}
