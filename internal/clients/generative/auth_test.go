package generative

import (
	"context"
	"fmt"
	"net/http"
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

// A service whose API is not enabled says where to enable it, in a recorded reply.
func TestAPINotEnabledSaysWhereToEnableIt(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("testdata/unary-failure-generativelanguage-api-not-enabled.json")
	expect.OK(t, err)
	c := newClient(t, text(403, string(recorded)), nil)
	const want = "enable it at https://console.developers.google.com/apis/api/generativelanguage.googleapis.com/overview?project=12345678,"
	if _, e := ask(t, c); e == nil || e.Kind != eval.KindAuth || !strings.Contains(e.Message, want) {
		t.Errorf("%v, want %s", e, want)
	}
}
