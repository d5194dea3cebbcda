package oauth

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// DefaultWait is how long a login waits for the browser.
const DefaultWait = 120 * time.Second

// Login is one attempt to log in.
type Login struct {
	Client *desktopClient
	Scopes []string
	// Show receives the address that the person must open. Required.
	Show func(address string)
	// Open opens the address in a browser. Optional: without it, the person opens it.
	Open func(address string) error
	// Notice receives warnings about failures that do not end the login. Required.
	Notice func(text string)
	// Pasted is where the person may paste the address to which the browser was redirected. It serves
	// machines without a browser. Optional.
	Pasted io.Reader
	Wait   time.Duration // Optional, default DefaultWait
	// Keep stores the granted token, before the browser shows that the login succeeded. Required.
	Keep func(ctx context.Context, t *Token) error
}

var (
	errDenied  = errors.New("access was denied in the browser")
	errTimeout = errors.New("no answer came from the browser")
)

// Run guides the person through the login and returns the granted token.
func (l *Login) Run(ctx context.Context) (*Token, error) {
	if l.Wait == 0 {
		l.Wait = DefaultWait
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port on 127.0.0.1 to listen on: %w", err)
	}
	a := &attempt{
		Login: l, state: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier(), host: listener.Addr().String(),
		answers: make(chan callbackAnswer), ended: make(chan struct{}),
	}
	if l.Client.host != "" {
		_, port, _ := net.SplitHostPort(a.host)
		a.host = net.JoinHostPort(l.Client.host, port)
	}
	a.redirect = "http://" + a.host + l.Client.path
	server := &http.Server{Handler: a, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // Shutdown or Close ends it
	}()
	defer func() {
		close(a.ended)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // the last page may still be on its way
		_ = server.Close()
		<-served
	}()
	a.begin()
	return a.finish(ctx)
}

// attempt is a login in progress. It serves the callback.
type attempt struct {
	*Login
	state, verifier string
	host, redirect  string
	answers         chan callbackAnswer // from the request with the answer, to finish
	ended           chan struct{}       // closed when no answer is expected any more

	mu    sync.Mutex
	taken bool // the answer of this login came
	wrong bool // an answer of another login came
}

// callbackAnswer is what the authorization server put into the callback address.
type callbackAnswer struct {
	code, refusal, description string
	done                       chan error // whether the login succeeded
}

func (a *attempt) begin() {
	address := a.Client.config(a.redirect, a.Scopes).AuthCodeURL(a.state,
		oauth2.S256ChallengeOption(a.verifier), oauth2.AccessTypeOffline, oauth2.SetAuthURLParam("prompt", "consent"))
	a.Show(address)
	if a.Open != nil {
		go func() { // some browsers return only when they are closed
			if err := a.Open(address); err != nil {
				a.Notice("no browser could be opened; open the address yourself")
			}
		}()
	}
	if a.Pasted != nil {
		go a.readPasted() // runs until the input ends, since a read cannot be interrupted
	}
}

func (a *attempt) finish(ctx context.Context) (*Token, error) {
	timer := time.NewTimer(a.Wait)
	defer timer.Stop()
	select {
	case got := <-a.answers:
		t, err := a.exchange(ctx, got)
		got.done <- err
		return t, err
	case <-timer.C:
		if a.sawWrong() {
			return nil, fmt.Errorf(
				"%w within %s that belongs to this login: the one that came is of another login, perhaps in an older tab; try again",
				errTimeout, a.Wait,
			)
		}
		return nil, fmt.Errorf(
			"%w within %s: was the tab closed? Try again; if the page mentioned a redirect address, set the registered one with "+
				"--redirect-uri",
			errTimeout, a.Wait,
		)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *attempt) sawWrong() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wrong
}

func (a *attempt) exchange(ctx context.Context, got callbackAnswer) (*Token, error) {
	switch {
	case got.refusal == "access_denied":
		return nil, fmt.Errorf("%w: nothing was granted", errDenied)
	case got.refusal != "":
		return nil, fmt.Errorf(
			"the authorization server refuses: %w", a.Client.refusal(got.refusal, got.description, a.state, a.verifier),
		)
	}
	fresh, err := a.Client.token(ctx, func(ctx context.Context, c *oauth2.Config) (*oauth2.Token, error) {
		return c.Exchange(ctx, got.code, oauth2.VerifierOption(a.verifier))
	}, a.redirect, a.Scopes)
	t := &Token{Client: *a.Client, Scopes: a.Scopes}
	if err == nil {
		err = t.fill(fresh, got.code, time.Now())
	}
	if err != nil {
		err = a.Client.explain(err, got.code, a.verifier, a.state)
		var refused *refusedError
		if errors.As(err, &refused) && refused.Code == "invalid_grant" {
			return nil, fmt.Errorf("the code was refused (%w): it may have expired or been used before; try again", err)
		}
		return nil, fmt.Errorf("%s did not exchange the code for a token: %w", a.Client.tokenHost(), err)
	}
	return t, a.Keep(ctx, t)
}

