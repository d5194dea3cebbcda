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
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// authServer runs the emulator's authorization server and counts the requests to its token endpoint.
func authServer(t *testing.T, o emulator.Options) (c *desktopClient, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	e := emulator.New(o)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			requests.Add(1)
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
	return c, requests
}

var scopes = []string{"https://scopes.example/auth/generative-language.retriever"}

// try logs in; visit gets the address that a person would open.
func try(t *testing.T, c *desktopClient, visit func(address string), change func(*Login)) (*Token, []string, error) {
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

// callback sends a request to the authorization server and returns where it sends the browser, unvisited.
func callback(t *testing.T, address string) *url.URL {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	expect.OK(t, err)
	resp.Body.Close()
	u, err := resp.Location()
	expect.OK(t, err)
	return u
}

func TestLoginReturnsAToken(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	var address, last string
	token, notices, err := try(t, c, func(a string) { address, last = a, browse(t, a) }, nil)
	if err != nil || len(notices) > 0 {
		t.Fatalf("%v, notices %q, want no error and no notice", err, notices)
	}
	checkAuthorization(t, address)
	if !strings.Contains(last, "You are logged in") || token.AccessToken == "" || token.RefreshToken == "" || token.Expired(time.Now()) ||
		token.Client.Project != "emulated-project" {
		t.Errorf("%s %+v, want a page that says so, and a valid token of emulated-project", last, token)
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
		t.Errorf("%v %v, want 127.0.0.1 with a port and no path", redirect, err)
	}
	if len(q.Get("state")) < 40 || len(q.Get("code_challenge")) != 43 {
		t.Errorf("%s, want a state of 40 characters or more and a challenge of 43", address)
	}
}

// Only the one answer that belongs to the login counts, whatever else comes.
func TestStrayCallbacksAreIgnored(t *testing.T) {
	t.Parallel()
	c, requests := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
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
			"wrong state": {"GET", with(func(_ *url.URL, q url.Values) { q.Set("state", string(q.Get("state")[0]^1)+q.Get("state")[1:]) }), nil},
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
				t.Errorf("%s: status %d, want 400 or more", name, status)
			}
		}
		if n := requests.Load(); n != 0 {
			t.Errorf("%d codes were traded for stray callbacks, want none", n)
		}
		expect.Same(t, "the good one: status", get("GET", good.String(), nil), 200)
	}, nil)
	if err != nil || token == nil || requests.Load() != 1 {
		t.Errorf("%v, %d codes were traded, want no error and 1", err, requests.Load())
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "wrong state") {
		t.Errorf("%q, want one notice of a wrong state", notices)
	}
}

// Each way for a login to fail has words of its own.
func TestEachLoginFailureSaysWhy(t *testing.T) {
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
		}, func(l *Login) { l.Wait = time.Second }, "is of another login"},
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
				t.Errorf("%v %v, want no token, and %q", token, err, test.want)
			}
		})
	}
}

// Without a browser the address to which one was sent can be pasted.
func TestAPastedAddressEndsTheLogin(t *testing.T) {
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
		t.Errorf("%v, %q, want two notices: paste it whole, wrong state", err, notices)
	}
}

func TestTheConsentPageAllowsOrDenies(t *testing.T) {
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
		t.Errorf("got %v, want a token", err)
	}
	if _, _, err := try(t, c, press("deny"), nil); !errors.Is(err, errDenied) {
		t.Errorf("got %v, want %v", err, errDenied)
	}
}

func TestRegisteredRedirectIsUsedToTheLetter(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	for _, bad := range []string{"https://localhost/cb", "http://evil.example/cb", "nonsense", "http://localhost/cb?x=1"} {
		if err := c.Redirect(bad); err == nil {
			t.Errorf("%s is taken, want an error", bad)
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
		t.Errorf("%s %v, want http://localhost:PORT/call%%20back", redirect, err)
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
		t.Errorf("%v\n%s\nwant an error without secrets, escapes and scripts", err, page)
	}
	_, _, err = try(t, c, func(a string) { page = browse(t, a) }, func(l *Login) {
		l.Keep = func(context.Context, *Token) error { return errors.New("the disk is full") }
	})
	if err == nil || !strings.Contains(page, "The login failed: the disk is full") {
		t.Errorf("%v\n%s\nwant `The login failed: the disk is full`", err, page)
	}
}

func TestClientSecretsThatDoNotFitAreRefused(t *testing.T) {
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
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for uris, want := range map[string]string{
		`["http://localhost"]`: "", `["urn:ietf:wg:oauth:2.0:oob","http://localhost/cb"]`: "/cb",
		`["http://localhost","http://127.0.0.1/back"]`: "/back", `["http://127.0.0.1:8080/"]`: "/", `["https://site.example/x"]`: "", `[]`: "",
	} {
		c, err := parseClient([]byte(`{"installed":{` + good + `,"redirect_uris":` + uris + `}}`))
		if err != nil || c.path != want {
			t.Errorf("%s: %v %v, want the path %q", uris, c, err, want)
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
	s := &LoginFile{filepath.Join(t.TempDir(), "token.json")}
	login := &Token{
		Client:       desktopClient{ID: "c", Secret: "canary secret/1", TokenURL: server.URL},
		AccessToken:  "canary-access",
		RefreshToken: "canary refresh&2",
		Expiry:       time.Unix(1, 0),
	}
	expect.OK(t, s.Keep(t.Context(), login))
	_, err := NewAccessTokens(s, func(string) {}).Token(t.Context())
	if err == nil || strings.Contains(err.Error(), "canary") || len(err.Error()) > 600 {
		t.Errorf("got %v, want a short error without secrets", err)
	}
}
