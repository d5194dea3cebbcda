// Package wire is the base of the clients of all protocols: it sends a request and reads the reply. It
// bounds what it reads, follows no redirect, masks keys in everything it returns, and turns all failures
// into *eval.Error.
//
// A vendor's client makes a Caller by NewCaller, and each call is one Caller.Post. It builds answers with
// Pieces, and streamed ones with an Assembly. Other clients use the lower level, a Conn: New, then
// Conn.Lease, then Conn.Do or Conn.Stream.
package wire

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// MaxResponseBytes bounds a decoded answer.
const MaxResponseBytes = 16 << 20

const maxHeaderBytes = 1 << 20

// Config configures a Conn.
type Config struct {
	Authenticator authenticator
	Secrets       []string          // masked in everything that is returned
	UserAgent     string            // Optional
	Connections   int               // Optional: idle connections to keep; should be at least the concurrency
	TLS           *tls.Config       // Optional: replaces the certificates of the system
	Transport     http.RoundTripper // Optional: replaces the HTTP transport
	// Peer is the other side in error messages. Optional, default: the service
	Peer string
	// Verbatim keeps replies unchanged, except for secrets: names of keys, and spaces in events. A stream
	// may then end with its response.
	Verbatim bool
	// KeepKeys keeps the names of keys, for protocols other than the service's own.
	KeepKeys bool
}

type authenticator interface {
	// Authenticate returns the access token that it added, "" if it added none that can be replaced.
	Authenticate(req *http.Request) (token string, err error)
	// Renew replaces a token that was refused. It returns false for a new token: another would not help.
	Renew(ctx context.Context, refused string) (bool, error)
}

// Conn sends the requests of one client. It is safe for concurrent use.
type Conn struct {
	cfg  Config
	room room        // for large answers
	fake atomic.Bool // a reply came from the emulator
	time atomic.Pointer[clock]

	hidden atomic.Pointer[Secrets] // the keys, and the tokens used last
	hiding sync.Mutex              // held while hidden is replaced
	fixed  int                     // how many texts in hidden are not tokens
}

// New returns a Conn without opening a connection.
func New(cfg Config) *Conn {
	cfg.Peer = cmp.Or(cfg.Peer, "the service")
	if cfg.Transport == nil {
		t := Transport(cfg.Connections, http.ProxyFromEnvironment)
		if cfg.TLS != nil {
			t.TLSClientConfig = cfg.TLS.Clone()
		}
		cfg.Transport = t
	}
	c := &Conn{cfg: cfg, room: make(room, largeAtOnce)}
	keys := append(OfProxies(), cfg.Secrets...)
	c.fixed = len(keys)
	c.hidden.Store(NewSecrets(keys...))
	return c
}

// Transport keeps this many idle connections and bounds headers. proxy returns the proxy for a request, as
// http.ProxyFromEnvironment does. It refuses a proxy that could read a key in the query.
func Transport(connections int, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = guarded(proxy)
	t.MaxIdleConns = max(connections, 2)
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.ReadBufferSize = 16 << 10 // chunks of a stream that came together are read at once
	return t
}