// ServeHTTP serves the callback. Requests of extensions and other pages do not affect the login.
func (a *attempt) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	path := a.Client.path
	if path == "" {
		path = "/"
	}
	query := r.URL.Query()
	switch {
	case r.Host != a.host:
		a.page(w, http.StatusMisdirectedRequest, "evalrun does not listen under this host name.")
	case r.URL.EscapedPath() != path || !query.Has("code") && !query.Has("error"):
		a.page(w, http.StatusNotFound, "There is nothing here: evalrun waits for the answer of the authorization server.")
	case r.Method != http.MethodGet:
		a.page(w, http.StatusMethodNotAllowed, "Only GET is understood here.")
	case strings.Contains(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose")+r.Header.Get("X-Moz"), "prefetch"):
		w.WriteHeader(http.StatusServiceUnavailable) // a reload sends the request again, without the header
	default:
		if err := a.take(r.Context(), query); err != nil {
			a.page(w, http.StatusBadRequest, "The login failed: "+err.Error()+".")
			return
		}
		a.page(w, http.StatusOK, "You are logged in. You can close this tab and go back to the terminal.")
	}
}

var (
	errWrongState = errors.New("the state is not that of this login; the answer was ignored")
	errUsed       = errors.New("this answer was used already")
	errOver       = errors.New("the login is over")
)

// take passes the answer to finish and returns whether the login succeeded.
func (a *attempt) take(ctx context.Context, query url.Values) error {
	if err := a.claim(query.Get("state")); err != nil {
		return err
	}
	got := callbackAnswer{
		code:        query.Get("code"),
		refusal:     query.Get("error"),
		description: query.Get("error_description"),
		done:        make(chan error, 1),
	}
	select {
	case a.answers <- got:
	case <-a.ended:
		return errOver
	case <-ctx.Done(): // the browser has gone, but its answer still counts
		select {
		case a.answers <- got:
		case <-a.ended:
		}
	}
	select {
	case err := <-got.done:
		return err
	case <-a.ended:
	}
	select { // both may be ready, and then select picks one at random
	case err := <-got.done:
		return err
	default:
		return errOver
	}
}

// claim accepts one answer with the state of this login. It returns an error for others, and prints only
// the first of them.
func (a *attempt) claim(state string) error {
	a.mu.Lock()
	ours := subtle.ConstantTimeCompare([]byte(state), []byte(a.state)) == 1
	used, reported := ours && a.taken, a.wrong
	a.taken = a.taken || ours
	a.wrong = a.wrong || !ours
	a.mu.Unlock()
	switch {
	case used:
		return errUsed
	case ours:
		return nil
	case !reported:
		a.Notice("an answer with a wrong state was ignored: it belongs to another login")
	}
	return errWrongState
}

// maxPasted bounds a pasted line, in bytes.
const maxPasted = 64 << 10

func (a *attempt) readPasted() {
	lines := bufio.NewScanner(a.Pasted)
	lines.Buffer(nil, maxPasted)
	for lines.Scan() {
		line := strings.Trim(strings.TrimSpace(lines.Text()), `"'<>`)
		if line != "" && a.takePasted(line) {
			return
		}
	}
	select {
	case <-a.ended:
		return
	default:
	}
	if lines.Err() == nil {
		a.Notice("the input has ended, so nothing can be pasted; evalrun still waits for the browser")
	} else {
		a.Notice("what was pasted is too long, and no more is read; evalrun still waits for the browser")
	}
}

func (a *attempt) takePasted(line string) bool {
	if !strings.Contains(line, "://") {
		line = "http://" + line
	}
	u, err := url.Parse(line)
	if err != nil || !u.Query().Has("code") && !u.Query().Has("error") {
		a.Notice("that is not the address to which the browser was sent: it begins with " + a.redirect + " and holds a code; paste it whole")
		return false
	}
	reported := a.sawWrong()
	if err := a.take(context.Background(), u.Query()); !errors.Is(err, errWrongState) {
		return true
	}
	if reported {
		a.Notice("that one has a wrong state too; paste the address of the login that began just now")
	}
	return false
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>evalrun</title>
<style>body{font:1.1rem system-ui,sans-serif;max-width:40rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style></head>
<body><h1>evalrun</h1><p>{{.}}</p></body></html>
`))
})

func (a *attempt) page(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate().Execute(w, text) // the browser may have gone, and nothing else reads the error
}
