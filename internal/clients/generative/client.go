// Package generative is a client for the generative-language REST service. One call is one attempt:
// retries, limits and deadlines are decorators in internal/flow.
//
// The client bounds what it reads, follows no redirect, and masks the key in every error. All failures are
// of type *eval.Error.
//
// The usual order: New, then Model for each model, then Generate.
package generative

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// maxPages bounds the pages of a list of models.
const maxPages = 100

// Config has the address of the service and the credentials.
type Config struct {
	BaseURL      string           // Required. Without a trailing slash or with one
	HeaderPrefix string           // Optional, default x-svc: gives x-svc-api-key and x-svc-user-project
	Key          string           // Required, except with TokenSource and by servers that want none
	KeyInQuery   bool             // Optional: send the key as ?key= instead of in the header
	TokenSource  wire.TokenSource // Optional: OAuth access tokens, sent instead of a key
	Project      string           // Required with TokenSource: the cloud project in whose name requests are made
	APIVersion   string           // Optional, default v1: where a request names none
	UserAgent    string           // Optional
	Connections  int              // Optional: idle connections to keep; at least the concurrency
	ToEmulator   bool             // Optional: send wire.TrialHeader
	// Path replaces the path of a call below BaseURL; {model} and {method} stand for both. BaseURL must
	// then include the version. Optional, default models/{model}:{method} below the version.
	Path string
	// Headers are sent with every request. Optional.
	Headers http.Header
	// Secrets are further texts to mask in errors, such as values of headers. Optional.
	Secrets []string
	// Transport replaces the HTTP transport. Optional.
	Transport http.RoundTripper
}

// Client calls the service. It is safe for concurrent use.
type Client struct {
	conn *wire.Conn
	cfg  Config
	base string
}

// New returns a client without opening a connection.
func New(cfg Config) *Client {
	if cfg.HeaderPrefix == "" {
		cfg.HeaderPrefix = wire.DefaultHeaderPrefix
	}
	if cfg.APIVersion == "" {
		cfg.APIVersion = wire.APIVersions[0]
	}
	c := &Client{cfg: cfg, base: strings.TrimRight(cfg.BaseURL, "/")}
	c.conn = wire.New(wire.Config{
		Authenticator: auth{c}, Secrets: append([]string{cfg.Key}, cfg.Secrets...), UserAgent: cfg.UserAgent,
		Connections: cfg.Connections, Transport: cfg.Transport,
	})
	return c
}

// Close closes idle connections.
func (c *Client) Close() { c.conn.Close() }

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Client) Emulated() bool { return c.conn.Emulated() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *Client) Skew() (time.Duration, bool) { return c.conn.Skew() }

// Generate sends the call to the model once, as a stream if the call wants one. It records the times of the
// attempt in call.Timing.
func (c *Client) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	ctx, release := c.conn.Lease(ctx)
	defer release()
	resp, err := c.generate(ctx, call)
	if err != nil {
		return nil, err
	}
	for i := range resp.Candidates {
		c.conn.HideIn(&resp.Candidates[i])
	}
	return resp, nil
}

func (c *Client) generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	if call.Stream {
		return c.stream(ctx, call)
	}
	data, err := c.ask(ctx, call, wire.MethodGenerate, requestBody(&call.Request))
	if err != nil {
		return nil, err
	}
	return ParseResponse(data)
}

// CountTokens returns the number of tokens in the whole prompt, including its system text and tools.
func (c *Client) CountTokens(ctx context.Context, call *eval.Call) (int, error) {
	ctx, release := c.conn.Lease(ctx)
	defer release()
	data, err := c.ask(ctx, call, wire.MethodCountTokens, countBody(&call.Request))
	if err != nil {
		return 0, err
	}
	var out struct {
		TotalTokens *wire.LenientInt `json:"totalTokens"`
		Error       json.RawMessage  `json:"error"`
	}
	if err := wire.Decode(data, &out); err != nil {
		return 0, err
	}
	if wire.HasError(out.Error) {
		return 0, wire.ErrorIn(data)
	}
	if out.TotalTokens == nil || implausible(int(*out.TotalTokens)) {
		return 0, eval.Errorf(eval.KindMalformed, "the answer to countTokens has no valid totalTokens: %s", wire.Excerpt(data))
	}
	return int(*out.TotalTokens), nil
}

