package emulator

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

// How the emulator's authorization server gets consent.
const (
	ConsentPage = "page" // a person decides on a page
	ConsentAuto = "auto" // granted without a page, for tests
	ConsentDeny = "deny" // denied without a page
)

// The only OAuth client of the emulator. Its secret is public, because desktop applications cannot keep
// one.
const (
	oauthClient  = "evalrun-emulator"
	oauthSecret  = "not-a-secret"
	oauthProject = "emulated-project"
)

// Lifetimes of codes and tokens.
const (
	codeLifetime         = time.Minute
	defaultTokenLifetime = time.Hour
)

// authServer is an OAuth 2.0 authorization server (RFC 6749) with PKCE (RFC 7636), for loopback redirects
// (RFC 8252). Codes are valid once, refresh tokens rotate, and a second use of either ends the login.
type authServer struct {
	consent  string
	lifetime time.Duration
	project  string

	mu      sync.Mutex
	pending map[string]*consentGrant // by the ticket of the consent page
	codes   map[string]*consentGrant // including used ones
	access  map[string]*access       // by token
	refresh map[string]*consentGrant // including used ones
}

// consentGrant is what a person has granted, or can grant on the consent page.
type consentGrant struct {
	redirect, challenge, state, scope string
	made                              time.Time
	codeUsed, ended                   bool
	refresh                           string // the current one
}

type access struct {
	grant  *consentGrant
	expiry time.Time
}

func newAuthServer(consent string, lifetime time.Duration, project string) *authServer {
	if consent == "" {
		consent = ConsentPage
	}
	if lifetime <= 0 {
		lifetime = defaultTokenLifetime
	}
	return &authServer{
		consent: consent, lifetime: lifetime, project: cmp.Or(project, oauthProject),
		pending: map[string]*consentGrant{}, codes: map[string]*consentGrant{}, access: map[string]*access{},
		refresh: map[string]*consentGrant{},
	}
}

func (a *authServer) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /emulator/client-secrets", a.clientSecrets)
	mux.HandleFunc("GET /oauth/authorize", a.authorize)
	mux.HandleFunc("POST /oauth/consent", a.decide)
	mux.HandleFunc("POST /oauth/token", a.token)
	mux.HandleFunc("POST /oauth/revoke", a.revoke)
}

func (a *authServer) clientSecrets(w http.ResponseWriter, r *http.Request) {
	base := "http://" + r.Host
	type installed struct {
		ClientID     string   `json:"client_id"`
		ProjectID    string   `json:"project_id"`
		AuthURI      string   `json:"auth_uri"`
		TokenURI     string   `json:"token_uri"`
		RevokeURI    string   `json:"revoke_uri"`
		ClientSecret string   `json:"client_secret"`
		RedirectURIs []string `json:"redirect_uris"`
	}
	reply(w, struct {
		Installed installed `json:"installed"`
	}{installed{
		oauthClient, a.project, base + "/oauth/authorize", base + "/oauth/token", base + "/oauth/revoke", oauthSecret,
		[]string{"http://localhost"},
	}})
}

// newToken returns a random text. Its prefix shows people what it is.
func newToken(prefix string) string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// authorize begins a login. It reports problems of the client or the redirect on a page, and all others to
// the program to which the browser is redirected.
func (a *authServer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	g := &consentGrant{
		redirect:  q.Get("redirect_uri"),
		challenge: q.Get("code_challenge"),
		state:     q.Get("state"),
		scope:     q.Get("scope"),
		made:      time.Now(),
	}
	switch {
	case q.Get("client_id") != oauthClient:
		page(w, http.StatusUnauthorized, "There is no client "+q.Get("client_id")+" here.", "")
		return
	case !loopbackRedirect(g.redirect):
		const text = "The redirect address must be http://127.0.0.1, http://[::1] or http://localhost, with any port."
		page(w, http.StatusBadRequest, text, "")
		return
	}
	if code, why := g.problem(q); code != "" {
		g.refuse(w, r, code, why)
		return
	}
	switch a.consent {
	case ConsentAuto:
		a.grant(w, r, g)
	case ConsentDeny:
		g.refuse(w, r, "access_denied", "the emulator is set to deny logins")
	default:
		ticket := newToken("")
		a.mu.Lock()
		a.pending[ticket] = g
		a.mu.Unlock()
		page(w, http.StatusOK, "A program on this machine, evalrun, wants to use the emulated service in your name: "+g.scope, ticket)
	}
}

// problem says why a login cannot be granted, as an error code and in words; "" if it can.
func (g *consentGrant) problem(q url.Values) (code, why string) {
	switch {
	case q.Get("response_type") != "code":
		return "unsupported_response_type", "only response_type=code is supported"
	case q.Get("code_challenge_method") != "S256" || len(g.challenge) != 43:
		return "invalid_request", "a code_challenge by the method S256 is required"
	case g.unknownScope() != "":
		return "invalid_scope", "there is no scope " + g.unknownScope()
	}
	return "", ""
}

func loopbackRedirect(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "http" && u.User == nil && u.Fragment == "" && wire.IsLoopback(u.Hostname())
}

func (g *consentGrant) unknownScope() string {
	// knownScopes are the ends of scopes that the emulator grants.
	knownScopes := []string{"/auth/generative-language.retriever", "/auth/cloud-platform"}

	scopes := strings.Fields(g.scope)
	for _, s := range scopes {
		if !slices.ContainsFunc(knownScopes, func(known string) bool { return strings.HasSuffix(s, known) }) {
			return s
		}
	}
	if len(scopes) == 0 {
		return "(the request names none)"
	}
	return ""
}

