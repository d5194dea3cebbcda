package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/evalrun/evalrun/eval"
)

// AccessTokens hands out access tokens from a store and replaces expired ones. It is safe for concurrent use,
// also by several processes. The caller closes it.
type AccessTokens struct {
	store  *LoginFile
	notice func(string)

	mu        sync.Mutex
	now       *Token   // as last read or written; nil at first
	replacing *replace // in progress, or nil
}

// replace is a refresh in progress, for which several callers may wait.
type replace struct {
	done chan struct{}
	err  error
}

// NewAccessTokens returns a source of tokens. notice gets warnings about failures that leave a usable token.
func NewAccessTokens(store *LoginFile, notice func(string)) *AccessTokens {
	return &AccessTokens{store: store, notice: notice}
}

// closing is how long Close waits for a refresh, whose reply may have the only valid refresh token.
const closing = 3 * time.Second

// Close waits for a refresh in progress, for a limited time.
func (t *AccessTokens) Close() {
	t.mu.Lock()
	r := t.replacing
	t.mu.Unlock()
	if r == nil {
		return
	}
	timer := time.NewTimer(closing)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	}
}

// Token returns an access token that has not expired. The error is an *eval.Error.
func (t *AccessTokens) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	if t.now == nil {
		if err := t.read(); err != nil {
			t.mu.Unlock()
			return "", err
		}
	}
	if !t.now.Expired(time.Now()) {
		defer t.mu.Unlock()
		return t.now.AccessToken, nil
	}
	r := t.begin()
	t.mu.Unlock()
	if err := r.wait(ctx); err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now.AccessToken, nil
}

// fresh is how long a token counts as new. If the service refuses a new token, another one would not help.
const fresh = 30 * time.Second

// Renew replaces a token that the service refused, unless another worker already did. It returns false when
// the token is new or there is no refresh token. The error is an *eval.Error.
func (t *AccessTokens) Renew(ctx context.Context, refused string) (bool, error) {
	t.mu.Lock()
	switch {
	case t.now == nil || t.now.AccessToken != refused:
		t.mu.Unlock()
		return true, nil
	case time.Since(t.now.ObtainedAt) < fresh && !t.now.Expired(time.Now()), t.now.RefreshToken == "":
		t.mu.Unlock()
		return false, nil
	}
	r := t.begin()
	t.mu.Unlock()
	return true, r.wait(ctx)
}

func (r *replace) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return eval.Errorf(eval.KindCanceled, "canceled")
	}
	return ofLogin(eval.Errorf(eval.KindTimeout, "the login could not be refreshed in time"))
}

// begin starts a refresh, or returns the one in progress; it outlives its callers. The caller holds mu.
func (t *AccessTokens) begin() *replace {
	if t.replacing != nil {
		return t.replacing
	}
	r := &replace{done: make(chan struct{})}
	t.replacing = r
	old := *t.now
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), endpointTimeout)
		defer cancel()
		token, err := t.replace(ctx, &old)
		t.mu.Lock()
		defer t.mu.Unlock()
		if r.err = err; err == nil {
			t.now = token
		}
		t.replacing = nil
		close(r.done)
	}()
	return r
}

func (t *AccessTokens) read() error {
	token, err := t.store.Load()
	if err != nil {
		return authError("%s", err)
	}
	t.now = token
	return nil
}

// replace returns a new access token: one that another process has stored meanwhile, or one from the token
// endpoint. It locks the file so that only one process refreshes. Where refresh tokens are valid once, a
// second refresh would end the login.
func (t *AccessTokens) replace(ctx context.Context, old *Token) (*Token, error) {
	unlock, err := t.store.lock(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ofLogin(eval.Errorf(eval.KindTimeout, "another process was still refreshing the login"))
		}
		return nil, authError("%s", err)
	}
	defer unlock()
	token, err := t.store.Load()
	if err != nil {
		return nil, authError("%s", err)
	}
	if token.AccessToken != old.AccessToken && !token.Expired(time.Now()) {
		return token, nil
	}
	if err := t.refresh(ctx, token); err != nil {
		return nil, err
	}
	return token, nil
}

func (t *AccessTokens) refresh(ctx context.Context, token *Token) error {
	if token.RefreshToken == "" {
		return authError("the login has expired, and the server gave no refresh token; %s", LoginHint)
	}
	if err := t.store.save(token); err != nil { // a file that cannot be written must fail before the refresh token is used up
		return authError("%s", err)
	}
	if err := token.refresh(ctx); err != nil {
		return err
	}
	if err := t.store.save(token); err != nil {
		t.notice("warning: " + err.Error() + "; it is good for this command only")
	}
	return nil
}

func (t *Token) refresh(ctx context.Context) error {
	answer, err := t.Client.token(ctx, func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: t.RefreshToken}).Token()
	}, "", nil)
	if err == nil {
		if err = t.fill(answer, t.RefreshToken, time.Now()); err == nil {
			return nil
		}
	}
	var refused *oauth2.RetrieveError
	reason := t.Client.explain(err, t.RefreshToken, t.AccessToken)
	switch {
	case errors.As(err, &refused) && !passing(refused.Response.StatusCode):
		return authError("%s did not refresh the login (%s); %s", t.Client.tokenHost(), reason, LoginHint)
	case ctx.Err() != nil:
		return ofLogin(eval.Errorf(eval.KindTimeout, "%s did not refresh the login in time", t.Client.tokenHost()))
	}
	return ofLogin(eval.Errorf(eval.KindTransport, "%s did not refresh the login: %s", t.Client.tokenHost(), reason))
}

func passing(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// Revoke ends the login at the authorization server (RFC 7009).
func (t *Token) Revoke(ctx context.Context, endpoint string) error {
	if err := CheckEndpoint(endpoint); err != nil {
		return fmt.Errorf("the address for revocation %w", err)
	}
	token, hint := t.RefreshToken, "refresh_token"
	if token == "" {
		token, hint = t.AccessToken, "access_token"
	}
	req, err := t.Client.revocation(ctx, endpoint, url.Values{"token": {token}, "token_type_hint": {hint}})
	if err != nil {
		return t.Client.explain(err, token)
	}
	resp, err := direct().Do(req)
	if err != nil {
		return t.Client.explain(err, token)
	}
	_ = resp.Body.Close() // the status is enough
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return t.Client.refusal("HTTP status "+resp.Status, "", token)
	}
	return nil
}

// revocation authenticates the client as the token endpoint wants it.
func (c *desktopClient) revocation(ctx context.Context, endpoint string, form url.Values) (*http.Request, error) {
	if !c.SecretInHeader {
		form.Set("client_id", c.ID)
		if c.Secret != "" {
			form.Set("client_secret", c.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.SecretInHeader {
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	return req, nil
}
