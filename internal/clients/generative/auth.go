package generative

import (
	"context"
	"net/http"
)

type auth struct{ *Client }

// Renew implements wire's retry after a refused access token.
func (c auth) Renew(ctx context.Context, refused string) (bool, error) {
	return c.cfg.TokenSource.Renew(ctx, refused)
}

// Authenticate adds the headers, and either the key or an access token.
func (c auth) Authenticate(req *http.Request) (token string, err error) {
	for name, values := range c.cfg.Headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case c.cfg.TokenSource != nil:
		if token, err = c.cfg.TokenSource.Token(req.Context()); err != nil {
			return "", err
		}
		c.conn.Hide(token)
		req.Header.Set("Authorization", "Bearer "+token)
		if c.cfg.Project != "" {
			req.Header.Set(c.cfg.HeaderPrefix+"-user-project", c.cfg.Project)
		}
	case c.cfg.Key == "":
	case c.cfg.KeyInQuery:
		q := req.URL.Query()
		q.Set("key", c.cfg.Key)
		req.URL.RawQuery = q.Encode()
	default:
		req.Header.Set(c.cfg.HeaderPrefix+"-api-key", c.cfg.Key)
	}
	return token, nil
}
