package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalrun/evalrun/clients/emulator"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expect"
)

// authServer runs the emulator's authorization server and counts what its token endpoint is asked.
func authServer(t *testing.T, o emulator.Options) (c *Client, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	e := emulator.New(o)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			asked.Add(1)
		}
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	resp, err := http.Get(server.URL + "/emulator/client-secrets")
	expect.OK(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	expect.OK(t, err)
	if c, err = parseClient(data); err != nil {
		t.Fatal(err)
	}
	return c, asked
}

var scopes = []string{"https://scopes.example/auth/generative-language.retriever"}

// try logs in; visit gets the address that a person would open.
func try(t *testing.T, c *Client, visit func(address string), change func(*Login)) (*Token, []string, error) {
	t.Helper()
	var mu sync.Mutex
	var notices []string
	l := &Login{
		Client: c, Scopes: scopes, Wait: 20 * time.Second, Keep: func(context.Context, *Token) error { return nil },
		Notice: func(text string) { mu.Lock(); notices = append(notices, text); mu.Unlock() },
	}
	visited := make(chan struct{})
	l.Show = func(address string) {
		go func() {
			defer close(visited)
			visit(address)
		}()
	}
	if change != nil {
		change(l)
	}
	token, err := l.Run(t.Context())
	<-visited
	mu.Lock()
	defer mu.Unlock()
	return token, notices, err
}

