package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/oauth"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const scopeBase = "https://scopes.example/auth"

// atHome gives the test a user folder of its own: the login of a user is in one place, which the environment names.
func atHome(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Setenv("AppData", t.TempDir())
	}
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
}

// server is an authorization server that grants these scopes and counts what is revoked.
type server struct {
	*httptest.Server
	granted string
	refuses bool // to revoke
	revoked []string
}

func newServer(t *testing.T, granted string) *server {
	t.Helper()
	s := &server{granted: granted}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(
			w,
			`{"access_token": "access", "refresh_token": "refresh", "token_type": "Bearer", "expires_in": 3600, "scope": %q}`,
			s.granted,
		)
	})
	mux.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) {
		if s.refuses {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		s.revoked = append(s.revoked, r.FormValue("token"))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// secrets is the client secrets file of the server, without the endpoint to revoke where there is none.
func (s *server) secrets(t *testing.T, revoke string) string {
	t.Helper()
	text := fmt.Sprintf(
		`{"installed": {"client_id": "client", "client_secret": "hush", "project_id": "home", `+
			`"auth_uri": "%[1]s/auth", "token_uri": "%[1]s/token", `+
			`"revoke_uri": %[2]q, "redirect_uris": ["http://localhost"]}}`,
		s.URL,
		revoke,
	)
	path := filepath.Join(t.TempDir(), "secrets.json")
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// consent is a browser whose user says yes, or what else the answer says.
func consent(answer string) func(string) error {
	return func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		q := u.Query()
		back := q.Get("redirect_uri") + "?" + answer + "&state=" + url.QueryEscape(q.Get("state"))
		response, err := http.Get(back)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
}

func (s *server) loggedIn(t *testing.T, revoke, answer string) (*LoggedIn, error) {
	t.Helper()
	service := &eval.RunService{AuthScopeBase: scopeBase, Project: "own"}
	l, err := NewLogin(service, LoginOptions{
		Secrets: s.secrets(t, revoke), Login: oauth.Login{
			Scopes: []string{"retriever", scopeCloudPlatform}, Wait: time.Minute, Open: consent(answer),
			Show: func(string) {}, Notice: func(string) {},
		},
	})
	expect.OK(t, err)
	return l.Run(context.Background())
}

// A login is kept, says what was not granted, and ends at the server.
func TestALoginIsKeptAndEndsAtTheServer(t *testing.T) {
	atHome(t)
	expect.Same(t, "exit code before", eval.CodeOf(CheckLogin()), eval.CodeIncomplete)
	s := newServer(t, scopeOf(scopeBase, scopeRetriever))
	g, err := s.loggedIn(t, s.URL+"/revoke", "code=yes")
	expect.OK(t, err)
	expect.Same(t, "missing", g.Missing, []string{scopeOf(scopeBase, scopeCloudPlatform)})
	expect.Same(t, "outlives its token", g.Renewed, true)
	if _, err := os.Stat(g.File); err != nil {
		t.Errorf("the login is not where it was said to be: %v, want no error", err)
	}
	expect.OK(t, CheckLogin())

	j := &Job{}
	status, problem, err := NewLoginStatus(context.Background(), j, nil)
	expect.OK(t, err, problem)
	expect.Same(t, "client, project, scopes", []any{status.ClientID, status.Project, status.Scopes, status.RefreshToken}, []any{
		"client", "own", []string{scopeOf(scopeBase, scopeRetriever)}, true,
	})
	if text := fmt.Sprintf("%+v", *status); strings.Contains(text, "access") || strings.Contains(text, "hush") {
		t.Errorf("got the status %s, want no secret", text)
	}

	out, _, err := ForgetLogin(context.Background(), "")
	expect.OK(t, err)
	expect.Same(t, "logged out", out, "The login is forgotten.\nThe server has revoked it.")
	expect.Same(t, "what the server revoked", s.revoked, []string{"refresh"})
	out, _, err = ForgetLogin(context.Background(), "")
	expect.OK(t, err)
	expect.Same(t, "logged out again", out, "There was no login.")
	expect.Same(t, "exit code after", eval.CodeOf(CheckLogin()), eval.CodeIncomplete)
}

// A user who says no ends the login with exit 4, and nothing is kept.
func TestARefusedLoginKeepsNothing(t *testing.T) {
	atHome(t)
	_, err := newServer(t, "").loggedIn(t, "", "error=access_denied")
	expect.Same(t, "exit code", eval.CodeOf(err), eval.CodeIncomplete)
	expect.Same(t, "exit code of a check", eval.CodeOf(CheckLogin()), eval.CodeIncomplete)
}

// The login is gone whatever the server says, and a failure to revoke it is reported.
func TestLogoutForgetsALoginThatTheServerKeeps(t *testing.T) {
	atHome(t)
	s := newServer(t, "")
	_, err := s.loggedIn(t, "", "code=yes")
	expect.OK(t, err)
	out, _, err := ForgetLogin(context.Background(), "http://example.com/revoke")
	expect.Same(t, "refused", out, "")
	expect.Same(t, "an endpoint that is not encrypted", fmt.Sprint(err), "--revoke-url is not encrypted: it must begin with https://")
	expect.OK(t, CheckLogin())
	out, warning, err := ForgetLogin(context.Background(), "")
	expect.OK(t, err)
	expect.Same(t, "without an endpoint", []any{out, strings.Contains(warning, "was not revoked")}, []any{"The login is forgotten.", true})

	_, err = s.loggedIn(t, "", "code=yes")
	expect.OK(t, err)
	s.refuses = true
	out, _, err = ForgetLogin(context.Background(), s.URL+"/revoke")
	expect.Same(t, "where the server refuses", out, "The login is forgotten.")
	expect.Same(t, "exit code of a server that refuses", eval.CodeOf(err), eval.CodeIncomplete)
	expect.Same(t, "exit code of a check after that", eval.CodeOf(CheckLogin()), eval.CodeIncomplete)
}

// A damaged login is removed, and said to be.
func TestADamagedLoginIsRemoved(t *testing.T) {
	atHome(t)
	g, err := newServer(t, "").loggedIn(t, "", "code=yes")
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(g.File, []byte("{"), 0o600))
	expect.Same(t, "exit code of a check", eval.CodeOf(CheckLogin()), eval.CodeIncomplete)
	out, _, err := ForgetLogin(context.Background(), "")
	expect.Same(t, "exit code of logging out", eval.CodeOf(err), eval.CodeIncomplete)
	expect.Same(t, "logged out", out, "The login is forgotten.")
}

// A status says why the service could not be reached, and keeps what is known of the login.
func TestAStatusSaysWhyTheServiceIsOutOfReach(t *testing.T) {
	atHome(t)
	_, err := newServer(t, "").loggedIn(t, "", "code=yes")
	expect.OK(t, err)
	j := &Job{}
	j.Settings.Service.BaseURL = "https://service.example"
	down := errors.New("it is down")
	status, problem, err := NewLoginStatus(context.Background(), j, func(*Job) (*Session, error) { return nil, down })
	expect.OK(t, err)
	expect.Same(t, "the problem is the one of connecting", errors.Is(problem, down), true)
	expect.Same(t, "status", []any{status.Service, status.Problem, status.ClientID}, []any{"https://service.example", "it is down", "client"})
}

// What a login lacks is bad input before a browser opens.
func TestALoginThatCannotBeginIsBadInput(t *testing.T) {
	atHome(t)
	good := newServer(t, "").secrets(t, "")
	for name, o := range map[string]LoginOptions{
		"no file":         {Secrets: filepath.Join(t.TempDir(), "gone.json")},
		"a bad redirect":  {Secrets: good, Redirect: "https://example.com/callback"},
		"unknown scope":   {Secrets: good, Login: oauth.Login{Scopes: []string{"retreiver"}}},
		"no scope prefix": {Secrets: good},
	} {
		_, err := NewLogin(&eval.RunService{}, o)
		expect.Same(t, "exit code with "+name, eval.CodeOf(err), eval.CodeBadInput)
	}
}
