package wire

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

type outcome struct {
	Kind      eval.ErrorKind
	Status    int
	Permanent bool
}

func outcomeOf(e *eval.Error) outcome {
	if e == nil {
		return outcome{}
	}
	return outcome{e.Kind, e.Status, e.Retry == eval.RetryNever}
}

func TestEachStatusHasItsKind(t *testing.T) {
	t.Parallel()
	kinds := map[int]eval.ErrorKind{
		401: eval.KindAuth, 402: eval.KindQuota, 403: eval.KindAuth, 429: eval.KindQuota, 101: eval.KindMalformed, 199: eval.KindMalformed,
	}
	for status := 101; status < 600; status++ {
		want := outcome{eval.KindStatus, status, status >= 300 && status < 400}
		switch {
		case status == http.StatusPartialContent || status == http.StatusIMUsed:
			want.Kind = eval.KindTruncated
		case status >= 200 && status < 300:
			want = outcome{}
		case status < 200:
			want.Kind = eval.KindMalformed
		case status == http.StatusProxyAuthRequired:
			want.Kind, want.Permanent = eval.KindTransport, true
		case kinds[status] != "":
			want.Kind, want.Permanent = kinds[status], status == http.StatusPaymentRequired
		}
		_, e := do(t, cannedConn(canned{status: status, body: strings.NewReader("{}")}), t.Context())
		expect.Same(t, fmt.Sprintf("status %d", status), outcomeOf(e), want)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		value string // %s is a date in 90 seconds
		want  time.Duration
	}{
		"seconds":                  {"7", 7 * time.Second},
		"a fraction":               {"0.5", 500 * time.Millisecond},
		"with white space":         {" 7 ", 7 * time.Second},
		"a date":                   {"%s", 90 * time.Second},
		"a date that is past":      {"Sat, 01 Jan 1994 00:00:00 GMT", 0},
		"the oldest form of dates": {"Sunday, 06-Nov-94 08:49:37 GMT", 0},
		"nothing":                  {"", 0},
		"negative":                 {"-5", 0},
		"a word":                   {"soon", 0},
		"not a number":             {"NaN", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				value := strings.ReplaceAll(test.value, "%s", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
				c := cannedConn(canned{status: 429, header: header("Retry-After", value), body: strings.NewReader("{}")})
				_, e := do(t, c, t.Context())
				if e == nil || e.RetryAfter != test.want || e.Retry == eval.RetryNever {
					t.Errorf("%q: got %+v, want a wait of %s", value, e, test.want)
				}
			})
		})
	}
}

// A wait that is longer than two minutes ends the attempts: the run is better resumed later.
func TestALongWaitIsAQuota(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		wait   string
		want   outcome
	}{
		{429, "120", outcome{eval.KindQuota, 429, false}},
		{429, "121", outcome{eval.KindQuota, 429, true}},
		{503, "3600", outcome{eval.KindQuota, 503, true}},
		{503, "30", outcome{eval.KindStatus, 503, false}},
		{408, "3600", outcome{eval.KindQuota, 408, true}},
		{400, "3600", outcome{eval.KindStatus, 400, false}},
		{403, "3600", outcome{eval.KindAuth, 403, false}},
	} {
		c := cannedConn(canned{status: test.status, header: header("Retry-After", test.wait), body: strings.NewReader("{}")})
		_, e := do(t, c, t.Context())
		expect.Same(t, fmt.Sprintf("status %d, wait %s", test.status, test.wait), outcomeOf(e), test.want)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		calls := 0
		c := canned{status: status, header: header("Location", "https://elsewhere.invalid/v1?key=x"), body: strings.NewReader(""), calls: &calls}
		_, e := do(t, cannedConn(c), t.Context())
		if e == nil || e.Retry != eval.RetryNever || !strings.Contains(e.Message, "redirects to https://elsewhere.invalid/v1;") || calls != 1 {
			t.Errorf("status %d: got %v after %d calls, want a permanent error after one", status, e, calls)
		}
	}
}

// canary is a key that must not be read in any error, nor a part of it that would do.
const canary = "sk-canary-0123456789-abcdefghijklmnop"