// browse follows redirects as a browser does, and returns the last page.
func browse(t *testing.T, address string) string {
	resp, err := http.Get(address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}

// endpoint is another address of the server of an authorization address.
func endpoint(address, name string) string {
	before, _, _ := strings.Cut(address, "authorize?")
	return before + name
}

// callback asks the authorization server and returns where it sends the browser, unvisited.
func callback(t *testing.T, address string) *url.URL {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	expect.OK(t, err)
	resp.Body.Close()
	u, err := resp.Location()
	expect.OK(t, err)
	return u
}

func TestLogin(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	var address, last string
	token, notices, err := try(t, c, func(a string) { address, last = a, browse(t, a) }, nil)
	if err != nil || len(notices) > 0 {
		t.Fatal(err, notices)
	}
	checkAuthorization(t, address)
	if !strings.Contains(last, "You are logged in") || token.AccessToken == "" || token.RefreshToken == "" || token.Expired(time.Now()) ||
		token.Client.Project != "emulated-project" {
		t.Errorf("%s %+v", last, token)
	}
}

// checkAuthorization wants the parameters of RFC 6749 and RFC 7636 in the address to which the browser is sent.
func checkAuthorization(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	expect.OK(t, err)
	q := u.Query()
	for key, want := range map[string]string{
		"response_type": "code", "client_id": "evalrun-emulator", "code_challenge_method": "S256", "scope": scopes[0],
		"access_type": "offline",
	} {
		expect.Same(t, key, q.Get(key), want)
	}
	redirect, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || redirect.Hostname() != "127.0.0.1" || redirect.Port() == "" || redirect.Path != "" {
		t.Error(redirect, err)
	}
	if len(q.Get("state")) < 40 || len(q.Get("code_challenge")) != 43 {
		t.Error(address)
	}
}

// Only the one answer that belongs to the login counts, whatever else comes.
func TestStrayCallbacks(t *testing.T) {
	t.Parallel()
	c, asked := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	get := func(method, address string, change func(*http.Request)) int {
		req, err := http.NewRequest(method, address, nil)
		expect.OK(t, err)
		if change != nil {
			change(req)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	token, notices, err := try(t, c, func(address string) {
		good := callback(t, address)
		with := func(change func(*url.URL, url.Values)) string {
			u, q := *good, good.Query()
			change(&u, q)
			u.RawQuery = q.Encode()
			return u.String()
		}
		for name, test := range map[string]struct {
			method, address string
			change          func(*http.Request)
		}{
			"favicon":     {"GET", with(func(u *url.URL, q url.Values) { u.Path = "/favicon.ico"; clear(q) }), nil},
			"no code":     {"GET", with(func(_ *url.URL, q url.Values) { clear(q) }), nil},
			"other path":  {"GET", with(func(u *url.URL, _ url.Values) { u.Path = "/other" }), nil},
			"no state":    {"GET", with(func(_ *url.URL, q url.Values) { q.Del("state") }), nil},
			"wrong state": {"GET", with(func(_ *url.URL, q url.Values) { q.Set("state", "x"+q.Get("state")[1:]) }), nil},
			"wrong denial": {"GET", with(func(_ *url.URL, q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("state", "guessed")
			}), nil},
			"other host": {"GET", good.String(), func(r *http.Request) { r.Host = "evil.example" }},
			"localhost":  {"GET", good.String(), func(r *http.Request) { r.Host = "localhost:" + good.Port() }},
			"HEAD":       {"HEAD", good.String(), nil},
			"POST":       {"POST", good.String(), nil},
			"prefetch":   {"GET", good.String(), func(r *http.Request) { r.Header.Set("Sec-Purpose", "prefetch;prerender") }},
		} {
			if status := get(test.method, test.address, test.change); status < 400 {
				t.Errorf("%s: status %d", name, status)
			}
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("%d codes were traded for stray callbacks", n)
		}
		if status := get("GET", good.String(), nil); status != 200 {
			t.Errorf("the good one: status %d", status)
		}
	}, nil)
	if err != nil || token == nil || asked.Load() != 1 {
		t.Errorf("%v, %d asked", err, asked.Load())
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "wrong state") {
		t.Error(notices)
	}
}

// Each way for a login to fail has words of its own.
func TestLoginFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		consent string
		visit   func(t *testing.T, address string)
		change  func(*Login)
		want    string
	}{
		"denied": {emulator.ConsentDeny, func(t *testing.T, a string) { browse(t, a) }, nil, "access was denied in the browser"},
		"closed tab": {
			emulator.ConsentAuto, func(*testing.T, string) {}, func(l *Login) { l.Wait = 50 * time.Millisecond },
			"was the tab closed?",
		},
		"wrong state": {emulator.ConsentAuto, func(t *testing.T, a string) {
			u := callback(t, a)
			q := u.Query()
			q.Set("state", "of another login")
			u.RawQuery = q.Encode()
			browse(t, u.String())
		}, func(l *Login) { l.Wait = time.Second }, "carried another state"},
		"replayed code": {emulator.ConsentAuto, func(t *testing.T, a string) {
			u := callback(t, a)
			resp, err := http.PostForm(endpoint(a, "token"), url.Values{
				"grant_type": {"authorization_code"}, "code": {u.Query().Get("code")}, "client_id": {"evalrun-emulator"},
				"client_secret": {"not-a-secret"},
			})
			expect.OK(t, err)
			resp.Body.Close()
			browse(t, u.String())
		}, nil, "it may have expired or been used before"},
		"unknown scope": {
			emulator.ConsentAuto, func(t *testing.T, a string) { browse(t, a) },
			func(l *Login) { l.Scopes = []string{"https://x/auth/other"} }, "invalid_scope",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := authServer(t, emulator.Options{Consent: test.consent})
			token, _, err := try(t, c, func(a string) { test.visit(t, a) }, test.change)
			if err == nil || token != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v %v", token, err)
			}
		})
	}
}

// Without a browser the address to which one was sent can be pasted.
func TestPastedAddress(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	in, keyboard := io.Pipe()
	token, notices, err := try(t, c, func(address string) {
		good := callback(t, address)
		wrong := *good
		wrong.RawQuery = strings.Replace(good.RawQuery, "state=", "state=x", 1)
		fmt.Fprintf(keyboard, "what?\n\n%s\n  %s  \n", wrong.String(), good)
		keyboard.Close()
	}, func(l *Login) { l.Pasted = in })
	if err != nil || token.AccessToken == "" || len(notices) != 2 || !strings.Contains(notices[0], "paste it whole") ||
		!strings.Contains(notices[1], "wrong state") {
		t.Error(err, notices)
	}
}

