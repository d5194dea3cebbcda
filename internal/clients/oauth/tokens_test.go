package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func stored(t *testing.T, c *desktopClient) *LoginFile {
	t.Helper()
	token, _, err := try(t, c, func(a string) { browse(t, a) }, nil)
	expect.OK(t, err)
	s := &LoginFile{filepath.Join(t.TempDir(), "evalrun", "token.json")}
	expect.OK(t, s.Keep(t.Context(), token))
	return s
}

func expire(t *testing.T, s *LoginFile) string {
	t.Helper()
	token, err := s.Load()
	expect.OK(t, err)
	token.Expiry = time.Now().Add(-time.Minute)
	expect.OK(t, s.Keep(t.Context(), token))
	return token.AccessToken
}

// However many workers and processes notice that a token has expired, it is refreshed once; and
// again, since refresh tokens are for one use.
func TestAnExpiredTokenIsRefreshedOnce(t *testing.T) {
	t.Parallel()
	c, requests := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	for round := range 3 {
		old := expire(t, s)
		before := requests.Load()
		silent := func(string) {}
		sources := []*AccessTokens{NewAccessTokens(s, silent), NewAccessTokens(s, silent), NewAccessTokens(s, silent)} // as many processes
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
				t.Errorf("got the expired token %v, want a new one", token)
			}
			return true
		})
		if n != 1 || requests.Load()-before != 1 {
			t.Errorf("round %d: %d tokens and %d refreshes, want one of each", round, n, requests.Load()-before)
		}
	}
}

// A token that the service refuses is replaced, once, although it has not expired; but not one that is
// new.
func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	c, requests := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	login, err := s.Load()
	expect.OK(t, err)
	login.ObtainedAt = time.Now().Add(-time.Minute)
	expect.OK(t, s.Keep(t.Context(), login))
	tokens := NewAccessTokens(s, func(string) {})
	old, err := tokens.Token(t.Context())
	expect.OK(t, err)
	before := requests.Load()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if renewed, err := tokens.Renew(t.Context(), old); err != nil || !renewed {
				t.Errorf("renewed %v, %v; want true", renewed, err)
			}
		})
	}
	wg.Wait()
	now, err := tokens.Token(t.Context())
	if err != nil || now == old || requests.Load()-before != 1 {
		t.Errorf("token %s after %s, %v, %d refreshes; want another token by one refresh", now, old, err, requests.Load()-before)
	}
	if renewed, err := tokens.Renew(t.Context(), now); err != nil || renewed || requests.Load()-before != 1 {
		t.Errorf("a new token: renewed %v, %v, %d refreshes; want false and one", renewed, err, requests.Load()-before)
	}
}

// slowRefresh is a token endpoint that answers when the test says so.
func slowRefresh(t *testing.T) (s *LoginFile, arrived, answer chan struct{}) {
	t.Helper()
	arrived, answer = make(chan struct{}, 8), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answer
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"new","refresh_token":"rotated","token_type":"Bearer","expires_in":"3600"}`)
	}))
	t.Cleanup(server.Close)
	s = &LoginFile{filepath.Join(t.TempDir(), "evalrun", "token.json")}
	expect.OK(
		t,
		s.Keep(
			t.Context(),
			&Token{Client: desktopClient{ID: "c", TokenURL: server.URL}, AccessToken: "old", RefreshToken: "used", Expiry: time.Unix(1, 0)},
		),
	)
	return s, arrived, answer
}

// A call that gives up does not throw away the answer that holds the only good refresh token.
func TestRefreshOutlivesItsCallers(t *testing.T) {
	t.Parallel()
	s, arrived, answer := slowRefresh(t)
	tokens := NewAccessTokens(s, func(string) {})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := tokens.Token(ctx); eval.AsError(err).Kind != eval.KindCanceled {
		t.Errorf("%v, want it canceled", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := tokens.Token(late); eval.AsError(err).Kind != eval.KindTimeout || eval.AsError(err).Origin != eval.FromLogin {
		t.Errorf("%v, want a timeout of the login", err)
	}
	close(answer)
	tokens.Close()
	kept, err := s.Load()
	if err != nil || kept.RefreshToken != "rotated" || kept.Expiry.Before(time.Now().Add(time.Minute)) {
		t.Errorf("kept %+v, %v; want the rotated refresh token, good for a minute", kept, err)
	}
	if token, err := tokens.Token(t.Context()); err != nil || token != "new" {
		t.Errorf("%q, %v; want the token `new`", token, err)
	}
}

// Logging out, or in as somebody else, while a refresh is under way is what counts in the end.
func TestLastWordWins(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(s *LoginFile) error{
		"logout": func(s *LoginFile) error {
			_, err := s.Forget(t.Context())
			return err
		},
		"login": func(s *LoginFile) error {
			return s.Keep(t.Context(), &Token{Client: desktopClient{ID: "another"}, AccessToken: "theirs"})
		},
	} {
		s, arrived, answer := slowRefresh(t)
		tokens := NewAccessTokens(s, func(string) {})
		refreshed, acted := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := tokens.Token(t.Context())
			refreshed <- err
		}()
		<-arrived
		go func() { acted <- act(s) }()
		time.Sleep(30 * time.Millisecond) // so that it comes to wait for the lock; it may also come later
		close(answer)
		if err := errors.Join(<-refreshed, <-acted); err != nil {
			t.Errorf("%s: %v, want no error", name, err)
		}
		login, err := s.Load()
		if name == "logout" && !errors.Is(err, ErrNoLogin) || name == "login" && (err != nil || login.Client.ID != "another") {
			t.Errorf("%s: %+v, %v; want no login after logout, else that of another client", name, login, err)
		}
	}
}

// A token that no header can hold, or of another kind, is none.
func TestOddTokensAreRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"access_token":"a\r\nX: y","token_type":"Bearer"}`:                       "characters",
		`{"access_token":"a","token_type":"mac"}`:                                  "another type",
		`{"token_type":"Bearer"}`:                                                  "does not follow the standard",
		`{"access_token":"a","token_type":"Bearer","expires_in":"soon"}`:           "does not follow the standard",
		`{"access_token":"a","token_type":"bearer","expires_in":0,"scope":"x  y"}`: "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		}))
		s := &LoginFile{filepath.Join(t.TempDir(), "token.json")}
		expect.OK(
			t,
			s.Keep(
				t.Context(),
				&Token{Client: desktopClient{ID: "c", TokenURL: server.URL}, AccessToken: "old", RefreshToken: "r", Expiry: time.Unix(1, 0)},
			),
		)
		_, err := NewAccessTokens(s, func(string) {}).Token(t.Context())
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv")) {
			t.Errorf("%s: %v, want an error with %q", body, err, want)
		}
		server.Close()
	}
}

