package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// HTTPConfig configures the client of an endpoint.
type HTTPConfig struct {
	Name        string // of the target, for errors
	Reading     eval.Reading
	TLS         *tls.Config      // Optional
	Secrets     []string         // masked in everything that is returned
	UserAgent   string           // Optional
	Connections int              // Optional: idle connections to keep; should be at least the concurrency
	Login       *Login           // Optional
	Tokens      wire.TokenSource // Optional: bearer tokens for the requests
	Late        bool             // what has arrived when the time is up is the answer
}

// httpClient calls an endpoint. It is safe for concurrent use.
type httpClient struct {
	conn      *wire.Conn
	read      *Reader
	userAgent string
	late      bool
	visits    *visits
	tokens    wire.TokenSource // nil without
}

// NewHTTP opens no connection. The expressions of the reading must have been checked.
func NewHTTP(cfg HTTPConfig) *httpClient {
	transport := wire.Transport(cfg.Connections, http.ProxyFromEnvironment)
	if cfg.TLS != nil {
		transport.TLSClientConfig = cfg.TLS.Clone()
	}
	return &httpClient{
		conn: wire.New(wire.Config{
			Authenticator: open{}, Secrets: cfg.Secrets, Transport: cookies{transport},
			Peer: "the target `" + cfg.Name + "`", Verbatim: true,
		}),
		read: NewReader(cfg.Reading), userAgent: cfg.UserAgent, late: cfg.Late, visits: newVisits(cfg.Login), tokens: cfg.Tokens,
	}
}

// open needs no login, because the credentials of an endpoint are in its headers.
type open struct{}

func (open) Authenticate(*http.Request) (string, error)  { return "", nil }
func (open) Renew(context.Context, string) (bool, error) { return false, nil }

// AtAuth begins the messages of errors of an endpoint that refuses a printed token.
const AtAuth = "the token of `auth`: "

// byToken says of a refusal that it is of a printed token.
func (h *httpClient) byToken(err error) error {
	e := eval.AsError(err)
	if h.tokens == nil || e.Kind != eval.KindAuth {
		return err
	}
	own := *e
	own.Message = AtAuth + e.Message
	return &own
}

// Close closes idle connections.
func (h *httpClient) Close() { h.conn.Close() }

// Generate calls the endpoint once. If that refuses what an earlier login gave, or a token, there is another one, and
// another call.
func (h *httpClient) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	ctx, release := h.conn.Lease(ctx)
	defer release()
	own := h.visits.of(call.TrialName)
	at := &trip{jars: []http.CookieJar{own.jar, h.visits.run.jar}}
	ctx = at.in(ctx)
	login, err := h.loggedIn(ctx, call, own, 0)
	if err != nil {
		return nil, err
	}
	token, err := h.token(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := h.call(ctx, call, login.values, token)
	switch {
	case login.number > 0 && at.refuses(login.path, err):
		if login, err = h.loggedIn(ctx, call, own, login.number); err != nil {
			return nil, err
		}
		if resp, err = h.call(ctx, call, login.values, ""); at.refuses(login.path, err) {
			return nil, unshownError(at.stillRefused(err), h.conn.Secrets())
		}
	case token != "" && at.refuses("", err):
		renewed, failed := h.tokens.Renew(ctx, token)
		if renewed {
			token, failed = h.token(ctx)
		}
		if failed != nil {
			return nil, failed
		}
		if renewed {
			return h.call(ctx, call, nil, token)
		}
	}
	return resp, err
}

// token returns a bearer token, "" without a source of some.
func (h *httpClient) token(ctx context.Context) (string, error) {
	if h.tokens == nil {
		return "", nil
	}
	token, err := h.tokens.Token(ctx)
	if err == nil {
		h.conn.Hide(token)
	}
	return token, err
}