// A person presses the buttons of the consent page.
func TestConsentPage(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{})
	press := func(decision string) func(string) {
		return func(address string) {
			body := browse(t, address)
			_, rest, _ := strings.Cut(body, `name="ticket" value="`)
			ticket, _, _ := strings.Cut(rest, `"`)
			u := endpoint(address, "consent")
			resp, err := http.PostForm(u, url.Values{"ticket": {ticket}, "decision": {decision}})
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		}
	}
	if token, _, err := try(t, c, press("allow"), nil); err != nil || token == nil {
		t.Error(err)
	}
	if _, _, err := try(t, c, press("deny"), nil); !errors.Is(err, ErrDenied) {
		t.Error(err)
	}
}

// stored logs in and keeps it in a store of the test's.
func stored(t *testing.T, c *Client) *Store {
	t.Helper()
	token, _, err := try(t, c, func(a string) { browse(t, a) }, nil)
	expect.OK(t, err)
	s := &Store{filepath.Join(t.TempDir(), "evalrun", "token.json")}
	expect.OK(t, s.Keep(t.Context(), token))
	return s
}

// expire makes the stored token an old one.
func expire(t *testing.T, s *Store) string {
	t.Helper()
	token, err := s.Load()
	expect.OK(t, err)
	token.Expiry = time.Now().Add(-time.Minute)
	expect.OK(t, s.Keep(t.Context(), token))
	return token.AccessToken
}

// However many workers and processes notice that a token has expired, it is refreshed once; and
// again, since refresh tokens are for one use.
func TestOneRefresh(t *testing.T) {
	t.Parallel()
	c, asked := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	for round := range 3 {
		old := expire(t, s)
		before := asked.Load()
		sources := []*Tokens{NewTokens(s, func(string) {}), NewTokens(s, func(string) {}), NewTokens(s, func(string) {})} // as many processes
		tokens := sync.Map{}
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				token, err := sources[i%3].Token(t.Context())
				if err != nil {
					t.Error(err)
				}
				tokens.Store(token, true)
			})
		}
		wg.Wait()
		n := 0
		tokens.Range(func(token, _ any) bool {
			n++
			if token == old {
				t.Error("the old token")
			}
			return true
		})
		if n != 1 || asked.Load()-before != 1 {
			t.Errorf("round %d: %d tokens, %d refreshes", round, n, asked.Load()-before)
		}
	}
}

// A token that the service refuses is replaced, once, although it has not expired; but not one that is
// new.
func TestRenew(t *testing.T) {
	t.Parallel()
	c, asked := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	login, err := s.Load()
	expect.OK(t, err)
	login.ObtainedAt = time.Now().Add(-time.Minute)
	expect.OK(t, s.Keep(t.Context(), login))
	tokens := NewTokens(s, func(string) {})
	old, err := tokens.Token(t.Context())
	expect.OK(t, err)
	before := asked.Load()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if renewed, err := tokens.Renew(t.Context(), old); err != nil || !renewed {
				t.Error(renewed, err)
			}
		})
	}
	wg.Wait()
	now, err := tokens.Token(t.Context())
	if err != nil || now == old || asked.Load()-before != 1 {
		t.Errorf("%v, %d refreshes", err, asked.Load()-before)
	}
	if renewed, err := tokens.Renew(t.Context(), now); err != nil || renewed || asked.Load()-before != 1 {
		t.Errorf("%v %v, %d refreshes", renewed, err, asked.Load()-before)
	}
}

