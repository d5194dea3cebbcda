package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Server says how a vendor's client reaches a service: address, credentials and headers.
type Server struct {
	BaseURL     string      // Required. Without a trailing slash or with one
	Key         string      // Optional: sent where the protocol wants it
	TokenSource TokenSource // Optional: access tokens, sent as bearer tokens instead of a key
	// Headers are sent with every request. Optional.
	Headers http.Header
	// Secrets are further texts to mask in errors, such as values of headers. Optional.
	Secrets []string
	// Path replaces the protocol's path below BaseURL; {model} and, in the service's own protocol, {method} stand for both.
	// BaseURL must then include the version. Optional.
	Path        string
	UserAgent   string // Optional
	Connections int    // Optional: idle connections to keep; should be at least the concurrency
	ToEmulator  bool   // Optional: tell evalrun's emulator which trial a request belongs to
	// MaxTokensField names the field with the limit of output tokens, for chat-completions servers that do
	// not know max_completion_tokens. Optional; other protocols ignore it.
	MaxTokensField string
	// Resend says which thoughts go back in a conversation of chat completions.
	Resend string
	TLS    *tls.Config // Optional: replaces the certificates of the system
	// Patience is how long a request for a batch may make no progress. Optional, default 10 minutes.
	Patience time.Duration
	// Transport replaces the HTTP transport. Optional.
	Transport http.RoundTripper

	// Only the service's own protocol has these. All are optional.
	HeaderPrefix string // default x-svc: gives x-svc-api-key and x-svc-user-project
	KeyInQuery   bool   // send the key as ?key= instead of in the header
	Project      string // the cloud project in whose name requests with a TokenSource are made
	APIVersion   string // where a request names none; default v1
}

// TokenSource hands out access tokens. Its errors are *eval.Error.
type TokenSource interface {
	// Token returns a token that has not expired.
	Token(ctx context.Context) (string, error)
	// Renew replaces a token that was refused. It returns false for a new token: another would not help.
	Renew(ctx context.Context, refused string) (bool, error)
}

// Caller sends calls to a vendor.
type Caller struct {
	*Conn
	Server Server

	keyHeader string
}

// NewCaller returns a Caller without opening a connection. It sends the key in the header keyHeader, or as a bearer token
// if that is "". With camelKeys it writes the names of keys in replies in camelCase.
func NewCaller(s Server, keyHeader string, camelKeys bool) *Caller {
	s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	c := &Caller{Server: s, keyHeader: keyHeader}
	c.Conn = New(Config{
		Authenticator: c, Secrets: append([]string{s.Key}, s.Secrets...), UserAgent: s.UserAgent, Connections: s.Connections,
		TLS: s.TLS, Transport: s.Transport,
		KeepKeys: !camelKeys,
	})
	return c
}

// Renew implements Authenticator.
func (c *Caller) Renew(ctx context.Context, refused string) (bool, error) {
	return c.Server.TokenSource.Renew(ctx, refused)
}

// Authenticate adds the headers, and either the key or an access token.
func (c *Caller) Authenticate(req *http.Request) (token string, err error) {
	isForm := strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") // which nobody can read by another type
	for name, values := range c.Server.Headers {
		if name = http.CanonicalHeaderKey(name); name != "Content-Type" || !isForm {
			req.Header[name] = values
		}
	}
	switch {
	case c.Server.TokenSource != nil:
		if token, err = c.Server.TokenSource.Token(req.Context()); err != nil {
			return "", err
		}
		c.Hide(token)
		req.Header.Set("Authorization", "Bearer "+token)
	case c.Server.Key == "":
	case c.Server.KeyInQuery:
		q := req.URL.Query()
		q.Set("key", c.Server.Key)
		req.URL.RawQuery = q.Encode()
	case c.keyHeader == "":
		req.Header.Set("Authorization", "Bearer "+c.Server.Key)
	default:
		req.Header.Set(c.keyHeader, c.Server.Key)
	}
	return token, nil
}

// URL returns the address of a path below the base. Paths with {model} are for gateways.
func (c *Caller) URL(path, model string) string {
	return c.Server.BaseURL + "/" + strings.TrimLeft(strings.ReplaceAll(path, "{model}", url.PathEscape(model)), "/")
}

