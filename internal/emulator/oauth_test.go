package emulator

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// The verifier and its challenge are those of RFC 7636, appendix B.
const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

// person logs in to the emulator as a client with a browser does.
type person struct {
	*testing.T
	server *httptest.Server
	client *http.Client
}

func newPerson(t *testing.T) person {
	t.Helper()
	server := serve(t, "rules: []", func(o *Options) { o.Consent, o.Project = ConsentAuto, "right" })
	return person{t, server, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// authorize is where the browser is sent with the answer to an authorization, or its status when it stays.
func (p person) authorize(change url.Values) *url.URL {
	p.Helper()
	q := url.Values{
		"client_id": {oauthClient}, "response_type": {"code"}, "redirect_uri": {"http://127.0.0.1:1/cb"}, "state": {"s"},
		"scope": {"https://x/auth/cloud-platform"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
	maps.Copy(q, change)
	resp, err := p.client.Get(p.server.URL + "/oauth/authorize?" + q.Encode())
	expect.OK(p, err)
	resp.Body.Close()
	u, err := resp.Location()
	if err != nil {
		return &url.URL{Opaque: resp.Status}
	}
	return u
}

func (p person) trade(form url.Values) (int, tokenAnswer, string) {
	p.Helper()
	for k, v := range map[string]string{"client_id": oauthClient, "client_secret": oauthSecret} {
		if !form.Has(k) {
			form.Set(k, v)
		}
	}
	resp, err := p.client.PostForm(p.server.URL+"/oauth/token", form)
	expect.OK(p, err)
	defer resp.Body.Close()
	var raw json.RawMessage
	expect.OK(p, json.NewDecoder(resp.Body).Decode(&raw))
	var a tokenAnswer
	_ = json.Unmarshal(raw, &a)
	return resp.StatusCode, a, string(raw)
}

// exchange trades a new code for tokens.
func (p person) exchange(change url.Values) (int, tokenAnswer, string) {
	p.Helper()
	form := url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {p.authorize(nil).Query().Get("code")},
		"redirect_uri":  {"http://127.0.0.1:1/cb"},
		"code_verifier": {verifier},
	}
	maps.Copy(form, change)
	return p.trade(form)
}

func (p person) refresh(token string) (int, tokenAnswer, string) {
	p.Helper()
	return p.trade(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

func (p person) list(token, project string) int {
	p.Helper()
	status, _ := get(p.T, p.server.URL+"/v1/models", http.Header{"Authorization": {"Bearer " + token}, "X-Svc-User-Project": {project}})
	return status
}

func TestBadAuthorizationsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for name, test := range map[string]struct {
		change url.Values
		want   string
	}{
		"client":        {url.Values{"client_id": {"other"}}, "401"},
		"redirect":      {url.Values{"redirect_uri": {"https://evil.example/"}}, "400"},
		"redirect host": {url.Values{"redirect_uri": {"http://127.0.0.1.evil.example/"}}, "400"},
		"type":          {url.Values{"response_type": {"token"}}, "error=unsupported_response_type"},
		"plain":         {url.Values{"code_challenge_method": {"plain"}}, "error=invalid_request"},
		"no challenge":  {url.Values{"code_challenge": {""}}, "error=invalid_request"},
		"scope":         {url.Values{"scope": {"x"}}, "error=invalid_scope"},
	} {
		expect.Contains(t, name, p.authorize(test.change).String(), test.want)
	}
}

func TestBadExchangesAreRefused(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for name, test := range map[string]struct {
		change url.Values
		want   string
	}{
		"verifier": {url.Values{"code_verifier": {"wrong"}}, "invalid_grant"},
		"redirect": {url.Values{"redirect_uri": {"http://127.0.0.1:2/cb"}}, "invalid_grant"},
		"code":     {url.Values{"code": {"made up"}}, "invalid_grant"},
		"secret":   {url.Values{"client_secret": {"x"}}, "invalid_client"},
		"type":     {url.Values{"grant_type": {"password"}}, "unsupported_grant_type"},
	} {
		if status, _, raw := p.exchange(test.change); status < 400 || !strings.Contains(raw, test.want) {
			t.Errorf("%s: %d %s, want a status of an error with %q", name, status, raw, test.want)
		}
	}
}

// A token is good for its project until it is revoked; a refresh token is for one use, and a replay ends the login.
func TestATokenIsGoodUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	_, first, raw := p.exchange(nil)
	if first.AccessToken == "" || first.ExpiresIn != 3600 {
		t.Fatalf("got %v, want a token that expires in 3600 s", raw)
	}
	expect.Same(t, "status of the project", p.list(first.AccessToken, "right"), 200)
	expect.Same(t, "status of another project", p.list(first.AccessToken, "wrong"), 403)
	expect.Same(t, "status without a project", p.list(first.AccessToken, ""), 403)
	expect.Same(t, "status of another token", p.list("made-up", "right"), 401)
	_, second, _ := p.refresh(first.RefreshToken)
	if p.list(second.AccessToken, "right") != 200 || second.RefreshToken == first.RefreshToken {
		t.Errorf("%+v, want a token that works, and another refresh token", second)
	}
	if status, _, raw := p.refresh(first.RefreshToken); status != 400 || !strings.Contains(raw, "used before") {
		t.Errorf("got %v, %v, want 400 and what was used before", status, raw)
	}
	if status, _, _ := p.refresh(second.RefreshToken); status != 400 || p.list(second.AccessToken, "right") != 401 {
		t.Error("the login goes on after a replayed refresh token, want that it ends")
	}
	_, third, _ := p.exchange(nil)
	resp, err := p.client.PostForm(p.server.URL+"/oauth/revoke", url.Values{"token": {third.AccessToken}})
	expect.OK(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 || p.list(third.AccessToken, "right") != 401 {
		t.Error("a revoked token is good, want that it is refused")
	}
}

func TestExpiredTokensAreNotGood(t *testing.T) {
	t.Parallel()
	a := newAuthServer(ConsentAuto, time.Hour, "")
	g := &consentGrant{}
	a.access["old"] = &access{g, time.Now().Add(-time.Second)}
	a.access["new"] = &access{g, time.Now().Add(time.Minute)}
	if a.good("old") || !a.good("new") || a.good("") {
		t.Errorf("old: %t, new: %t, none: %t; want only the new token to be good", a.good("old"), a.good("new"), a.good(""))
	}
}
