package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// errorBodies are answers with an error status, and what is made of them.
var errorBodies = map[string]struct {
	status int
	body   string
	want   outcome
	wait   time.Duration
	says   string
}{
	"an object": {
		400, `{"error":{"code":400,"message":"bad field","status":"INVALID_ARGUMENT"}}`,
		outcome{eval.KindStatus, 400, false},
		0, "bad field",
	},
	"in an array":             {400, `[{"error":{"message":"bad field"}}]`, outcome{eval.KindStatus, 400, false}, 0, "bad field"},
	"a text":                  {500, `{"error":"oh no"}`, outcome{eval.KindStatus, 500, false}, 0, "oh no"},
	"without a member around": {500, `{"message":"oh no"}`, outcome{eval.KindStatus, 500, false}, 0, "oh no"},
	"a page": {
		502, "<html>\n<h1>Bad   gateway</h1>", outcome{eval.KindStatus, 502, false}, 0, "<html> <h1>Bad gateway</h1>",
	},
	"nothing":  {503, "", outcome{eval.KindStatus, 503, false}, 0, "Service Unavailable"},
	"no UTF-8": {503, "\xff\xfe", outcome{eval.KindStatus, 503, false}, 0, "\uFFFD"},
	"a key that is wrong": {
		400, `{"error":{"message":"no","details":[{"reason":"API_KEY_INVALID"}]}}`,
		outcome{eval.KindAuth, 400, false},
		0, "no",
	},
	"a quoted request": {
		422, `{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string",` +
			`"input":"Login failed, what now?"},{"msg":"no","input":"Unauthorized charge"},{"input":"invalid API key, prompt too long"}]}`,
		outcome{eval.KindStatus, 422, false},
		0, "Login failed, what now?",
	},
	"a quoted request under a code": {
		400, `{"type":"invalid","status":400,"title":"Bad Request","request":{"input":"insufficient funds","message":"invalid API key"}}`,
		outcome{eval.KindStatus, 400, false},
		0, "insufficient funds",
	},
	"a key that is wrong, in a list":   {400, `{"errors":[{"code":1,"message":"Unauthorized"}]}`, outcome{eval.KindAuth, 400, false}, 0, "U"},
	"a key that is wrong, in a detail": {400, `{"id":1,"detail":"invalid API key"}`, outcome{eval.KindAuth, 400, false}, 0, "detail"},
	"a key that is wrong, in an error of the server": {
		500, `{"detail":"Authentication Error, no DB"}`, outcome{eval.KindStatus, 500, false}, 0, "no DB",
	},
	"a key that is wrong, plainly": {400, "Unauthorized", outcome{eval.KindAuth, 400, false}, 0, "Unauthorized"},
	"a delay": {
		429, `{"error":{"message":"slow","details":[{"retryDelay":"46.5s"}]}}`,
		outcome{eval.KindQuota, 429, false},
		46500 * time.Millisecond, "slow",
	},
	"a delay in parts": {
		429, `{"error":{"message":"slow","details":[{"retryDelay":{"seconds":"46"}}]}}`,
		outcome{eval.KindQuota, 429, false},
		46 * time.Second, "slow",
	},
	"a quota of a day": {
		429, `{"error":{"message":"used up","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}`,
		outcome{eval.KindQuota, 429, true},
		0, "used up",
	},
	"a quota of zero": {
		429, `{"error":{"message":"none","details":[{"violations":[{"quotaId":"X","quotaValue":0}]}]}}`,
		outcome{eval.KindQuota, 429, true},
		0, "none",
	},
	"an API that is off": {
		403,
		`{"error":{"message":"off",` +
			`"details":[{"reason":"SERVICE_DISABLED","metadata":{"activationUrl":"https://on.invalid"}}]}}`,
		outcome{eval.KindAuth, 403, false},
		0, "enable it at https://on.invalid",
	},
	"members of odd types": {
		400, `{"error":{"code":"x","message":[1],"status":{},"details":"none"}}`,
		outcome{eval.KindStatus, 400, false},
		0, "Bad Request",
	},
	"a long message": {
		400, `{"error":{"message":"` + strings.Repeat("é", 5000) + `"}}`,
		outcome{eval.KindStatus, 400, false},
		0,
		strings.Repeat("é", 1000) + "...",
	},
}

func TestErrorBodiesAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, test := range errorBodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := do(t, cannedConn(canned{status: test.status, body: strings.NewReader(test.body)}), t.Context())
			if diff := cmp.Diff(test.want, outcomeOf(e)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", test.body, diff)
			}
			if e.RetryAfter != test.wait || !strings.Contains(e.Message, test.says) || strings.Contains(e.Message, strings.Repeat("é", 1001)) {
				t.Errorf("%s: got %q and a wait of %s, want %q and %s", test.body, e.Message, e.RetryAfter, test.says, test.wait)
			}
		})
	}
}
