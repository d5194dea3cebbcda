// Package generative is the client of the generative-language REST service. One call is one
// attempt: retries, limits and deadlines are decorators in internal/flow.
//
// It bounds what it reads, follows no redirect, and keeps the key out of every error. Whatever
// can go wrong comes back as one *eval.Error.
//
// The usual order: New, then Model for each model, then Generate.
package generative

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/secret"
)

// MaxResponseBytes is how much of a decoded answer is read.
const MaxResponseBytes = 16 << 20

// maxHeaderBytes bounds the headers of an answer.
const maxHeaderBytes = 1 << 20

// maxPages bounds the list of models.
const maxPages = 100

// Config says where the service is and how to talk to it.
type Config struct {
	BaseURL      string // Required. Without a trailing slash or with one
	HeaderPrefix string // Optional, default x-svc: gives x-svc-api-key and x-svc-user-project
	Key          string // Required, except with Tokens and by servers that want none
	KeyInQuery   bool   // Optional: send the key as ?key= instead of in the header
	Tokens       Tokens // Optional: OAuth access tokens, sent instead of a key
	Project      string // Required with Tokens: the cloud project in whose name requests are made
	APIVersion   string // Optional, default v1: where a request names none
	UserAgent    string // Optional
	Connections  int    // Optional: idle connections to keep; at least the concurrency
	ToEmulator   bool   // Optional: send eval.TrialHeader
	// Transport replaces the HTTP transport. Optional.
	Transport http.RoundTripper
}

// Tokens hands out OAuth access tokens. The errors are *eval.Error.
type Tokens interface {
	// Token is one that is good as far as is known.
	Token(ctx context.Context) (string, error)
	// Renew replaces one that the service refused; false when that is of no use, since it is new.
	Renew(ctx context.Context, refused string) (bool, error)
}

// Client talks to the service; safe for concurrent use.
type Client struct {
	cfg  Config
	base string
	room room        // of large answers
	fake atomic.Bool // the server said that it is the emulator
	skew atomic.Pointer[time.Duration]

	hidden atomic.Pointer[secret.Set] // the key and the tokens that were used last
	hiding sync.Mutex                 // held while hidden is replaced
}

// New makes a client. It opens no connection.
func New(cfg Config) *Client {
	if cfg.HeaderPrefix == "" {
		cfg.HeaderPrefix = eval.DefaultHeaderPrefix
	}
	if cfg.APIVersion == "" {
		cfg.APIVersion = eval.APIVersions[0]
	}
	if cfg.Transport == nil {
		cfg.Transport = transport(cfg.Connections)
	}
	c := &Client{cfg: cfg, base: strings.TrimRight(cfg.BaseURL, "/"), room: make(room, largeAtOnce)}
	c.hide(cfg.Key)
	return c
}

func transport(connections int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = proxy
	t.MaxIdleConns = max(connections, 2)
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return t
}

// Close gives up idle connections.
func (c *Client) Close() {
	if t, ok := c.cfg.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.fake.Load() }

// Skew is by how much the clock of whoever answered last is ahead of this machine's, by the Date of the answer and so to the second; false
// when no answer told. A proxy's answer counts too.
func (c *Client) Skew() (time.Duration, bool) {
	if skew := c.skew.Load(); skew != nil {
		return *skew, true
	}
	return 0, false
}

// Generate asks the model once, for a stream if the call says so. It fills in what call.Timing says of
// the attempt.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	ctx, release := c.room.leased(ctx)
	defer release()
	resp, err := c.generate(ctx, call)
	if err != nil {
		return nil, err
	}
	for i := range resp.Candidates { // joined from parts, over which the key may have been spread
		resp.Candidates[i].Text = c.secrets().OutOfText(resp.Candidates[i].Text)
	}
	return resp, nil
}

func (c *Client) generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.Stream {
		return c.stream(ctx, call)
	}
	data, err := c.ask(ctx, call, eval.MethodGenerate, requestBody(&call.Request, true))
	if err != nil {
		return nil, err
	}
	return ParseResponse(data)
}

// CountTokens asks how many tokens the contents of the call are.
func (c *Client) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	ctx, release := c.room.leased(ctx)
	defer release()
	data, err := c.ask(ctx, call, eval.MethodCountTokens, requestBody(&call.Request, false))
	if err != nil {
		return 0, err
	}
	var out struct {
		TotalTokens *number         `json:"totalTokens"`
		Error       json.RawMessage `json:"error"`
	}
	if err := decode(data, &out); err != nil {
		return 0, err
	}
	if hasError(out.Error) {
		return 0, errorInAnswer(data)
	}
	if out.TotalTokens == nil || !plausible(int(*out.TotalTokens)) {
		return 0, eval.Errorf(eval.KindMalformed, "the answer to countTokens has no totalTokens that could be true: %s", excerpt(data))
	}
	return int(*out.TotalTokens), nil
}