// redirectWith sends the browser back with parameters.
func (g *consentGrant) redirectWith(w http.ResponseWriter, r *http.Request, params url.Values) {
	if g.state != "" {
		params.Set("state", g.state)
	}
	to := g.redirect + "?" + params.Encode()
	if strings.Contains(g.redirect, "?") {
		to = g.redirect + "&" + params.Encode()
	}
	http.Redirect(w, r, to, http.StatusFound)
}

func (g *consentGrant) refuse(w http.ResponseWriter, r *http.Request, code, description string) {
	g.redirectWith(w, r, url.Values{"error": {code}, "error_description": {description}})
}

func (a *authServer) grant(w http.ResponseWriter, r *http.Request, g *consentGrant) {
	code := newToken("code-")
	a.mu.Lock()
	g.made = time.Now() // the person read the page first
	a.codes[code] = g
	a.mu.Unlock()
	g.redirectWith(w, r, url.Values{"code": {code}, "scope": {g.scope}})
}

func (a *authServer) decide(w http.ResponseWriter, r *http.Request) {
	ticket := r.PostFormValue("ticket")
	a.mu.Lock()
	g := a.pending[ticket]
	delete(a.pending, ticket)
	a.mu.Unlock()
	switch {
	case g == nil:
		page(w, http.StatusBadRequest, "This login was answered already, or does not exist.", "")
	case r.PostFormValue("decision") == "allow":
		a.grant(w, r, g)
	default:
		g.refuse(w, r, "access_denied", "the person said no")
	}
}

type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

func refuseToken(w http.ResponseWriter, status int, code, description string) {
	w.Header().Set("Cache-Control", "no-store")
	failWith(w, status, map[string]string{"error": code, "error_description": description})
}

func (a *authServer) token(w http.ResponseWriter, r *http.Request) {
	if !authentic(r) {
		refuseToken(w, http.StatusUnauthorized, "invalid_client", "the client or its secret is not known")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var g *consentGrant
	var problem string
	switch kind := r.PostFormValue("grant_type"); kind {
	case "authorization_code":
		g, problem = a.useCode(r)
	case "refresh_token":
		g, problem = a.useRefresh(r.PostFormValue("refresh_token"))
	default:
		refuseToken(w, http.StatusBadRequest, "unsupported_grant_type", "the grant type "+kind+" is not supported")
		return
	}
	if problem != "" {
		refuseToken(w, http.StatusBadRequest, "invalid_grant", problem)
		return
	}
	answer := tokenAnswer{newToken("access-"), "Bearer", max(1, int(a.lifetime.Seconds())), newToken("refresh-"), g.scope}
	a.access[answer.AccessToken] = &access{g, time.Now().Add(a.lifetime)}
	a.refresh[answer.RefreshToken], g.refresh = g, answer.RefreshToken
	w.Header().Set("Cache-Control", "no-store")
	reply(w, answer)
}

// authentic checks the client's secret, in the header or in the form.
func authentic(r *http.Request) bool {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	return id == oauthClient && secret == oauthSecret
}

// useCode uses up a code. A second use ends the login, because the code may have been stolen (RFC 6749,
// section 4.1.2).
func (a *authServer) useCode(r *http.Request) (*consentGrant, string) {
	g := a.codes[r.PostFormValue("code")]
	switch {
	case g == nil:
		return nil, "the code is not known"
	case g.codeUsed:
		g.ended = true
		return nil, "the code was used before"
	}
	g.codeUsed = true
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case time.Since(g.made) > codeLifetime:
		return nil, "the code has expired"
	case g.redirect != r.PostFormValue("redirect_uri"):
		return nil, "the redirect_uri is not the one of the code"
	case subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(g.challenge)) != 1:
		return nil, "the code_verifier does not match the code_challenge"
	}
	return g, ""
}

func (a *authServer) useRefresh(token string) (*consentGrant, string) {
	g := a.refresh[token]
	switch {
	case g == nil:
		return nil, "the refresh token is not known"
	case g.ended:
		return nil, "the login has ended"
	case g.refresh != token:
		g.ended = true
		return nil, "the refresh token was used before"
	}
	return g, ""
}

// revoke ends a login by one of its tokens. An unknown token counts as revoked (RFC 7009).
func (a *authServer) revoke(_ http.ResponseWriter, r *http.Request) {
	token := r.PostFormValue("token")
	a.mu.Lock()
	defer a.mu.Unlock()
	if g := a.refresh[token]; g != nil {
		g.ended = true
	}
	if t := a.access[token]; t != nil {
		t.grant.ended = true
	}
}

func (a *authServer) good(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.access[token]
	return t != nil && !t.grant.ended && time.Now().Before(t.expiry)
}

var consentPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Emulated authorization server</title>
<style>body{font:1.1rem system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark;
overflow-wrap:anywhere}button{font:inherit;padding:.5em 1.5em;margin-right:1em}</style></head>
<body><h1>Emulated authorization server</h1><p>{{.Text}}</p>
{{if .Ticket}}<p>Nobody has verified this application; nothing real is behind it.</p>
<form method="post" action="/oauth/consent"><input type="hidden" name="ticket" value="{{.Ticket}}">
<button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>{{end}}
</body></html>
`))
})

func page(w http.ResponseWriter, status int, text, ticket string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_ = consentPage().Execute(w, struct{ Text, Ticket string }{text, ticket}) // the client may have gone
}
