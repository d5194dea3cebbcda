package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/evalrun/evalrun/eval"
)

// Tokens hands out access tokens from a store and replaces those that have expired. It is safe for
// concurrent use, by several processes too.
type Tokens struct {
	store *Store
	mu    sync.Mutex
	now   *Token // as last read or written; nil before
}

// NewTokens makes a source of access tokens.
func NewTokens(store *Store) *Tokens { return &Tokens{store: store} }

// Token is an access token that has not expired. The error is an *eval.Error.
func (t *Tokens) Token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		if err := t.read(); err != nil {
			return "", err
		}
	}
	if !t.now.Expired(time.Now()) {
		return t.now.AccessToken, nil
	}
	return t.replace(ctx)
}

// Renew replaces a token that the service refused, unless somebody did that already. The error is an
// *eval.Error.
func (t *Tokens) Renew(ctx context.Context, refused string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || t.now.AccessToken != refused {
		return nil
	}
	_, err := t.replace(ctx)
	return err
}

func (t *Tokens) read() error {
	token, err := t.store.Load()
	if err != nil {
		return authError("%s", err)
	}
	t.now = token
	return nil
}

// grace is how much longer than its caller a refresh may take: an answer that is thrown away may hold the
// only refresh token that is still good.
const grace = 500 * time.Millisecond

// replace gets a new access token: the one that another process got meanwhile, or one from the token
// endpoint. The file is locked so that there is one refresh: where refresh tokens are for one use, a
// second would end the login.
func (t *Tokens) replace(asked context.Context) (string, error) {
	unlock, err := t.store.lock(asked)
	if err != nil {
		if asked.Err() != nil {
			return "", eval.Errorf(eval.KindTimeout, "another process was still refreshing the login")
		}
		return "", authError("%s", err)
	}
	defer unlock()
	old := t.now.AccessToken
	if err := t.read(); err != nil {
		return "", err
	}
	if t.now.AccessToken != old && !t.now.Expired(time.Now()) {
		return t.now.AccessToken, nil
	}
	if t.now.RefreshToken == "" {
		return "", authError("the login has expired, and the server gave no refresh token; %s", LoginAgain)
	}
	fresh := *t.now
	ctx, cancel := context.WithCancel(context.WithoutCancel(asked))
	defer cancel()
	defer context.AfterFunc(asked, func() { time.AfterFunc(grace, cancel) })()
	if err := fresh.refresh(ctx); err != nil {
		return "", err
	}
	if err := t.store.Save(&fresh); err != nil {
		return "", authError("%s", err)
	}
	t.now = &fresh
	return fresh.AccessToken, nil
}

// refresh asks the token endpoint for a new access token.
func (t *Token) refresh(ctx context.Context) error {
	answer, err := t.Client.token(ctx, func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
		return c.TokenSource(ctx, &oauth2.Token{RefreshToken: t.RefreshToken}).Token()
	}, "", nil)
	if err == nil {
		t.fill(answer, time.Now())
		return nil
	}
	var refused *oauth2.RetrieveError
	reason := explain(err, t.RefreshToken, t.AccessToken, t.Client.Secret)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return eval.Errorf(eval.KindCanceled, "canceled")
	case errors.As(err, &refused) && passing(refused.Response.StatusCode):
		return eval.Errorf(eval.KindTransport, "the login could not be refreshed: %s", reason)
	case errors.As(err, &refused):
		return authError("the login could not be refreshed (%s); %s", reason, LoginAgain)
	case ctx.Err() != nil:
		return eval.Errorf(eval.KindTimeout, "the login could not be refreshed in time")
	}
	return eval.Errorf(eval.KindTransport, "the login could not be refreshed: %s", reason)
}

// passing reports whether a status means trouble of the server that may pass.
func passing(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// Revoke tells the authorization server that the login is over (RFC 7009).
func (t *Token) Revoke(ctx context.Context, endpoint string) error {
	if problem := checkEndpoint(endpoint); problem != "" {
		return errors.New("the address for revocation " + problem)
	}
	token, hint := t.RefreshToken, "refresh_token"
	if token == "" {
		token, hint = t.AccessToken, "access_token"
	}
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if !t.Client.SecretInHeader {
		form.Set("client_id", t.Client.ID)
		if t.Client.Secret != "" {
			form.Set("client_secret", t.Client.Secret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return explain(err, token, t.Client.Secret)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if t.Client.SecretInHeader {
		req.SetBasicAuth(url.QueryEscape(t.Client.ID), url.QueryEscape(t.Client.Secret))
	}
	resp, err := direct().Do(req)
	if err != nil {
		return explain(err, token, t.Client.Secret)
	}
	_ = resp.Body.Close() // the status says it all
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &Refusal{Code: "HTTP status " + resp.Status}
	}
	return nil
}