// Close closes idle connections.
func (c *Conn) Close() {
	if t, ok := c.cfg.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Emulated reports whether an answer came from evalrun's emulator.
func (c *Conn) Emulated() bool { return c.fake.Load() }

// Skew returns how far the clock of the service is ahead of this machine's, to the second, from the Date
// header of the last answer. It returns false when no answer had one. Proxies may have set the header.
func (c *Conn) Skew() (time.Duration, bool) {
	if r := c.time.Load(); r != nil {
		return r.skew, true
	}
	return 0, false
}

type clock struct {
	date string        // the header itself
	skew time.Duration // how far it is ahead
}

// Unsendable returns the error for a request that could not be made.
func (c *Conn) Unsendable(err error) error {
	return &eval.Error{
		Kind: eval.KindTransport, Retry: eval.RetryNever,
		Message: c.Secrets().OutOf("the request cannot be made: " + err.Error()),
	}
}

// Do sends one request and returns the whole reply, with keys in camelCase and secrets masked.
func (c *Conn) Do(req *http.Request) ([]byte, error) {
	data, _, err := c.fetch(req)
	return data, err
}

// Fetch is Do, and also returns the media type, "" if there is none.
func (c *Conn) Fetch(req *http.Request) (data []byte, mediaType string, err error) {
	data, header, err := c.fetch(req)
	mediaType, _, _ = mime.ParseMediaType(header.Get("Content-Type"))
	return data, mediaType, err
}

// fetch is Do, and also returns the headers.
func (c *Conn) fetch(req *http.Request) ([]byte, http.Header, error) {
	resp, err := c.send(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	data, err := c.readAll(req.Context(), resp)
	if err != nil {
		return nil, nil, c.bodyError(req, err)
	}
	return c.clean(data), resp.Header, nil
}

// masked is a reply, or a piece of one, without secrets.
func (c *Conn) masked(data []byte) []byte {
	return c.Secrets().OutOfAnswer(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")))
}

// clean is a reply without secrets, with keys in camelCase.
func (c *Conn) clean(data []byte) []byte {
	data = c.masked(data)
	if c.cfg.Verbatim || c.cfg.KeepKeys {
		return data
	}
	return wirejson.CamelKeys(data)
}

// send makes one round trip. Only success is no error. The caller closes the body.
func (c *Conn) send(req *http.Request) (*http.Response, error) {
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	token, err := c.cfg.Authenticator.Authenticate(req)
	if err != nil {
		return nil, err
	}
	// http.Client would follow redirects, and send the key's header and the prompt to any host.
	resp, err := c.cfg.Transport.RoundTrip(req)
	if err != nil {
		return nil, c.transportError(req, err)
	}
	c.note(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 && !isPart(resp) {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	return nil, c.refusal(req, resp, token)
}

// isPart reports whether a reply is a range of bytes or a change, which caches and proxies may send.
func isPart(resp *http.Response) bool {
	return resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusIMUsed || resp.Header.Get("Content-Range") != ""
}

// note records what the headers say about the service: its clock, and whether it is the emulator.
func (c *Conn) note(resp *http.Response) {
	date := resp.Header.Get("Date")
	if known := c.time.Load(); known == nil || known.date != date { // the header changes only once per second
		if at, err := http.ParseTime(date); err == nil {
			c.time.Store(&clock{date, time.Until(at).Round(time.Second)})
		}
	}
	if resp.Header.Get("Server") == EmulatorName {
		c.fake.Store(true)
	}
}

// refusal returns the error for a status other than success. token is the one that the request had.
func (c *Conn) refusal(req *http.Request, resp *http.Response, token string) error {
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return &eval.Error{
			Kind: eval.KindTruncated, Status: resp.StatusCode,
			Message: c.cfg.Peer + " sends only a part of its answer: " + c.Secrets().OutOf(resp.Status),
		}
	}
	if resp.StatusCode < 200 { // after 101 the connection speaks another protocol, and no deadline ends a read
		return &eval.Error{
			Kind:    eval.KindMalformed,
			Status:  resp.StatusCode,
			Message: c.cfg.Peer + " answers with a status that is not an answer: " + c.Secrets().OutOf(resp.Status),
		}
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return c.redirected(resp)
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return refusedByProxy(req)
	}
	data, _ := c.readAll(req.Context(), resp) // the status is enough if the body cannot be read
	e := c.cleaned(statusError(resp, c.clean(data)))
	if resp.StatusCode == http.StatusUnauthorized && token != "" {
		renewed, err := c.cfg.Authenticator.Renew(req.Context(), token)
		if err != nil {
			return err
		}
		if renewed && e.Retry != eval.RetryNever {
			e.Retry = eval.RetryWithLogin
		}
	}
	return e
}

// ErrTooLarge is returned for an answer beyond MaxResponseBytes.
var ErrTooLarge = fmt.Errorf("the answer is larger than %d bytes", MaxResponseBytes)

func (c *Conn) decoded(ctx context.Context, resp *http.Response) (io.Reader, error) {
	encoding := strings.TrimSpace(resp.Header.Get("Content-Encoding"))
	switch strings.ToLower(encoding) {
	case "", "identity":
		return &roomy{Reader: resp.Body, ctx: ctx}, nil
	case "gzip", "x-gzip": // some servers compress although the request does not accept it
		plain, err := gzip.NewReader(resp.Body)
		return &roomy{Reader: plain, ctx: ctx}, err
	default:
		return nil, eval.Errorf(
			eval.KindMalformed, "the answer is encoded as %q, which evalrun does not accept",
			cutRunes(c.Secrets().OutOf(encoding), 50),
		)
	}
}

func (c *Conn) readAll(ctx context.Context, resp *http.Response) ([]byte, error) {
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
		return nil, ErrTooLarge
	}
	return b.Bytes(), err
}

func (c *Conn) transportError(req *http.Request, err error) error {
	if e := contextError(req.Context(), err); e != nil {
		return e
	}
	if strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)) {
		return refusedByProxy(req)
	}
	e := eval.Errorf(eval.KindTransport, "no answer from %s: %s", req.URL.Host, c.Secrets().OutOf(failure(err, req)))
	var op *net.OpError
	e.Unsent = errors.As(err, &op) && op.Op == "dial"
	if isPermanent(err) {
		e.Retry = eval.RetryNever
	}
	return e
}

// isPermanent reports whether a retry cannot help: the other side has a wrong certificate, or does not
// speak TLS. The packages of Go have types for some of these errors only, and wrap them differently.
func isPermanent(err error) bool {
	text := err.Error()
	return errors.Is(err, errKeyToProxy) || strings.Contains(text, "x509:") ||
		strings.Contains(text, "remote error: tls:") ||
		strings.Contains(text, "server gave HTTP response to HTTPS client") ||
		strings.Contains(text, "unsupported protocol scheme")
}

// failure is the text of an error of a connection, with what helps against it.
func failure(err error, req *http.Request) string {
	var unknown x509.UnknownAuthorityError
	var lookup *net.DNSError
	switch {
	case strings.Contains(err.Error(), "proxyconnect"):
		return err.Error() + ": that is the proxy in " + proxyVariable(req)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return err.Error() + ": check the address and the network; behind a proxy, set " + proxyVariable(req)
	case errors.Is(err, syscall.ECONNREFUSED):
		return err.Error() + ": check that the server runs, and the port"
	case errors.As(err, &unknown) && unknown.Cert != nil:
		return fmt.Sprintf(
			"certificate signed by unknown authority %q: name its PEM file in `tls: {ca: FILE}` of the service or target, or in SSL_CERT_FILE",
			cutRunes(unknown.Cert.Issuer.String(), 100),
		)
	case strings.Contains(err.Error(), "tls: certificate required"):
		return err.Error() + ": name yours in `tls: {cert: FILE, key: FILE}` of the service or target"
	}
	return err.Error()
}

// proxyVariable names the variable with the proxy for a request.
func proxyVariable(req *http.Request) string { return strings.ToUpper(req.URL.Scheme) + "_PROXY" }

// refusedByProxy is the error for status 407, by which a proxy asks for credentials.
func refusedByProxy(req *http.Request) error {
	why := "wants a user and a password: write them into it, as http://USER:PASSWORD@HOST:PORT"
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil && proxy.User != nil {
		why = "refuses the user and the password in it"
	}
	return &eval.Error{
		Kind: eval.KindTransport, Status: http.StatusProxyAuthRequired, Retry: eval.RetryNever, Unsent: true,
		Message: "the proxy in " + proxyVariable(req) + " " + why,
	}
}

func contextError(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		return eval.Errorf(eval.KindTimeout, "nothing moved for too long")
	case errors.Is(ctx.Err(), context.Canceled):
		return eval.Errorf(eval.KindCanceled, "canceled")
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return eval.Errorf(eval.KindTimeout, "no complete answer in time")
	}
	return nil
}