// AnswerFormat says how to read the answers of a protocol.
type AnswerFormat struct {
	// Parse reads a complete answer.
	Parse func(data []byte) (*eval.Response, error)
	// Stream returns an Assembly for a streamed answer.
	Stream func() Assembly
	// Explain adds advice to an error. A response that it returns counts instead of the error. Optional.
	Explain func(e *eval.Error) *eval.Response
}

// Assembly is an assembler with a response at the end of the stream.
type Assembly interface {
	assembler
	// Response returns the answer, or an error if it is incomplete.
	Response() (*eval.Response, error)
}

// Generate sends the call in a protocol once, unless that cannot express it, and reads the answer.
func (c *Caller) Generate(ctx context.Context, call *eval.Call, p Protocol, form AnswerFormat) (*eval.Response, error) {
	if err := p.Check(&call.Request); err != nil {
		return nil, c.Unsendable(err)
	}
	return c.Post(ctx, call, c.URL(c.Server.Path, call.Model), c.body(&call.Request, p), form)
}

func (c *Caller) body(r *eval.Request, p Protocol) []byte {
	return p.Body(r, options{MaxTokensField: c.Server.MaxTokensField, Resend: c.Server.Resend})
}

// Post sends the request of a call once and reads the answer. It records the timing of the call.
func (c *Caller) Post(ctx context.Context, call *eval.Call, at string, body []byte, form AnswerFormat) (*eval.Response, error) {
	ctx, release := c.Lease(ctx)
	defer release()
	request := func(ctx context.Context) (*http.Request, error) { return c.request(ctx, at, body, call.TrialID) }
	resp, err := c.post(ctx, call, request, form)
	return c.answer(resp, err, at, form)
}

// answer explains an error, and masks keys in an answer.
func (c *Caller) answer(resp *eval.Response, err error, at string, form AnswerFormat) (*eval.Response, error) {
	if err != nil && form.Explain != nil {
		e := *eval.AsError(err)
		said := e.Message
		resp, err = form.Explain(&e), &e
		if isNoAddress(&e) && e.Message == said {
			e.Message += "; check `protocol` and `baseUrl` of the service: it has nothing at " + c.Secrets().OutOf(pathOf(at))
			if !strings.Contains(at, "/v1") {
				e.Message += ", and most servers have /v1 there"
			}
		}
	}
	if resp == nil {
		return nil, err
	}
	for i := range resp.Candidates {
		c.Secrets().OutOfCandidate(&resp.Candidates[i])
	}
	return resp, nil
}

func (c *Caller) post(
	ctx context.Context, call *eval.Call, request func(context.Context) (*http.Request, error), form AnswerFormat,
) (*eval.Response, error) {
	if call.Stream {
		out := form.Stream()
		if err := c.Stream(ctx, request, &call.Timing, out); err != nil {
			return nil, err
		}
		return out.Response()
	}
	req, err := request(ctx)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	data, err := c.Do(req)
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	if err != nil {
		return nil, err
	}
	return form.Parse(data)
}