func TestNoErrorShowsAKey(t *testing.T) {
	t.Parallel()
	quoted := `{"error":{"message":"key ` + canary + `","status":"` + canary + `","details":[` +
		`{"reason":"SERVICE_DISABLED","links":[{"url":"http://x/` + canary + `"}]}]}}`
	gzipped := header("Content-Encoding", canary)
	events := header("Content-Type", "text/event-stream")
	failures := map[string]canned{
		"a status":  {status: 400, body: strings.NewReader(quoted)},
		"a refusal": {status: 401, body: strings.NewReader("bad key: " + canary)},
		"a page":    {status: 502, body: strings.NewReader("<html>" + canary)},
		"a redirect": {
			status: 302, header: header("Location", "http://x.invalid/"+canary+"?key="+canary), body: strings.NewReader(""),
		},
		"an encoding":              {header: gzipped, body: strings.NewReader("x")},
		"an address":               {err: &url.Error{Op: "Post", URL: "http://x.invalid/?key=" + canary, Err: errors.New("refused")}},
		"a body that breaks":       {body: io.MultiReader(strings.NewReader("["), iotest.ErrReader(errors.New("read "+canary)))},
		"a stream that is a page":  {body: strings.NewReader("<html>" + canary)},
		"text between events":      {header: events, body: strings.NewReader("data: 1\n\noops " + canary + "\n")},
		"an error event":           {header: events, body: strings.NewReader("event: error\ndata: " + quoted + "\n\n")},
		"text behind an array":     {body: strings.NewReader(`[{"b":"end"}] ` + canary)},
		"an error behind an array": {body: strings.NewReader(`[{"b":"end"}]` + quoted)},
		"an escaped key": {
			status: 400,
			body:   strings.NewReader(`{"error":{"message":"` + url.QueryEscape(canary) + ` ` + strings.ReplaceAll(canary, "-", `\u002d`) + `"}}`),
		},
	}
	for i := 280; i < 310; i++ { // where a body is cut for an excerpt
		failures[fmt.Sprintf("a key at %d of a page", i)] = canned{status: 500, body: strings.NewReader(strings.Repeat("x", i) + canary)}
		failures[fmt.Sprintf("a key at %d of a stream", i)] = canned{body: strings.NewReader(strings.Repeat("x", i) + canary)}
	}
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := ""
			if failure.body != nil && !strings.Contains(name, "breaks") {
				data, err := io.ReadAll(failure.body)
				expect.OK(t, err)
				body = string(data)
				failure.body = strings.NewReader(body)
			}
			_, streamed := stream(t, failure, canary)
			if body != "" {
				failure.body = strings.NewReader(body)
			}
			data, read := do(t, cannedConn(failure, canary), t.Context())
			if streamed == nil && read == nil {
				t.Fatal("got no error in either way of reading, want one")
			}
			for _, e := range []*eval.Error{streamed, read} {
				if e == nil {
					continue
				}
				whole, err := json.Marshal(e)
				if text := fmt.Sprintf("%v %+v %s", e, *e, whole); err != nil || strings.Contains(text, canary[:14]) {
					t.Errorf("got %s, want the key masked (%v)", text, err)
				}
			}
			if strings.Contains(data, canary[:14]) {
				t.Errorf("got the answer %s, want the key masked", data)
			}
		})
	}
}

type slow struct{}

func (slow) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestTransportErrorsSayWhatARetryWouldDo(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		err               error
		unsent, permanent bool
	}{
		"refused":                {dial, true, false},
		"reset":                  {&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset")}, false, false},
		"another certificate":    {x509.UnknownAuthorityError{}, false, true},
		"plain HTTP behind TLS":  {errors.New("http: server gave HTTP response to HTTPS client"), false, true},
		"a scheme that is none":  {errors.New(`unsupported protocol scheme "ftp"`), false, true},
		"a key that would leak":  {errKeyToProxy, false, true},
		"an end before a header": {io.EOF, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := do(t, cannedConn(canned{err: test.err}), t.Context())
			if e == nil || e.Kind != eval.KindTransport || e.Unsent != test.unsent || (e.Retry == eval.RetryNever) != test.permanent {
				t.Errorf("got %+v, want kind %s, unsent %v, permanent %v", e, eval.KindTransport, test.unsent, test.permanent)
			}
			if e != nil && !strings.Contains(e.Message, "no answer from service.invalid") {
				t.Errorf("got %q, want the address in it", e.Message)
			}
		})
	}
}

func TestEndedCallsAreTimeoutsOrCanceled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want eval.ErrorKind
	}{
		"a deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, eval.KindTimeout},
		"a caller that gives up": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, eval.KindCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := test.end(t.Context())
				defer cancel()
				c := New(Config{Authenticator: open{}, Transport: slow{}})
				if _, e := do(t, c, ctx); e == nil || e.Kind != test.want {
					t.Errorf("got %v, want an error of kind %s", e, test.want)
				}
			})
		})
	}
}

