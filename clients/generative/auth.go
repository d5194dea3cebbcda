package generative

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/secret"
)

// authenticate adds the key or an access token to a request. The token is returned, so that one that the
// service refuses can be replaced.
func (c *Client) authenticate(req *http.Request) (token string, err error) {
	switch {
	case c.cfg.Tokens != nil:
		if token, err = c.cfg.Tokens.Token(req.Context()); err != nil {
			return "", err
		}
		c.hide(token)
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

// secrets is what takes the key, the token and passwords of proxies out of texts.
func (c *Client) secrets() *secret.Set { return c.hidden.Load() }

// cleaned takes secrets out of an error that was read from an answer.
func (c *Client) cleaned(e *eval.Error) *eval.Error {
	e.Message, e.Code = c.secrets().OutOf(e.Message), c.secrets().OutOf(e.Code)
	return e
}

// maxHidden is how many texts are hidden at once: passwords and keys, and the last tokens, of which an
// answer on its way may still hold one.
const maxHidden = 12

// hide adds a key or a token to what must not show.
func (c *Client) hide(text string) {
	if known := c.hidden.Load(); known != nil && slices.Contains(known.Keys(), text) {
		return
	}
	c.hiding.Lock()
	defer c.hiding.Unlock()
	keys := append(secret.OfProxies(), c.cfg.Key)
	if known := c.hidden.Load(); known != nil {
		keys = slices.Clone(known.Keys())
	}
	if keys = append(keys, text); len(keys) > maxHidden {
		keys = slices.Delete(keys, len(keys)-3, len(keys)-2)
	}
	c.hidden.Store(secret.New(keys...))
}

// errKeyToProxy refuses to write a key into the log of a proxy.
var errKeyToProxy = errors.New("the key in the query would be read by the proxy: use https, or the key in the header (auth: apiKey)")

// proxy finds the proxy of a request.
func proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, errors.New("the address of the proxy in the environment is not one") // the error shows it, password and all
	}
	return guarded(req, u)
}

// guarded keeps a key in the query from a proxy that would see the whole address, as it does without
// TLS.
func guarded(req *http.Request, proxy *url.URL) (*url.URL, error) {
	if proxy != nil && req.URL.Scheme == "http" && req.URL.Query().Has("key") {
		return nil, errKeyToProxy
	}
	return proxy, nil
}