func (c *Caller) request(ctx context.Context, at string, body []byte, trialID string) (*http.Request, error) {
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, c.Unsendable(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Server.ToEmulator && trialID != "" {
		req.Header.Set(TrialHeader, trialID)
	}
	return req, nil
}

// Passed is a request of another program that passes to a service.
type Passed struct {
	Path   string // below the base address of the protocol
	Model  string // for a call of the protocol's own path, which a gateway replaces; "" for others
	Method string // as {method} in the path of a gateway
}

// Pass sends a request that another program made, with the credentials of the service instead of its own. The body and the other
// headers stay as they are, and so does the reply. A reply by which the service refuses comes next to its *eval.Error.
func (c *Caller) Pass(req *http.Request, to Passed) (*http.Response, error) {
	path := to.Path
	if to.Model != "" && c.Server.Path != "" {
		path = strings.ReplaceAll(c.Server.Path, "{method}", to.Method)
	}
	at, err := url.Parse(c.URL(path, to.Model))
	if err != nil {
		return nil, c.Unsendable(err)
	}
	query := at.Query()
	maps.Copy(query, req.URL.Query())
	at.RawQuery = query.Encode()
	req.URL, req.Host = at, at.Host
	if !c.Server.ToEmulator {
		req.Header.Del(TrialHeader)
	}
	token, err := c.Authenticate(req)
	if err != nil {
		return nil, err
	}
	resp, err := c.cfg.Transport.RoundTrip(req)
	if err != nil {
		return nil, c.transportError(req, err)
	}
	c.note(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()                                            //nolint:errcheck // it was only read
	said, _ := io.ReadAll(io.LimitReader(resp.Body, MaxResponseBytes)) // the status is enough if the body cannot be read
	resp.Body = io.NopCloser(bytes.NewReader(said))
	refused := c.refusal(req, resp, token)
	if resp.StatusCode < http.StatusBadRequest { // its client would go somewhere else
		return nil, refused
	}
	said = c.Secrets().OutOfAnswer(said)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(said)), int64(len(said))
	resp.Header.Set("Content-Length", strconv.Itoa(len(said)))
	return resp, refused
}

// isNoAddress reports whether the service has nothing at the address, rather than lacks the model.
func isNoAddress(e *eval.Error) bool {
	said := strings.ToLower(e.Message + " " + e.Code)
	return (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !strings.Contains(said, "model") &&
		!strings.Contains(said, "deploymentnotfound") && !strings.Contains(said, "no endpoints found")
}

// pathOf returns the path of an address, without the parts that may be secret.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return u.Path
}

// Question is a request that is not a call of a model.
type Question struct {
	URL     string
	Body    []byte       // nil: it is a GET
	Items   *Upload      // instead of Body; optional
	TrialID string       // to which it belongs, for an emulator; optional
	Timing  *eval.Timing // gets the latency; optional
}

// Ask sends a question, decodes the reply into v, and returns it.
func (c *Caller) Ask(ctx context.Context, q Question, v any) ([]byte, error) {
	ctx, release := c.Lease(ctx)
	defer release()
	req, err := c.request(ctx, q.URL, q.Body, q.TrialID)
	if err == nil && q.Items != nil {
		err = q.Items.into(req)
	}
	if err != nil {
		return nil, err
	}
	defer req.Body.Close() //nolint:errcheck // it was only read
	started := time.Now()
	data, err := c.Do(req)
	if q.Timing != nil {
		q.Timing.LatencyMs = eval.Milliseconds(time.Since(started))
	}
	if err != nil {
		return nil, err
	}
	return data, decodeReply(data, v)
}

// decodeReply decodes the reply to a question. It returns an error that the reply contains.
func decodeReply(data []byte, v any) error {
	if err := Decodable(data); err != nil {
		return err
	}
	var f Fields
	if json.Unmarshal(data, &f) == nil && (HasError(f["error"]) || f.isBareError("data", "id", "input_tokens")) {
		return ErrorIn(data)
	}
	return Decode(data, v)
}

// maxAnswer bounds the JSON values of an answer to a prompt.
const maxAnswer = 100_000

// DecodeAnswer decodes a JSON object that is an answer or a piece of one. It returns an error that the
// object contains. answer lists members of an answer; a valid answer has at least one of them.
func DecodeAnswer(data []byte, answer ...string) (Fields, error) {
	if tooMany(data, maxAnswer) {
		return nil, eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxAnswer, Excerpt(data))
	}
	f := Fields{}
	if err := Decode(data, &f); err != nil {
		if IsError(data) { // in a list
			return nil, ErrorIn(data)
		}
		return nil, err
	}
	if f.hasError(answer...) || f.isBareError(answer...) {
		return nil, ErrorIn(data)
	}
	delete(f, "error")
	return f, nil
}

// Misshapen returns the error for JSON that does not follow the protocol, and an *eval.Error as it is.
func Misshapen(err error, data []byte) error {
	if e := (*eval.Error)(nil); errors.As(err, &e) {
		return e
	}
	return eval.Errorf(eval.KindMalformed, "%s: %s", err, Excerpt(data))
}