// Model asks for one model's metadata. An unknown model is an error of status 404.
func (c *Client) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	data, err := c.get(ctx, c.url(apiVersion, "models/"+url.PathEscape(id)))
	if err != nil {
		return nil, err
	}
	var m struct {
		wireModel
		Error json.RawMessage `json:"error"`
	}
	if err := decode(data, &m); err != nil {
		return nil, err
	}
	if hasError(m.Error) {
		return nil, errorInAnswer(data)
	}
	if m.Name == "" {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is not a model: %s", excerpt(data))
	}
	return new(m.model()), nil
}

// Models lists all models, page by page. A list of more than maxPages is an error.
func (c *Client) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	var out []eval.Model
	page := ""
	for range maxPages {
		u := c.url(apiVersion, "models")
		if page != "" {
			u += "?pageToken=" + url.QueryEscape(page)
		}
		data, err := c.get(ctx, u)
		if err != nil {
			return nil, err
		}
		var list struct {
			Models        *[]wireModel    `json:"models"`
			NextPageToken string          `json:"nextPageToken"`
			Error         json.RawMessage `json:"error"`
		}
		if err := decode(data, &list); err != nil {
			return nil, err
		}
		if hasError(list.Error) {
			return nil, errorInAnswer(data)
		}
		if list.Models == nil && page == "" {
			return nil, eval.Errorf(eval.KindMalformed, "the answer is not a list of models: %s", excerpt(data))
		}
		if list.Models != nil {
			for i := range *list.Models {
				out = append(out, (*list.Models)[i].model())
			}
		}
		if list.NextPageToken == "" || list.NextPageToken == page {
			return out, nil
		}
		page = list.NextPageToken
	}
	return nil, eval.Errorf(eval.KindTooLarge, "the list of models has more than %d pages", maxPages)
}

func (c *Client) url(apiVersion, path string) string {
	if apiVersion == "" {
		apiVersion = c.cfg.APIVersion
	}
	return c.base + "/" + url.PathEscape(apiVersion) + "/" + path
}

// requestBody encodes what a request asks. Counting takes the contents alone.
func requestBody(r *eval.Request, whole bool) []byte {
	b := append(make([]byte, 0, 512), `{"contents":`...)
	b = eval.AppendContents(b, r.Contents)
	if whole && r.GenerationConfig != nil {
		b = append(b, `,"generationConfig":`...)
		b = must(r.GenerationConfig.AppendJSON(b))
	}
	if whole && len(r.SafetySettings) > 0 {
		b = append(b, `,"safetySettings":`...)
		b = must(eval.AppendJSON(b, r.SafetySettings))
	}
	return append(b, '}')
}

// must is for what was checked and always encodes.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// ask sends a call to one of the methods of its model and reads the whole answer.
func (c *Client) ask(ctx context.Context, call *eval.Call, method string, body []byte) ([]byte, error) {
	req, err := c.request(ctx, call, method, body)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	data, err := c.do(req)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	return data, err
}

func (c *Client) request(ctx context.Context, call *eval.Call, method string, body []byte) (*http.Request, error) {
	req, err := c.post(ctx, call.APIVersion, call.Model, method, body)
	if err == nil && c.cfg.ToEmulator && call.TrialID != "" {
		req.Header.Set(eval.TrialHeader, call.TrialID)
	}
	return req, err
}

// post makes a request to one of the methods of a model.
func (c *Client) post(ctx context.Context, apiVersion, model, method string, body []byte) (*http.Request, error) {
	u := c.url(apiVersion, "models/"+url.PathEscape(model)+":"+method)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
	if err != nil {
		return nil, c.unsendable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

func (c *Client) get(ctx context.Context, u string) ([]byte, error) {
	ctx, release := c.room.leased(ctx)
	defer release()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, c.unsendable(err)
	}
	return c.do(req)
}

func (c *Client) unsendable(err error) error {
	return &eval.Error{Kind: eval.KindTransport, Message: c.secrets().OutOf("the request cannot be made: " + err.Error()), Permanent: true}
}

// do sends one request and reads the whole answer, keys in camelCase and the
// service's key taken out wherever it was echoed.
func (c *Client) do(req *http.Request) ([]byte, error) {
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	data, err := c.readAll(req.Context(), resp)
	if err != nil {
		return nil, c.bodyError(req, err)
	}
	return c.clean(data), nil
}

// clean takes the service's key out of what came, and writes keys in camelCase.
func (c *Client) clean(data []byte) []byte {
	return eval.CamelKeys(c.secrets().OutOfAnswer(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))))
}

