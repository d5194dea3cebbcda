package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
)

// Caller sends calls to a vendor.
type Caller struct {
	*Conn
	account   Account
	keyHeader string
	base      string
}

// NewCaller returns a Caller without opening a connection. It sends the key in the header keyHeader, or as
// a bearer token if that is "".
func NewCaller(a Account, keyHeader string) *Caller {
	c := &Caller{account: a, keyHeader: keyHeader, base: strings.TrimRight(a.BaseURL, "/")}
	c.Conn = New(Config{
		Authenticator: c, Secrets: append([]string{a.Key}, a.Secrets...), UserAgent: a.UserAgent, Connections: a.Connections,
		Transport: a.Transport,
		KeepKeys:  true,
	})
	return c
}

// Renew implements Authenticator.
func (c *Caller) Renew(ctx context.Context, refused string) (bool, error) {
	return c.account.TokenSource.Renew(ctx, refused)
}

// Authenticate adds the headers, and either the key or an access token.
func (c *Caller) Authenticate(req *http.Request) (token string, err error) {
	for name, values := range c.account.Headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case c.account.TokenSource != nil:
		if token, err = c.account.TokenSource.Token(req.Context()); err != nil {
			return "", err
		}
		c.Hide(token)
		req.Header.Set("Authorization", "Bearer "+token)
	case c.account.Key == "":
	case c.keyHeader == "":
		req.Header.Set("Authorization", "Bearer "+c.account.Key)
	default:
		req.Header.Set(c.keyHeader, c.account.Key)
	}
	return token, nil
}

// URL returns the address of a path below the base. Paths with {model} are for gateways.
func (c *Caller) URL(path, model string) string {
	return c.base + "/" + strings.TrimLeft(strings.ReplaceAll(path, "{model}", url.PathEscape(model)), "/")
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

// Assembly is an Assembler with a response at the end of the stream.
type Assembly interface {
	Assembler
	// Response returns the answer, or an error if it is incomplete.
	Response() (*eval.Response, error)
}

// Post sends the request of a call once and reads the answer. It records the timing of the call.
func (c *Caller) Post(ctx context.Context, call *eval.Call, at string, body []byte, form AnswerFormat) (*eval.Response, error) {
	ctx, release := c.Lease(ctx)
	defer release()
	request := func(ctx context.Context) (*http.Request, error) { return c.request(ctx, call, at, body) }
	resp, err := c.post(ctx, call, request, form)
	if err != nil && form.Explain != nil {
		e := *eval.AsError(err)
		said := e.Message
		resp, err = form.Explain(&e), &e
		if isNoAddress(&e) && e.Message == said {
			e.Message += "; check `protocol` and `baseUrl` of the service: it has nothing at " + c.Secrets().OutOf(pathOf(at))
		}
	}
	if resp == nil {
		return nil, err
	}
	for i := range resp.Candidates {
		c.HideIn(&resp.Candidates[i])
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

func (c *Caller) request(ctx context.Context, call *eval.Call, at string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return nil, c.Unsendable(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.account.ToEmulator && call.TrialID != "" {
		req.Header.Set(TrialHeader, call.TrialID)
	}
	return req, nil
}

// isNoAddress reports whether an error says that the service has nothing at the address, rather than that
// it lacks the model.
func isNoAddress(e *eval.Error) bool {
	said := strings.ToLower(e.Message + " " + e.Code)
	return (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !strings.Contains(said, "model")
}

// pathOf returns the path of an address, without the parts that may be secret.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return u.Path
}

// Ask sends a request that is not a call of a model, and decodes the reply into v.
func (c *Caller) Ask(ctx context.Context, at string, body []byte, v any) error {
	ctx, release := c.Lease(ctx)
	defer release()
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return c.Unsendable(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	data, err := c.Do(req)
	if err != nil {
		return err
	}
	var f Fields
	if json.Unmarshal(data, &f) == nil && (HasError(f["error"]) || f.IsBareError("data", "id", "input_tokens")) {
		return ErrorIn(data)
	}
	return Decode(data, v)
}

// maxAnswer bounds the JSON values of an answer to a prompt.
const maxAnswer = 100_000

// DecodeAnswer decodes a JSON object that is an answer or a piece of one. It returns an error that the
// object contains. answer lists members of an answer; a valid answer has at least one of them.
func DecodeAnswer(data []byte, answer ...string) (Fields, error) {
	if TooMany(data, maxAnswer) {
		return nil, eval.Errorf(eval.KindTooLarge, "the answer has more than %d values: %s", maxAnswer, Excerpt(data))
	}
	f := Fields{}
	if err := Decode(data, &f); err != nil {
		if IsError(data) { // in a list
			return nil, ErrorIn(data)
		}
		return nil, err
	}
	if HasError(f["error"]) || f.IsBareError(answer...) {
		return nil, ErrorIn(data)
	}
	delete(f, "error")
	return f, nil
}

// Misshapen returns the error for JSON that does not follow the protocol. An *eval.Error is returned
// unchanged.
func Misshapen(err error, data []byte) error {
	if e := (*eval.Error)(nil); errors.As(err, &e) {
		return e
	}
	return eval.Errorf(eval.KindMalformed, "%s: %s", err, Excerpt(data))
}
