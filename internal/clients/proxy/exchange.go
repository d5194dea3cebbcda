package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 64 << 20

// exchange is a request on its way to a service, and the reply on its way back.
type exchange struct {
	trial *Trial
	to    *Service
	in    route
	w     http.ResponseWriter
	r     *http.Request
	body  []byte

	// Of the last attempt.
	began   time.Time
	first   time.Duration  // until the first byte of the answer
	came    *bytes.Buffer  // what has passed
	header  http.Header    // of the answer
	status  int            // the same
	refused *http.Response // the reply by which the service refused; nil for none
	said    []byte         // its body
	failed  error          // why there is no answer
	passing bool           // the program has seen the beginning of the answer
	cut     bool           // and not its end
	cuts    bool           // on purpose
}

type exchangeKey struct{}

// Attempt is an attempt of a call that a program began, nil if the context is not of one.
func Attempt(ctx context.Context) func(call *eval.Call, line Line) (*eval.Response, error) {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil
	}
	return func(call *eval.Call, line Line) (*eval.Response, error) { return x.attempt(ctx, call, line) }
}

// serve makes the call of a request, and leaves its account with the trial.
func (x *exchange) serve() {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.trial.ctx, cancel)()
	err := x.receive()
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			x.in.refuse(x.w, http.StatusRequestEntityTooLarge, fmt.Sprintf("evalrun's proxy passes requests of %d bytes at most", maxRequest))
		}
		return
	}
	x.came = copies.Get().(*bytes.Buffer)
	defer func() {
		if x.came.Cap() <= largestCopy {
			x.came.Reset()
			copies.Put(x.came)
		}
	}()
	asked := x.in.read(x.body)
	call := &eval.Call{
		Request: eval.Request{Model: asked.model, Service: x.to.Name, Protocol: x.to.Protocol, Stream: asked.stream},
		TrialID: x.trial.ID, PromptTokens: asked.tokens,
	}
	keep := x.trial.keep(x)
	defer func() { x.fill(keep) }()
	switch x.in.kind {
	case answer:
		call.OutputLimit = asked.output
		if call.OutputLimit == 0 {
			call.OutputLimit = usualOutput
		}
		x.trial.take(asked.results)
		x.counted(ctx, call)
	case embed:
		x.counted(ctx, call)
	case count, describe:
		if x.trial.Replay != nil {
			_, err = x.replay(call)
		} else {
			_, err = x.attempt(ctx, call, x.to.Line)
		}
		x.finish(err)
	case unknown: // was refused
	}
	if x.cut {
		panic(http.ErrAbortHandler) // so that the program sees it too
	}
}

func (x *exchange) receive() error {
	var body bytes.Buffer
	body.Grow(int(min(max(x.r.ContentLength, 0), maxRequest)) + bytes.MinRead) // where less comes, the rest is never touched
	_, err := body.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, maxRequest))
	x.body = body.Bytes()
	return err
}

// usualOutput is what is reserved for an answer to a request that names no limit, in tokens.
const usualOutput = 4096

func (x *exchange) counted(ctx context.Context, call *eval.Call) {
	if x.trial.Priced && !x.trial.Prices.Knows(call.Model) {
		x.in.refuse(x.w, http.StatusBadRequest, fmt.Sprintf(
			"evalrun's proxy: the price list has no price for the model %s, which a budget of money needs", call.Model,
		))
		return
	}
	entry := x.trial.begin(call, x.in.kind)
	if entry == nil {
		_, why := x.trial.Limit()
		x.in.refuse(x.w, http.StatusTooManyRequests, "evalrun's proxy: "+why)
		return
	}
	send := func() (*eval.Response, error) { return x.to.Send(context.WithValue(ctx, exchangeKey{}, x), call) }
	if x.trial.Replay != nil {
		send = func() (*eval.Response, error) { return x.replay(call) }
	}
	var resp *eval.Response
	err := x.suffer(ctx)
	if err == nil {
		resp, err = send()
	}
	if e := eval.AsError(err); e != nil && e.Kind == eval.KindBudget {
		x.trial.spent(entry, e.Message)
	} else {
		x.trial.note(entry, call, resp, err)
	}
	x.finish(err)
}

// attempt sends the request once, and passes on what comes. A reply that another attempt may better is held back.
func (x *exchange) attempt(ctx context.Context, call *eval.Call, line Line) (*eval.Response, error) {
	x.began, x.first, x.refused, x.failed = time.Now(), 0, nil, nil
	x.came.Reset()
	to := wire.Passed{Path: x.in.path, Method: x.in.method}
	if x.in.protocol == x.to.Protocol && x.in.kind != describe {
		to.Model = call.Model
	}
	forward := httputil.ReverseProxy{
		Rewrite: x.rewrite,
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := line.Pass(req, to)
			if x.failed = err; err != nil {
				x.refused = resp
				return nil, err
			}
			return resp, nil
		}),
		ModifyResponse: x.watch,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) {},
		ErrorLog:       silent,
		BufferPool:     buffers,
	}
	x.cut = !passes(func() { forward.ServeHTTP(x.w, x.r.WithContext(ctx)) })
	call.Timing.LatencyMs = eval.Milliseconds(time.Since(x.began))
	if call.Stream && x.first > 0 {
		call.Timing.FirstTokenMs = eval.Milliseconds(x.first)
	}
	if x.failed != nil {
		return nil, x.failed
	}
	resp, err := x.answered(line.Secrets())
	if err == nil || !x.passing {
		return resp, err
	}
	e := *eval.AsError(err)
	e.Retry = eval.RetryNever // the program has seen a part
	switch {
	case x.cut && x.r.Context().Err() != nil:
		e = *eval.Errorf(eval.KindCanceled, "the program did not read the answer to its end")
	case x.cut && ctx.Err() != nil:
		e.Kind = eval.KindTimeout
	}
	return nil, &e
}