// send makes one round trip. An answer without an error has a status of success and a body to
// read and close.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	token, err := c.authenticate(req)
	if err != nil {
		return nil, err
	}
	// A round trip follows no redirect, on which http.Client would send the key's header and the
	// prompt along, whatever the host.
	resp, err := c.cfg.Transport.RoundTrip(req)
	if err != nil {
		return nil, c.transportError(req, err)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		skew := time.Until(date).Round(time.Second)
		c.skew.Store(&skew)
	}
	if resp.Header.Get("Server") == eval.EmulatorName {
		c.fake.Store(true)
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()    //nolint:errcheck // it was only read
	if resp.StatusCode < 200 { // after 101 the connection is another protocol's, and no deadline ends reading from it
		return nil, &eval.Error{Kind: eval.KindMalformed, Status: resp.StatusCode, Message: "the service answers with a status that is no answer: " + c.secrets().OutOf(resp.Status)}
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, c.redirected(resp)
	}
	data, _ := c.readAll(req.Context(), resp) // the status says enough if the body does not come
	e := c.cleaned(statusError(resp, c.clean(data)))
	if resp.StatusCode == http.StatusUnauthorized && token != "" {
		if e.Renewed, err = c.cfg.Tokens.Renew(req.Context(), token); err != nil {
			return nil, err
		}
	}
	return nil, e
}

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", MaxResponseBytes)

// decoded is the body of an answer as it was before it was compressed for the way.
func (c *Client) decoded(ctx context.Context, resp *http.Response) (io.Reader, error) {
	encoding := strings.TrimSpace(resp.Header.Get("Content-Encoding"))
	switch strings.ToLower(encoding) {
	case "", "identity":
		return &roomy{Reader: resp.Body, ctx: ctx}, nil
	case "gzip", "x-gzip": // sent although nobody asked
		plain, err := gzip.NewReader(resp.Body)
		return &roomy{Reader: plain, ctx: ctx}, err
	default:
		return nil, eval.Errorf(eval.KindMalformed, "the answer is encoded as %q, which was not asked for", cutRunes(c.secrets().OutOf(encoding), 50))
	}
}

// readAll reads at most MaxResponseBytes of the decoded body.
func (c *Client) readAll(ctx context.Context, resp *http.Response) ([]byte, error) {
	body, err := c.decoded(ctx, resp)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= smallAnswer {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(body, MaxResponseBytes+1))
	if n > MaxResponseBytes {
		return nil, errTooLarge
	}
	return b.Bytes(), err
}

// transportError explains why no answer came, naming the address.
func (c *Client) transportError(req *http.Request, err error) error {
	if e := contextError(req.Context(), err); e != nil {
		return e
	}
	e := eval.Errorf(eval.KindTransport, "no answer from %s: %s", req.URL.Host, c.secrets().OutOf(err.Error()))
	var op *net.OpError
	e.Unsent = errors.As(err, &op) && op.Op == "dial"
	e.Permanent = isPermanent(err)
	return e
}

// isPermanent reports whether no retry can help: the other side is not who it says it is, or
// does not speak TLS.
func isPermanent(err error) bool {
	text := err.Error()
	return errors.Is(err, errKeyToProxy) || strings.Contains(text, "x509:") || strings.Contains(text, "server gave HTTP response to HTTPS client") ||
		strings.Contains(text, "unsupported protocol scheme")
}

func contextError(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return eval.Errorf(eval.KindCanceled, "canceled")
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return eval.Errorf(eval.KindTimeout, "no complete answer in time")
	}
	return nil
}

// bodyError explains why an answer could not be read to its end.
func (c *Client) bodyError(req *http.Request, err error) error {
	if e := contextError(req.Context(), err); e != nil {
		return e
	}
	var known *eval.Error
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &known):
		return c.cleaned(known)
	case errors.Is(err, errTooLarge):
		return eval.Errorf(eval.KindTooLarge, "%s", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return eval.Errorf(eval.KindTruncated, "the answer was cut off")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return eval.Errorf(eval.KindMalformed, "the answer says it is gzip and is not")
	}
	return eval.Errorf(eval.KindTransport, "the connection to %s broke: %s", req.URL.Host, c.secrets().OutOf(err.Error()))
}

func (c *Client) redirected(resp *http.Response) error {
	where := "somewhere else"
	if u, err := resp.Location(); err == nil {
		where = c.secrets().OutOf(u.Scheme + "://" + u.Host + u.Path)
	}
	return &eval.Error{
		Kind: eval.KindStatus, Status: resp.StatusCode, Permanent: true,
		Message: fmt.Sprintf("the service redirects to %s; redirects are not followed, since key and prompt would go along", where),
	}
}

// retryAfter reads the Retry-After header: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return seconds(v)
}
