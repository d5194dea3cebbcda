package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// bearer is an Authenticator with one token, which the service refuses once.
type bearer struct {
	conn    *Conn
	renewed int
}

func (b *bearer) Authenticate(req *http.Request) (string, error) {
	req.Header.Set("Authorization", "Bearer canary-token-0123456789")
	b.conn.Hide("canary-token-0123456789")
	return "canary-token-0123456789", nil
}

func (b *bearer) Renew(context.Context, string) (bool, error) {
	b.renewed++
	return true, nil
}

// texts joins the pieces of a stream; "end" is the last one.
type texts struct {
	strings.Builder
	finished bool
}

func (t *texts) Add(data []byte) (bool, error) {
	t.finished = t.finished || strings.Contains(string(data), "end")
	t.Write(data)
	return true, nil
}

func (t *texts) Finished() bool { return t.finished }

func newConn(t *testing.T, answer http.HandlerFunc) (*Conn, *bearer, func(context.Context) (*http.Request, error)) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	auth := &bearer{}
	c := New(Config{Authenticator: auth, Secrets: []string{"canary-key-0123456789"}})
	auth.conn = c
	return c, auth, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	}
}

// What a server says comes back without keys, bounded, and as an error of a kind when it is none of an answer.
func TestDoReturnsAnswersAndErrorsWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string         // of a good answer
		kind   eval.ErrorKind // of an error
		says   string
	}{
		"good":        {text(200, `{"finish_reason": 1}`), `{"finishReason": 1}`, "", ""},
		"echoed keys": {text(200, `"canary-key-0123456789 canary-token-0123456789"`), `"[key] [key]"`, "", ""},
		"a status":    {text(503, `{"error":{"message":"busy, canary-key-0123456789"}}`), "", eval.KindStatus, "busy, [key]"},
		"a refusal":   {text(401, `no`), "", eval.KindAuth, "no"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/?key=canary-key-0123456789", http.StatusFound)
		}, "", eval.KindStatus, "redirects to http://elsewhere.invalid"},
		"too large": {text(200, strings.Repeat("x", MaxResponseBytes+1)), "", eval.KindTooLarge, "larger than"},
		"an archive": {
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") }, "",
			eval.KindMalformed, "encoded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, auth, request := newConn(t, test.answer)
			ctx, release := c.Lease(t.Context())
			defer release()
			req, err := request(ctx)
			expect.OK(t, err)
			data, err := c.Do(req)
			if test.kind == "" {
				if err != nil || string(data) != test.want {
					t.Errorf("got %q, %v, want %q", data, err, test.want)
				}
				return
			}
			e := eval.AsError(err)
			if e == nil || e.Kind != test.kind || !strings.Contains(e.Message, test.says) || strings.Contains(e.Error(), "canary") {
				t.Errorf("got %v, want %s with %q and no key", err, test.kind, test.says)
			}
			if want := test.kind == eval.KindAuth; (auth.renewed == 1) != want {
				t.Errorf("the token was renewed %d times, want it once: %v", auth.renewed, want)
			}
		})
	}
}

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// The three forms of a stream are read piece by piece; one that ends before its answer is truncated.
func TestStreamReadsAllThreeForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, want string
		kind       eval.ErrorKind
	}{
		"an array":        {`[{"a":1},{"b":"end"}]`, `{"a":1}{"b":"end"}`, ""},
		"objects":         {`{"a":1}` + "\n" + `{"b":"end"}`, `{"a":1}{"b":"end"}`, ""},
		"events":          {"data: {\"a\":1}\n\n: note\ndata: {\"b\":\"end\"}\n\n", `{"a":1}{"b":"end"}`, ""},
		"a closing mark":  {"data: {\"a\":1}\n\ndata: [DONE]\n\n", `{"a":1}`, ""},
		"cut":             {`[{"a":1},`, "", eval.KindTruncated},
		"events cut":      {"data: {\"a\":1}\n\ndata: {\"b", "", eval.KindTruncated},
		"an error inside": {"event: error\ndata: {\"error\":{\"code\":429,\"message\":\"later\"}}\n\n", "", eval.KindQuota},
		"an error after":  {`[{"b":"end"}]{"error":{"code":500,"message":"late"}}`, "", eval.KindStatus},
		"a page":          {"<html>", "", eval.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, request := newConn(t, text(200, test.body))
			ctx, release := c.Lease(t.Context())
			defer release()
			var out texts
			var timing eval.Timing
			err := c.Stream(ctx, request, &timing, &out)
			var e *eval.Error
			switch {
			case test.kind == "" && (err != nil || out.String() != test.want || timing.Chunks == 0):
				t.Errorf("got %q, %v and %d chunks, want %q", out.String(), err, timing.Chunks, test.want)
			case test.kind != "" && (!errors.As(err, &e) || e.Kind != test.kind):
				t.Errorf("got %v, want an error of kind %s", err, test.kind)
			}
		})
	}
}
