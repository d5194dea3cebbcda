package oauth

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
)

// safe fails unless secrets may be sent to an address: encrypted, or to this machine.
func safe(t *testing.T, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		t.Fatalf("%q: %v, want an address with a host", address, err)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())) {
		t.Errorf("secrets would go to %q, want https or this machine", address)
	}
}

// FuzzClientFile checks that a client secrets file is refused, without its secret in the words, or names a client and
// addresses to which secrets may be sent.
func FuzzClientFile(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add([]byte(s), "http://localhost/"+s)
	}
	for _, s := range []string{
		`{"installed":{"client_id":"c","client_secret":"canary-secret","auth_uri":"https://a/x","token_uri":"http://127.0.0.1:1/t",` +
			`"redirect_uris":["http://localhost","http://127.0.0.1:5/cb%2f"]}}`,
		`{"installed":{"client_id":"c","client_secret":"canary-secret","auth_uri":"http://evil/","token_uri":"https://t"}}`,
		`{"web":{}}`, `{"installed":null}`, `{"installed":{"client_secret":["canary-secret"]}}`,
	} {
		f.Add([]byte(s), "http://127.0.0.1:99999/a?b")
	}
	f.Fuzz(func(t *testing.T, data []byte, redirect string) {
		c, err := parseClient(data)
		if err != nil {
			if c != nil || strings.Contains(err.Error(), "canary-secret") {
				t.Errorf("got %+v, %v; want no client and an error without the secret", c, err)
			}
			return
		}
		safe(t, c.AuthURL)
		safe(t, c.TokenURL)
		if c.RevokeURL != "" {
			safe(t, c.RevokeURL)
		}
		if c.ID == "" || c.tokenHost() == "" || c.path != "" && c.path[0] != '/' {
			t.Errorf("%+v, want an id, a host of tokens and a path from the root", c)
		}
		if c.Redirect(redirect) == nil {
			staysLocal(t, redirect, "http://"+c.host+":1"+c.path)
		}
	})
}

// staysLocal wants the address that a redirect leads to be one of this machine.
func staysLocal(t *testing.T, redirect, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" || u.RawQuery != "" {
		t.Errorf("%q leads to %+v %v, want an address of this machine without a query", redirect, u, err)
	}
}

// FuzzTokenFile checks that a file of a login is refused, or is of a client, and is read the same when written again.
func FuzzTokenFile(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:10],
		`{"version":1,"client":{"clientId":"c"},"scopes":["s"],"accessToken":"a","refreshToken":"r",`+
			`"obtainedAt":"2026-01-01T00:00:00Z","expiry":"2026-01-01T01:00:00.5+02:00"}`,
		`{"version":1,"client":{"clientId":"c"}}`, `{"version":2,"client":{"clientId":"c"}}`, `{"version":1,"client":null}`,
		`{"version":1,"expiry":"x","client":{"clientId":"c"}}`,
	) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &LoginFile{filepath.Join(t.TempDir(), "token.json")}
		expect.OK(t, os.WriteFile(s.Path, data, 0o600))
		token, err := s.parse()
		if err != nil {
			return
		}
		text, err := json.Marshal(storeFile{storeVersion, token})
		if err != nil || token.Client.ID == "" || token.Expired(token.Expiry.Add(-time.Hour*24*365)) && token.Expiry.After(token.ObtainedAt) {
			t.Fatalf("%+v %v, want a client, and an expiry after the time of the token", token, err)
		}
		expect.OK(t, os.WriteFile(s.Path, text, 0o600))
		second, err := s.parse()
		expect.OK(t, err)
		expect.Same(t, "scopes, read again", second.Scopes, token.Scopes)
		if second.AccessToken != token.AccessToken || !second.Expiry.Equal(token.Expiry) || second.Client != token.Client {
			t.Errorf("%+v, then %+v, want the same", token, second)
		}
	})
}

