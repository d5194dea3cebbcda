package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

const (
	pageSize  = 100
	maxReply  = 32 << 20 // bytes of a page of comments
	maxReason = 300      // code points of a refusal's message
	timeout   = 30 * time.Second
)

// client sends requests to a forge, without retries: the next run of the job edits the same comment.
type client struct {
	base   string // without a slash at the end
	header http.Header
	http   http.Client
	advice string // for a token without write access
	hidden *wire.Secrets
}

func newClient(base, token string, header http.Header, advice string) (client, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return client{}, eval.BadInput("the address of the forge, %q, is not an http or https address", base)
	case wire.PlainHTTP(base):
		return client{}, eval.BadInput("the token would be sent to http://%s in the clear: use https, or an address of this machine", u.Host)
	}
	header.Set("User-Agent", "evalrun")
	hidden := wire.NewSecrets(append(wire.OfProxies(), token)...)
	c := client{base: strings.TrimRight(base, "/"), header: header, advice: advice, hidden: hidden}
	c.http.Timeout = timeout
	// a redirect could send the token elsewhere
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

type refused struct {
	status int
	err    error
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

// masked is an error without the token in its text: a forge, or what is in front of it, may echo it.
type masked struct {
	error

	text string
}

func (m *masked) Error() string { return m.text }
func (m *masked) Unwrap() error { return m.error }

// isRefused reports whether an error is a reply with one of the statuses.
func isRefused(err error, statuses ...int) bool {
	var r *refused
	if !errors.As(err, &r) {
		return false
	}
	return slices.Contains(statuses, r.status)
}

// call sends a request and decodes the reply into out. in is the JSON body; nil for none. Neither out nor the error has the token.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	err := c.send(ctx, method, path, in, out)
	if err == nil {
		return nil
	}
	return &masked{err, c.hidden.OutOf(err.Error())}
}

func (c *client) send(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return eval.BadInput("%w", err)
	}
	req.Header = c.header.Clone()
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	reply, err := c.http.Do(req)
	if err != nil {
		return eval.Incomplete("the forge does not answer: %w", err)
	}
	defer reply.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	switch {
	case err != nil:
		return eval.Incomplete("the forge broke off: %s %s: %w", method, path, err)
	case reply.StatusCode/100 != 2:
		return c.refusal(method, path, reply.StatusCode, data)
	case len(data) > maxReply:
		return eval.Incomplete("the reply to %s %s is larger than %d MiB", method, path, maxReply>>20)
	}
	if err := json.Unmarshal(c.hidden.OutOfAnswer(data), out); err != nil {
		return eval.Incomplete("the reply to %s %s is not what the forge documents: %w", method, path, err)
	}
	return nil
}

func (c *client) refusal(method, path string, status int, data []byte) error {
	var why struct{ Message, Error any }
	said := ""
	if json.Unmarshal(data, &why) == nil {
		for _, text := range []any{why.Message, why.Error} {
			if text != nil && said == "" {
				said = ": " + diag.CleanLine(c.hidden.OutOf(fmt.Sprint(text)))
			}
		}
	}
	if runes := []rune(said); len(runes) > maxReason {
		said = string(runes[:maxReason]) + "..."
	}
	err := eval.Incomplete("the forge refuses %s %s: status %d%s", method, path, status, said)
	if status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound {
		err = eval.Incomplete("%w\n  do: %s", err, c.advice)
	}
	return &refused{status, err}
}