// A refused refresh needs a new login; an outage of the server does not.
func TestARefusedRefreshNeedsANewLogin(t *testing.T) {
	t.Parallel()
	c, _ := authServer(t, emulator.Options{Consent: emulator.ConsentAuto})
	s := stored(t, c)
	login, err := s.Load()
	expect.OK(t, err)
	expect.OK(t, login.Revoke(t.Context(), c.RevokeURL))
	expire(t, s)
	_, err = NewAccessTokens(s, func(string) {}).Token(t.Context())
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindAuth || !strings.Contains(e.Message, "log in again") {
		t.Errorf("%v, want an error that says to log in again", err)
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
		_, err := NewAccessTokens(s, func(string) {}).Token(t.Context())
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindTransport || strings.Contains(e.Message, login.RefreshToken) {
			t.Errorf("%s: %v, want a transport error without the refresh token", name, err)
		}
		server.Close()
	}
}

// A server that wants the secret as basic authentication gets it, also in all later requests.
func TestSecretIsSentInTheHeaderWhereWanted(t *testing.T) {
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
	s := &LoginFile{filepath.Join(t.TempDir(), "token.json")}
	expect.OK(
		t,
		s.Keep(
			t.Context(),
			&Token{
				Client:       desktopClient{ID: "c", Secret: "s3cret", TokenURL: server.URL},
				AccessToken:  "old",
				RefreshToken: "r",
				Expiry:       time.Unix(1, 0),
			},
		),
	)
	for range 2 {
		_, err := NewAccessTokens(s, func(string) {}).Token(t.Context())
		expect.OK(t, err)
		expire(t, s)
	}
	expect.Same(t, "ways", strings.Join(ways, ", "), "form c, header c s3cret, header c s3cret")
}

// The file is its owner's alone, whatever the umask, and is refused when it is not.
func TestStoreIsReadableByItsOwnerAlone(t *testing.T) {
	t.Parallel()
	s := &LoginFile{filepath.Join(t.TempDir(), "deep", "evalrun", "token.json")}
	if _, err := s.Load(); !errors.Is(err, ErrNoLogin) {
		t.Errorf("%v, want %v", err, ErrNoLogin)
	}
	expect.OK(t, os.MkdirAll(filepath.Dir(s.Path), 0o755))
	token := &Token{Client: desktopClient{ID: "c"}, Scopes: scopes, AccessToken: "a", RefreshToken: "r"}
	expect.OK(t, s.Keep(t.Context(), token))
	for path, want := range map[string]os.FileMode{s.Path: 0o600, filepath.Dir(s.Path): 0o700} {
		info, err := os.Stat(path)
		expect.OK(t, err)
		expect.Same(t, path, info.Mode().Perm(), want)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o666} {
		expect.OK(t, os.Chmod(s.Path, mode))
		if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), "can be read by others") {
			t.Errorf("%o: %v, want an error", mode, err)
		}
	}
	for text, want := range map[string]string{
		"": "damaged", "{": "damaged", "{}": "damaged", `{"version":9,"client":{"clientId":"c"}}`: "version 9",
	} {
		expect.OK(t, os.WriteFile(s.Path, []byte(text), 0o600))
		expect.OK(t, os.Chmod(s.Path, 0o600))
		if _, err := s.Load(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "log in again") {
			t.Errorf("%q: %v, want %q and to log in again", text, err, want)
		}
	}
	_, err := s.Forget(t.Context())
	expect.OK(t, err)
	if _, err := s.Forget(t.Context()); !errors.Is(err, ErrNoLogin) {
		t.Errorf("%v, want %v", err, ErrNoLogin)
	}
}