// slowRefresh is a token endpoint that answers when it is told to.
func slowRefresh(t *testing.T) (s *Store, asked, answer chan struct{}) {
	t.Helper()
	asked, answer = make(chan struct{}, 8), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-answer
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"new","refresh_token":"rotated","token_type":"Bearer","expires_in":"3600"}`)
	}))
	t.Cleanup(server.Close)
	s = &Store{filepath.Join(t.TempDir(), "evalrun", "token.json")}
	expect.OK(
		t,
		s.Keep(
			t.Context(),
			&Token{Client: Client{ID: "c", TokenURL: server.URL}, AccessToken: "old", RefreshToken: "used", Expiry: time.Unix(1, 0)},
		),
	)
	return s, asked, answer
}

// A call that gives up does not throw away the answer that holds the only good refresh token.
func TestRefreshOutlivesItsCallers(t *testing.T) {
	t.Parallel()
	s, asked, answer := slowRefresh(t)
	tokens := NewTokens(s, func(string) {})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := tokens.Token(ctx); eval.AsError(err).Kind != eval.KindCanceled {
		t.Error(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := tokens.Token(late); eval.AsError(err).Kind != eval.KindTimeout || !eval.AsError(err).OfLogin {
		t.Error(err)
	}
	close(answer)
	tokens.Close()
	kept, err := s.Load()
	if err != nil || kept.RefreshToken != "rotated" || kept.Expiry.Before(time.Now().Add(time.Minute)) {
		t.Errorf("%+v %v", kept, err)
	}
	if token, err := tokens.Token(t.Context()); err != nil || token != "new" {
		t.Error(token, err)
	}
}

// Logging out, or in as somebody else, while a refresh is under way is what counts in the end.
func TestLastWordWins(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(s *Store) error{
		"logout": func(s *Store) error {
			_, err := s.Forget(t.Context())
			return err
		},
		"login": func(s *Store) error {
			return s.Keep(t.Context(), &Token{Client: Client{ID: "another"}, AccessToken: "theirs"})
		},
	} {
		s, asked, answer := slowRefresh(t)
		tokens := NewTokens(s, func(string) {})
		refreshed, acted := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := tokens.Token(t.Context())
			refreshed <- err
		}()
		<-asked
		go func() { acted <- act(s) }()
		time.Sleep(30 * time.Millisecond) // so that it comes to wait for the lock; it may also come later
		close(answer)
		if err := errors.Join(<-refreshed, <-acted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		login, err := s.Load()
		if name == "logout" && !errors.Is(err, ErrNoLogin) || name == "login" && (err != nil || login.Client.ID != "another") {
			t.Errorf("%s: %+v %v", name, login, err)
		}
	}
}

// A token that no header can hold, or of another kind, is none.
func TestOddTokens(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"access_token":"a\r\nX: y","token_type":"Bearer"}`:                       "characters",
		`{"access_token":"a","token_type":"mac"}`:                                  "another type",
		`{"token_type":"Bearer"}`:                                                  "not what the standard says",
		`{"access_token":"a","token_type":"Bearer","expires_in":"soon"}`:           "not what the standard says",
		`{"access_token":"a","token_type":"bearer","expires_in":0,"scope":"x  y"}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		}))
		s := &Store{filepath.Join(t.TempDir(), "token.json")}
		expect.OK(
			t,
			s.Keep(
				t.Context(),
				&Token{Client: Client{ID: "c", TokenURL: server.URL}, AccessToken: "old", RefreshToken: "r", Expiry: time.Unix(1, 0)},
			),
		)
		_, err := NewTokens(s, func(string) {}).Token(t.Context())
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv")) {
			t.Errorf("%s: %v", body, err)
		}
		server.Close()
	}
}

// A registered redirect address is used to the letter, but for its port.
func TestRegisteredRedirect(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	for _, bad := range []string{"https://localhost/cb", "http://evil.example/cb", "nonsense", "http://localhost/cb?x=1"} {
		if err := c.Redirect(bad); err == nil {
			t.Error(bad)
		}
	}
	expect.OK(t, c.Redirect("http://localhost:1/call%20back"))
	var redirect string
	token, _, err := try(t, c, func(a string) {
		u, _ := url.Parse(a)
		redirect = u.Query().Get("redirect_uri")
		browse(t, a)
	}, nil)
	if err != nil || token == nil || !strings.HasPrefix(redirect, "http://localhost:") || !strings.HasSuffix(redirect, "/call%20back") {
		t.Error(redirect, err)
	}
}

// What a server sends to the callback is shown without secrets and control characters, and a login that cannot be
// kept is no login.
func TestCallbackIsCleaned(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	var page string
	_, _, err := try(t, c, func(a string) {
		u := callback(t, a)
		q := u.Query()
		q.Del("code")
		q.Set("error", "server_error")
		q.Set("error_description", "not-a-secret \x1b[31m\u202e<script> "+q.Get("state"))
		u.RawQuery = q.Encode()
		page = browse(t, u.String())
	}, nil)
	if err == nil || strings.Contains(err.Error()+page, "not-a-secret") || strings.ContainsAny(err.Error()+page, "\x1b\u202e") ||
		strings.Contains(page, "<script>") {
		t.Errorf("%v\n%s", err, page)
	}
	_, _, err = try(t, c, func(a string) { page = browse(t, a) }, func(l *Login) {
		l.Keep = func(context.Context, *Token) error { return errors.New("the disk is full") }
	})
	if err == nil || !strings.Contains(page, "The login failed: the disk is full") {
		t.Errorf("%v\n%s", err, page)
	}
}

// A refresh that is refused asks for a new login; trouble of the server does not.
func TestRefusedRefresh(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	login, err := s.Load()
	expect.OK(t, err)
	expect.OK(t, login.Revoke(t.Context(), c.RevokeURL))
	expire(t, s)
	_, err = NewTokens(s, func(string) {}).Token(t.Context())
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindAuth || !strings.Contains(e.Message, "log in again") {
		t.Error(err)
	}
	for name, serve := range map[string]http.HandlerFunc{
		"503":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"html":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"nothing": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(serve)
		login.Client.TokenURL = server.URL
		expect.OK(t, s.Keep(t.Context(), login))
		expire(t, s)
		_, err := NewTokens(s, func(string) {}).Token(t.Context())
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindTransport || strings.Contains(e.Message, login.RefreshToken) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

// A server that wants the secret as basic authentication gets it, and is asked so from then on.
func TestSecretInHeader(t *testing.T) {
	t.Parallel()
	var ways []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if id, secret, ok := r.BasicAuth(); ok {
			ways = append(ways, "header "+id+" "+secret)
			fmt.Fprint(w, `{"access_token":"new","token_type":"Bearer","expires_in":1}`)
			return
		}
		ways = append(ways, "form "+r.PostFormValue("client_id"))
		w.WriteHeader(401)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
	}))
	defer server.Close()
	s := &Store{filepath.Join(t.TempDir(), "token.json")}
	expect.OK(
		t,
		s.Keep(
			t.Context(),
			&Token{
				Client:       Client{ID: "c", Secret: "s3cret", TokenURL: server.URL},
				AccessToken:  "old",
				RefreshToken: "r",
				Expiry:       time.Unix(1, 0),
			},
		),
	)
	for range 2 {
		if _, err := NewTokens(s, func(string) {}).Token(t.Context()); err != nil {
			t.Fatal(err)
		}
		expire(t, s)
	}
	if got := strings.Join(ways, ", "); got != "form c, header c s3cret, header c s3cret" {
		t.Error(got)
	}
}

// The file is its owner's alone, whatever the umask, and is refused when it is not.
func TestStore(t *testing.T) {
	t.Parallel()
	s := &Store{filepath.Join(t.TempDir(), "deep", "evalrun", "token.json")}
	if _, err := s.Load(); !errors.Is(err, ErrNoLogin) {
		t.Error(err)
	}
	expect.OK(t, os.MkdirAll(filepath.Dir(s.Path), 0o755))
	token := &Token{Client: Client{ID: "c"}, Scopes: scopes, AccessToken: "a", RefreshToken: "r"}
	expect.OK(t, s.Keep(t.Context(), token))
	for path, want := range map[string]os.FileMode{s.Path: 0o600, filepath.Dir(s.Path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o666} {
		expect.OK(t, os.Chmod(s.Path, mode))
		if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "can be read by others") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	for text, want := range map[string]string{
		"": "damaged", "{": "damaged", "{}": "damaged", `{"version":9,"client":{"clientId":"c"}}`: "version 9",
	} {
		expect.OK(t, os.WriteFile(s.Path, []byte(text), 0o600))
		expect.OK(t, os.Chmod(s.Path, 0o600))
		if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "log in again") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := s.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Forget(t.Context()); !errors.Is(err, ErrNoLogin) {
		t.Error(err)
	}
}

func TestClientSecrets(t *testing.T) {
	t.Parallel()
	good := `"client_id":"c","auth_uri":"https://a.example/auth","token_uri":"https://a.example/token"`
	for text, want := range map[string]string{
		`{"installed":{` + good + `}}`:                                    "",
		`{"installed":{` + good + `,"revoke_uri":"https://a.example/r"}}`: "",
		`{"web":{` + good + `}}`:                                          "web application",
		`{` + good + `}`:                                                  "no `installed` object",
		`nonsense`:                                                        "not the JSON",
		`[]`:                                                              "not the JSON",
		`{"installed":{"auth_uri":"https://a.example","token_uri":"https://a.example"}}`:                       "client_id` is missing",
		`{"installed":{"client_id":"c","auth_uri":"https://a.example"}}`:                                       "token_uri` is missing",
		`{"installed":{"client_id":"c","auth_uri":"https://a.example","token_uri":"http://a.example"}}`:        "not encrypted",
		`{"installed":{"client_id":"c","auth_uri":"javascript:x","token_uri":"https://a.example"}}`:            "not an address",
		`{"installed":{"client_id":"c","auth_uri":"http://127.0.0.1:1/a","token_uri":"http://[::1]:1/token"}}`: "",
	} {
		_, err := parseClient([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for uris, want := range map[string]string{
		`["http://localhost"]`: "", `["urn:ietf:wg:oauth:2.0:oob","http://localhost/cb"]`: "/cb",
		`["http://localhost","http://127.0.0.1/back"]`: "/back", `["http://127.0.0.1:8080/"]`: "/", `["https://site.example/x"]`: "", `[]`: "",
	} {
		c, err := parseClient([]byte(`{"installed":{` + good + `,"redirect_uris":` + uris + `}}`))
		if err != nil || c.path != want {
			t.Errorf("%s: %v %v", uris, c, err)
		}
	}
}

// Nothing that was sent to an authorization server comes back in an error, whatever it answers.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(400)
		answer, _ := json.Marshal(
			map[string]string{"error": "invalid_grant", "error_description": "no: " + string(body) + "\x1b[31m" + strings.Repeat("x", 1000)},
		)
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	s := &Store{filepath.Join(t.TempDir(), "token.json")}
	login := &Token{
		Client:       Client{ID: "c", Secret: "canary secret/1", TokenURL: server.URL},
		AccessToken:  "canary-access",
		RefreshToken: "canary refresh&2",
		Expiry:       time.Unix(1, 0),
	}
	expect.OK(t, s.Keep(t.Context(), login))
	_, err := NewTokens(s, func(string) {}).Token(t.Context())
	if err == nil || strings.Contains(err.Error(), "canary") || len(err.Error()) > 600 {
		t.Error(err)
	}
}