// FuzzTokenAnswer checks that the answer of a token endpoint gives a token that a header can hold, or an error in one
// line without what was sent.
func FuzzTokenAnswer(f *testing.F) {
	for _, s := range append(
		hostile.Strings()[:25], `{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r","scope":"a  b"}`,
		`{"access_token":"a","expires_in":"-1"}`, `{"access_token":"a\nb"}`, `{"access_token":"a","token_type":"mac"}`,
		`{"error":"invalid_grant","error_description":"canary+code/is\u001b[31m ::error canary%2Bcode%2Fis"}`,
		`access_token=a&expires_in=1e9`, `{"access_token":"","error":"::x"}`,
		`{"expires_in":99999999999999999999,"access_token":"a"}`,
	) {
		f.Add(200, "application/json", []byte(s))
		f.Add(400, "text/plain", []byte(s))
	}
	const code = "canary+code/is"
	var status atomic.Int64
	var kind, body atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind.Load().(string))
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write(body.Load().([]byte))
	}))
	f.Cleanup(server.Close)
	f.Fuzz(func(t *testing.T, code3 int, contentType string, data []byte) {
		status.Store(int64(200 + max(0, code3)%400))
		kind.Store(strings.ToValidUTF8(contentType, ""))
		body.Store(data)
		c := &desktopClient{ID: "id", Secret: "canary-secret", TokenURL: server.URL}
		answer, err := c.token(t.Context(), func(ctx context.Context, config *oauth2.Config) (*oauth2.Token, error) {
			return config.Exchange(ctx, code)
		}, "http://127.0.0.1:1", nil)
		token := &Token{Client: *c}
		if err == nil {
			err = token.fill(answer, code, time.Now())
		}
		if err == nil {
			if token.AccessToken == "" || strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("%q, want printable characters without spaces", token.AccessToken)
			}
			return
		}
		checkExplained(t, c.explain(err, code).Error(), code, url.QueryEscape(code), "canary-secret")
	})
}

// checkExplained wants an error in one line of bounded length, without secrets.
func checkExplained(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q, want the secret masked", text)
		}
	}
	if text == "" || len([]rune(text)) > 6000 ||
		strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
		t.Errorf("%q, want a short text without control characters", text)
	}
}

// FuzzCallback checks that no request of a browser, and nothing that is pasted, ends a login whose state it does not
// know, and that pages show texts as texts.
func FuzzCallback(f *testing.F) {
	for _, s := range hostile.Strings() {
		f.Add("code="+url.QueryEscape(s)+"&state="+url.QueryEscape(s), s)
		f.Add("error="+url.QueryEscape(s), "127.0.0.1:9/?code=x&state="+s+"\n\n'http://127.0.0.1:9/?error=y'")
	}
	f.Fuzz(func(t *testing.T, query, pasted string) {
		a := &attempt{
			Login: &Login{
				Client: &desktopClient{},
				Pasted: strings.NewReader(pasted),
				Notice: func(string) {},
			}, state: "the state of this login", host: "127.0.0.1:9",
			answers: make(chan callbackAnswer), ended: make(chan struct{}),
		}
		close(a.ended)
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9/", nil)
		r.URL.RawQuery = query
		if strings.Contains(query+pasted, "login") {
			return
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		a.readPasted()
		if a.taken || w.Code == http.StatusOK {
			t.Errorf("%d, taken: %v, want a refusal", w.Code, a.taken)
		}
		w = httptest.NewRecorder()
		a.page(w, 200, pasted)
		_, shown, _ := strings.Cut(w.Body.String(), "<p>")
		shown, _, _ = strings.Cut(shown, "</p>")
		if want := strings.ReplaceAll(pasted, "\x00", "\ufffd"); html.UnescapeString(shown) != want || strings.ContainsAny(shown, "<>\"") {
			t.Errorf("%q is shown as %q, want it escaped", pasted, shown)
		}
	})
}