func passes(forward func()) (whole bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
			panic(p)
		}
	}()
	forward()
	return true
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var silent = log.New(io.Discard, "", 0)

// rewrite makes the request for the service: the body as it came, without the token.
func (x *exchange) rewrite(p *httputil.ProxyRequest) {
	out := p.Out
	for _, name := range append(slices.Clone(keyHeaders), "Authorization", "Expect") {
		out.Header.Del(name)
	}
	out.Header.Del("Accept-Encoding") // so that the transport unpacks what comes, which has to be readable
	out.Header.Set(wire.TrialHeader, x.trial.ID)
	query := out.URL.Query()
	query.Del("key")
	out.URL.RawQuery = query.Encode()
	out.Body, out.GetBody, out.TransferEncoding = http.NoBody, nil, nil
	if out.ContentLength = int64(len(x.body)); len(x.body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(x.body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	}
}

// watch has a copy taken of the answer.
func (x *exchange) watch(resp *http.Response) error {
	x.header, x.status, x.passing = resp.Header, resp.StatusCode, true
	if resp.Header.Get("Content-Type") == "" {
		x.w.Header()["Content-Type"] = nil // else net/http would guess one
	}
	if resp.Body != nil {
		if x.cuts {
			resp.Body = &halved{ReadCloser: resp.Body}
		}
		resp.Body = &watched{resp.Body, x}
	}
	return nil
}

type watched struct {
	io.ReadCloser
	x *exchange
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 && w.x.first == 0 {
		w.x.first = time.Since(w.x.began)
	}
	if room := wire.MaxResponseBytes + 1 - w.x.came.Len(); n > 0 && room > 0 {
		w.x.came.Write(p[:min(n, room)])
	}
	return n, err
}

// answered reads the copy of an answer.
func (x *exchange) answered(hidden *wire.Secrets) (*eval.Response, error) {
	if x.in.kind != answer && x.in.kind != embed {
		return &eval.Response{}, nil
	}
	data := x.came.Bytes()
	if len(data) > wire.MaxResponseBytes {
		return nil, eval.Errorf(eval.KindTooLarge, "%s", wire.ErrTooLarge)
	}
	if x.in.kind == embed {
		return embedded(data), nil
	}
	if !wire.IsEvents(data) { // of which nothing is kept as it is
		data = bytes.Clone(data) // the copy is used again
	}
	resp, err := forms[x.in.protocol].parse(hidden.OutOfAnswer(data))
	if err != nil {
		return nil, err
	}
	for i := range resp.Candidates { // nothing is sent back in this form
		resp.Candidates[i].Raw, resp.Candidates[i].Extra = nil, nil
		hidden.OutOfCandidate(&resp.Candidates[i])
	}
	resp.Extra = nil
	return resp, nil
}

// finish answers a request to which nothing has been passed on.
func (x *exchange) finish(err error) {
	if x.passing || err == nil {
		return
	}
	if refused := x.refused; refused != nil {
		maps.Copy(x.w.Header(), refused.Header)
		x.w.WriteHeader(refused.StatusCode)
		x.said, _ = io.ReadAll(refused.Body) // from memory
		_, _ = x.w.Write(x.said)             // the program may have gone
		return
	}
	e := eval.AsError(err)
	status := http.StatusBadGateway
	switch e.Kind {
	case eval.KindStatus:
		status = e.Status
		x.in.fail(x.w, status, e.Message) // its library may try again
		return
	case eval.KindBudget:
		status = http.StatusTooManyRequests
	case eval.KindReplayMiss:
		status = http.StatusConflict
	case eval.KindTimeout:
		status = http.StatusGatewayTimeout
	case eval.KindCanceled:
		status = http.StatusServiceUnavailable
	default:
	}
	x.in.refuse(x.w, status, "evalrun's proxy: "+e.Message)
}

// copies are empty buffers for what passes, of largestCopy bytes at most.
var copies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const largestCopy = 1 << 20

// buffers are those by which answers are passed on.
var buffers = &bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type bufferPool struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (b *bufferPool) Get() []byte { return b.Pool.Get().(*[32 << 10]byte)[:] }

// Put implements httputil.BufferPool.
func (b *bufferPool) Put(p []byte) { b.Pool.Put((*[32 << 10]byte)(p)) }