func (c *Conn) bodyError(req *http.Request, err error) error {
	if e := contextError(req.Context(), err); e != nil {
		return e
	}
	var known *eval.Error
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &known):
		return c.cleaned(known)
	case errors.Is(err, ErrTooLarge):
		return eval.Errorf(eval.KindTooLarge, "%s", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return eval.Errorf(eval.KindTruncated, "the answer was cut off")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return eval.Errorf(eval.KindMalformed, "the answer says it is gzip and is not")
	}
	return eval.Errorf(eval.KindTransport, "the connection to %s broke: %s", req.URL.Host, c.Secrets().OutOf(err.Error()))
}

func (c *Conn) redirected(resp *http.Response) error {
	where := "somewhere else"
	if u, err := resp.Location(); err == nil {
		where = c.Secrets().OutOf(u.Scheme + "://" + u.Host + u.Path)
	}
	return &eval.Error{
		Kind: eval.KindStatus, Status: resp.StatusCode, Retry: eval.RetryNever,
		Message: fmt.Sprintf("%s redirects to %s; redirects are not followed, "+
			"since key and prompt would go along: name that address if it is right", c.cfg.Peer, where),
	}
}

// retryAfter reads Retry-After-Ms, which some servers send too, or Retry-After: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	if ms := seconds(h.Get("Retry-After-Ms")); ms > 0 {
		return ms / 1000
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return seconds(v)
}

// Secrets returns the keys, tokens and proxy passwords to mask.
func (c *Conn) Secrets() *Secrets { return c.hidden.Load() }

// cleaned masks secrets in an error that quotes a reply.
func (c *Conn) cleaned(e *eval.Error) *eval.Error {
	e.Message, e.Code = c.Secrets().OutOf(e.Message), c.Secrets().OutOf(e.Code)
	return e
}

// maxHidden bounds the masked texts. A delayed answer may contain an older token.
const maxHidden = 12

// Hide masks texts, which are tokens, in everything that is returned until many newer ones came.
func (c *Conn) Hide(texts ...string) {
	known := func(text string) bool { return slices.Contains(c.hidden.Load().Keys(), text) }
	if !slices.ContainsFunc(texts, func(text string) bool { return !known(text) }) {
		return
	}
	c.hiding.Lock()
	defer c.hiding.Unlock()
	keys := slices.Clone(c.hidden.Load().Keys())
	for _, text := range texts {
		if keys = append(keys, text); len(keys) > max(maxHidden, c.fixed+2) {
			keys = slices.Delete(keys, len(keys)-3, len(keys)-2)
		}
	}
	c.hidden.Store(NewSecrets(keys...))
}

// errKeyToProxy prevents a key from being written to the log of a proxy.
var errKeyToProxy = errors.New("the key in the query would be read by the proxy: use https, or the key in the header (auth: apiKey)")

// guarded refuses proxies for plain requests with a key in the query: such proxies see the whole address.
func guarded(find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		proxy, err := find(req)
		if err != nil {
			return nil, errors.New("the address of the proxy in the environment is invalid") // the original error quotes the password
		}
		if proxy != nil && req.URL.Scheme == "http" && req.URL.Query().Has("key") {
			return nil, errKeyToProxy
		}
		return proxy, nil
	}
}
