package generative

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// login hands out tokens, each until it is refused.
type login struct {
	mu      sync.Mutex
	n       int
	renewed int
	err     error
}

func (l *login) Token(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("canary-token-%d", l.n), l.err
}

func (l *login) Renew(_ context.Context, refused string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if refused == fmt.Sprintf("canary-token-%d", l.n) {
		l.n++
		l.renewed++
	}
	return true, nil
}

// With a login, requests carry the token and the project and no key. A token that is refused is
// replaced, and the error says so.
func TestBearerRequestsCarryTheTokenAndNoKey(t *testing.T) {
	t.Parallel()
	tokens := &login{}
	var got http.Header
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		if r.Header.Get("Authorization") != "Bearer canary-token-1" {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"code":401,"message":"bad token %s","status":"UNAUTHENTICATED"}}`, r.Header.Get("Authorization"))
			return
		}
		fmt.Fprintf(w, `{"candidates":[{"content":{"parts":[{"text":"you sent %s"}]},"finishReason":"STOP"}]}`, r.Header.Get("Authorization"))
	}, func(cfg *wire.Server) {
		cfg.TokenSource, cfg.Project, cfg.Key, cfg.HeaderPrefix = tokens, "my-project", "", "x-other"
	})
	_, e := ask(t, c)
	if e == nil || e.Kind != eval.KindAuth || e.Retry != eval.RetryWithLogin || strings.Contains(e.Error(), "canary") {
		t.Errorf("%+v, want a renewed token and %s, without the key", e, eval.KindAuth)
	}
	expect.Same(t, "renewals", tokens.renewed, 1)
	resp, e := ask(t, c)
	if e != nil {
		t.Fatal(e)
	}
	expect.Same(t, "the answer", resp.Text(), "you sent Bearer [key]")
	expect.Same(t, "the project", got.Get("X-Other-User-Project"), "my-project")
	expect.Same(t, "the key", got.Get("X-Other-Api-Key")+got.Get("X-Svc-Api-Key"), "")
	tokens.err = eval.Errorf(eval.KindAuth, "log in again")
	if _, e := ask(t, c); e == nil || e.Kind != eval.KindAuth || e.Retry == eval.RetryWithLogin {
		t.Errorf("%+v, want %s, and no renewed token", e, eval.KindAuth)
	}
}

// A key in the query stays out of what a proxy can read, and proxies' passwords out of errors.
func TestKeyAndPasswordStayOutOfProxiesAndErrors(t *testing.T) {
	seen := ""
	proxied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen += r.RequestURI + " " + r.Header.Get("Referer")
		w.WriteHeader(502)
	}))
	defer proxied.Close()
	u, err := url.Parse(proxied.URL)
	expect.OK(t, err)
	u.User = url.UserPassword("user", "canary-password")
	tr := wire.Transport(1, http.ProxyURL(u))
	ask := func(base string, inQuery bool) *eval.Error {
		c := New(wire.Server{BaseURL: base, Key: "canary-key-0123456789", KeyInQuery: inQuery, Transport: tr})
		_, err := c.Generate(context.Background(), &eval.Call{Request: eval.Request{Model: "m"}})
		return eval.AsError(err)
	}
	e := ask("http://service.invalid", true)
	if e == nil || e.Retry != eval.RetryNever || !strings.Contains(e.Message, "use https") || seen != "" {
		t.Errorf("%+v, the proxy saw %q, want a permanent error that names https, and nothing sent", e, seen)
	}
	if e := ask("http://service.invalid", false); e == nil || e.Status != 502 || seen == "" || strings.Contains(seen, "canary") {
		t.Errorf("%+v, the proxy saw %q, want the status 502 of a proxy that sees no key", e, seen)
	}
	if e := ask("https://service.invalid", true); e == nil || strings.Contains(seen, "canary-key") || strings.Contains(e.Error(), "canary") {
		t.Errorf("%+v, the proxy saw %q, want an error, and no key anywhere", e, seen)
	}
	t.Setenv("HTTPS_PROXY", "http://user:canary-password@proxy.invalid:1")
	c := New(wire.Server{BaseURL: "https://service.invalid", Key: "k"})
	if got := c.Secrets().OutOf("proxyconnect http://user:canary-password@proxy.invalid:1: no"); strings.Contains(got, "canary") {
		t.Errorf("got %v, want the password masked", got)
	}
}

// A service whose API is not enabled says where to enable it, however it says so.
func TestAPINotEnabledSaysWhereToEnableIt(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("testdata/unary-failure-generativelanguage-api-not-enabled.json")
	expect.OK(t, err)
	for body, want := range map[string]string{
		string(recorded): "enable it at https://console.developers.google.com/apis/api/" +
			"generativelanguage.googleapis.com/overview?project=12345678,",
		`{"error":{"code":403,"message":"off","details":[{"reason":"SERVICE_DISABLED",` +
			`"metadata":{"activationUrl":"https://console.example/on"}}]}}`: "enable it at https://console.example/on,",
		`{"error":{"code":403,"message":"API not enabled"}}`:                   "enable it in the cloud console",
		`{"error":{"code":403,"message":"the API is disabled","details":"x"}}`: "enable it in the cloud console",
	} {
		c := newClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprint(w, body)
		}, nil)
		if _, e := ask(t, c); e == nil || e.Kind != eval.KindAuth || !strings.Contains(e.Message, want) {
			t.Errorf("%v, want %s", e, want)
		}
	}
}