// Two large answers are read at once; the next one waits, and a call that ends stops waiting.
func TestLargeAnswersWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", smallAnswer+1)
		c := cannedConn(canned{})
		read := func(ctx context.Context) error {
			_, err := io.Copy(io.Discard, &roomy{Reader: strings.NewReader(large), ctx: ctx})
			return err
		}
		var releases []func()
		for range largeAtOnce {
			ctx, release := c.Lease(t.Context())
			releases = append(releases, release)
			expect.OK(t, read(ctx))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		leased, release := c.Lease(short)
		if err := read(leased); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one answer more than there is room for: got %v, want the end of the call", err)
		}
		release()
		small, release := c.Lease(t.Context())
		if _, err := io.Copy(io.Discard, &roomy{Reader: strings.NewReader(large[:smallAnswer-1]), ctx: small}); err != nil {
			t.Errorf("a small answer: %v, want no error", err)
		}
		release()
		waiting, release := c.Lease(t.Context())
		done := make(chan error, 1)
		go func() { done <- read(waiting) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("got it read before there was room (%v), want it to wait", err)
		default:
		}
		releases[0]()
		if err := <-done; err != nil {
			t.Errorf("with room: %v, want no error", err)
		}
		release()
		releases[1]()
		releases[1]() // a second time it gives nothing back
		expect.Same(t, "places that are taken at the end", len(c.room), 0)
	})
}

func TestSkewIsTheClockOfTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ahead := time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat)
		c := cannedConn(canned{header: header("Date", ahead), body: strings.NewReader("{}")})
		if skew, ok := c.Skew(); ok {
			t.Errorf("before any answer: %s, want no skew", skew)
		}
		if _, e := do(t, c, t.Context()); e != nil {
			t.Fatal(e)
		}
		if skew, ok := c.Skew(); !ok || skew != 5*time.Minute {
			t.Errorf("got %s, %v, want 5m0s", skew, ok)
		}
		odd := cannedConn(canned{header: header("Date", "yesterday"), body: strings.NewReader("{}")})
		if _, e := do(t, odd, t.Context()); e != nil {
			t.Fatal(e)
		}
		if skew, ok := odd.Skew(); ok {
			t.Errorf("of an invalid date: %s, want no skew", skew)
		}
	})
}

func TestOnlyTheEmulatorIsEmulated(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{"": false, "nginx": false, EmulatorName: true} {
		c := cannedConn(canned{header: header("Server", server), body: strings.NewReader("{}")})
		if _, e := do(t, c, t.Context()); e != nil || c.Emulated() != want {
			t.Errorf("%q: %v, %v, want %v", server, e, c.Emulated(), want)
		}
	}
}

// A proxy would write an address with a key into its log; over TLS it sees the host alone.
func TestAKeyInTheQueryIsKeptFromProxies(t *testing.T) {
	t.Parallel()
	proxy := &url.URL{Scheme: "http", Host: "proxy.invalid:3128"}
	for name, test := range map[string]struct {
		address string
		proxy   *url.URL
		err     error
		want    error
	}{
		"a key by way of a proxy":      {"http://x.invalid/?key=k", proxy, nil, errKeyToProxy},
		"a key under TLS":              {"https://x.invalid/?key=k", proxy, nil, nil},
		"a key without a proxy":        {"http://x.invalid/?key=k", nil, nil, nil},
		"no key":                       {"http://x.invalid/?monkey=k", proxy, nil, nil},
		"an address that is not known": {"http://x.invalid/", nil, errors.New("parse http://user:secret@: no"), errors.New("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.address, nil)
			expect.OK(t, err)
			got, err := Transport(2, func(*http.Request) (*url.URL, error) { return test.proxy, test.err }).Proxy(req)
			if (err != nil) != (test.want != nil) || test.want == errKeyToProxy && !errors.Is(err, errKeyToProxy) ||
				err == nil && got != test.proxy {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want the password masked", err)
			}
		})
	}
}

func TestKeysAreHiddenUntilManyNewerOnesCame(t *testing.T) {
	t.Parallel()
	c := cannedConn(canned{}, "configured-key-0123456789")
	token := func(i int) string { return fmt.Sprintf("token-%d-0123456789abcdef", i) }
	for i := range 100 {
		c.Hide(token(i))
		c.Hide(token(i)) // known: nothing changes
		shown := c.Secrets().OutOf("configured-key-0123456789 " + token(i) + " " + token(max(0, i-1)))
		if strings.Contains(shown, "0123456789") {
			t.Fatalf("after %d tokens: %q, want no key", i+1, shown)
		}
	}
	if n := len(c.Secrets().Keys()); n > maxHidden {
		t.Errorf("%d texts are hidden, want at most %d", n, maxHidden)
	}
}

// However many secrets a caller has, tokens that come later push none of them out.
func TestEveryGivenSecretStaysHidden(t *testing.T) {
	t.Parallel()
	var given []string
	for i := range 3 * maxHidden {
		given = append(given, fmt.Sprintf("given-%d-0123456789abcdef", i))
	}
	c := New(Config{Secrets: given, Transport: http.DefaultTransport})
	for i := range 5 {
		c.Hide(fmt.Sprintf("token-%d-0123456789abcdef", i))
	}
	if shown := c.Secrets().OutOf(strings.Join(given, " ") + " token-4-0123456789abcdef"); strings.Contains(shown, "0123456789") {
		t.Errorf("got %q, want nothing of it", shown)
	}
}