func (h *httpClient) call(ctx context.Context, call *eval.Call, login map[string]string, token string) (*eval.Response, error) {
	sent, err := call.To.Render(&eval.Input{
		Vars:     call.Vars,
		System:   call.System,
		Messages: wire.Messages(call.Contents),
		Trial:    call.TrialName,
		Attempt:  call.Timing.Attempts,
		Login:    login,
	})
	if err != nil {
		return nil, &eval.Error{
			Kind:    eval.KindTransport,
			Message: h.conn.Secrets().OutOf("the request cannot be made: " + err.Error()),
			Retry:   eval.RetryNever,
			Unsent:  true,
		}
	}
	to, ok := sent.Payload.(*eval.HTTP)
	if !ok {
		return nil, fmt.Errorf("the request is %T, and not one for an endpoint", sent.Payload)
	}
	request := func(ctx context.Context) (*http.Request, error) { return h.request(ctx, call, to, token) }
	resp, err := h.answer(ctx, call, request)
	hidden := h.conn.Secrets()
	given := slices.Collect(maps.Values(login))
	if token != "" {
		given = append(given, token)
	}
	if len(given) > 0 { // the connection forgets the oldest of many
		hidden = wire.NewSecrets(slices.Concat(hidden.Keys(), given)...)
	}
	if err != nil {
		return nil, h.byToken(unshownError(err, hidden))
	}
	return unshown(resp, hidden), nil
}

func (h *httpClient) answer(
	ctx context.Context, call *eval.Call, request func(context.Context) (*http.Request, error),
) (*eval.Response, error) {
	if h.read.stream {
		out := &assembly{Reader: h.read}
		err := h.conn.Stream(ctx, request, &call.Timing, out)
		if h.ranOut(call, err) {
			return out.sofar(), nil
		}
		if err != nil {
			return nil, said(err)
		}
		return out.response()
	}
	req, err := request(ctx)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	body, mediaType, err := h.conn.Fetch(req)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if h.ranOut(call, err) {
		return new(extracted).response("", json.RawMessage("null")), nil
	}
	if err != nil {
		return nil, err
	}
	return h.read.body(body, mediaType)
}

// ranOut reports whether the time of a call was up, and what there is then is the answer.
func (h *httpClient) ranOut(call *eval.Call, err error) bool {
	if !h.late || err == nil || eval.AsError(err).Kind != eval.KindTimeout {
		return false
	}
	call.Timing.Limit = eval.LimitTime
	return true
}

// said turns an error event of a stream without a status into the application's own error.
func said(err error) error {
	var e *eval.Error
	if !errors.As(err, &e) || e.Kind != eval.KindStatus || e.Status != 0 {
		return err
	}
	own := *e
	own.Kind = eval.KindApp
	return &own
}

func (h *httpClient) request(ctx context.Context, call *eval.Call, sent *eval.HTTP, token string) (*http.Request, error) {
	var body io.Reader
	if sent.Body != "" {
		body = strings.NewReader(sent.Body)
	}
	req, err := http.NewRequestWithContext(ctx, sent.Method, sent.URL, body)
	if err != nil {
		return nil, h.conn.Unsendable(err)
	}
	for _, header := range sent.Headers {
		req.Header.Add(header.Name, header.Value)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	h.identify(call, req.Header)
	return req, nil
}

// identify adds the headers of every request, unless the suite sets them itself. Traceparent has a trace
// that the application may continue (W3C Trace Context). By Idempotency-Key it recognizes another attempt
// of the same request.
func (h *httpClient) identify(call *eval.Call, to http.Header) {
	set := func(name, value string) {
		if value != "" && to[name] == nil {
			to[name] = []string{value}
		}
	}
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails
	number := 1
	if call.Live { // each turn of the conversation is another request of the trial
		number = (len(call.Contents) + 1) / 2
	}
	accept := "application/json, text/plain;q=0.9, */*;q=0.8"
	if h.read.stream {
		accept = "text/event-stream"
	}
	set("User-Agent", h.userAgent)
	set("Accept", accept)
	set("Traceparent", "00-"+eval.TraceID(call.TrialName)+"-"+hex.EncodeToString(span[:])+"-01")
	set("Idempotency-Key", call.TrialName+"-"+strconv.Itoa(number))
}