// Model returns the metadata of one model. An unknown model is an error with status 404.
func (c *Client) Model(ctx context.Context, apiVersion, id string) (*eval.Model, error) {
	data, err := c.get(ctx, c.below(apiVersion, "models/"+url.PathEscape(id)))
	if err != nil {
		return nil, err
	}
	var m struct {
		wireModel
		Error json.RawMessage `json:"error"`
	}
	if err := wire.Decode(data, &m); err != nil {
		return nil, err
	}
	if wire.HasError(m.Error) {
		return nil, wire.ErrorIn(data)
	}
	if m.Name == "" {
		return nil, eval.Errorf(eval.KindMalformed, "the answer is not a model: %s", wire.Excerpt(data))
	}
	return new(m.model()), nil
}

// Models lists all models, page by page. More than maxPages pages are an error.
func (c *Client) Models(ctx context.Context, apiVersion string) ([]eval.Model, error) {
	var out []eval.Model
	page := ""
	for range maxPages {
		models, next, err := c.modelsOn(ctx, apiVersion, page)
		if err != nil {
			return nil, err
		}
		out = append(out, models...)
		if next == "" || next == page {
			return out, nil
		}
		page = next
	}
	return nil, eval.Errorf(eval.KindTooLarge, "the list of models has more than %d pages", maxPages)
}

// modelsOn returns one page of models and the token of the next page. The first page is "".
func (c *Client) modelsOn(ctx context.Context, apiVersion, page string) (out []eval.Model, next string, err error) {
	u := c.below(apiVersion, "models")
	if page != "" {
		u += "?pageToken=" + url.QueryEscape(page)
	}
	data, err := c.get(ctx, u)
	if err != nil {
		return nil, "", err
	}
	var list struct {
		Models        *[]wireModel    `json:"models"`
		NextPageToken string          `json:"nextPageToken"`
		Error         json.RawMessage `json:"error"`
	}
	if err := wire.Decode(data, &list); err != nil {
		return nil, "", err
	}
	if wire.HasError(list.Error) {
		return nil, "", wire.ErrorIn(data)
	}
	if list.Models == nil && page == "" {
		return nil, "", eval.Errorf(eval.KindMalformed, "the answer is not a list of models: %s", wire.Excerpt(data))
	}
	if list.Models != nil {
		for i := range *list.Models {
			out = append(out, (*list.Models)[i].model())
		}
	}
	return out, list.NextPageToken, nil
}

// below appends a path to the base address and the version of the API.
func (c *Client) below(apiVersion, path string) string {
	if c.cfg.Path != "" { // the base address includes the version
		return c.base + "/" + path
	}
	return c.base + "/" + url.PathEscape(cmp.Or(apiVersion, c.cfg.APIVersion)) + "/" + path
}

func (c *Client) method(apiVersion, model, method string) string {
	if c.cfg.Path == "" {
		return c.below(apiVersion, "models/"+url.PathEscape(model)+":"+method)
	}
	return c.below(apiVersion, strings.NewReplacer("{model}", url.PathEscape(model), "{method}", method).Replace(c.cfg.Path))
}

// must panics on an error: what it encodes was checked when the suite was loaded.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// ask calls a method of the model and returns the body of the reply.
func (c *Client) ask(ctx context.Context, call *eval.Call, method string, body []byte) ([]byte, error) {
	req, err := c.request(ctx, call, method, body)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	data, err := c.conn.Do(req)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	return data, err
}

func (c *Client) request(ctx context.Context, call *eval.Call, method string, body []byte) (*http.Request, error) {
	req, err := c.post(ctx, call.APIVersion, call.Model, method, body)
	if err == nil && c.cfg.ToEmulator && call.TrialID != "" {
		req.Header.Set(wire.TrialHeader, call.TrialID)
	}
	return req, err
}

func (c *Client) post(ctx context.Context, apiVersion, model, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.method(apiVersion, model, method),
		bytes.NewReader(body))
	if err != nil {
		return nil, c.conn.Unsendable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

func (c *Client) get(ctx context.Context, u string) ([]byte, error) {
	ctx, release := c.conn.Lease(ctx)
	defer release()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, c.conn.Unsendable(err)
	}
	return c.conn.Do(req)
}
