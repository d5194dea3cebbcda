package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Login says how to log in to an endpoint before it is called.
type Login struct {
	Request  eval.RequestMaker
	Take     map[string]string // jq over the answer, by name; checked with the suite
	PerTrial bool              // for each trial, and not once for the run
}

// AtLogin begins the messages of errors of a login.
const AtLogin = "the login: "

// maxVisits bounds how many trials have cookies. More are never under way at once.
const maxVisits = 4096

// visits are what trials have of an endpoint.
type visits struct {
	login *Login // nil without one
	take  map[string]*jqQuery
	run   *visit // what all trials share

	mu      sync.Mutex
	byTrial map[string]*visit
	order   []string // names of trials, the oldest first
}

// visit is what a trial, or the whole run, has of an endpoint: cookies, and what its login gave.
type visit struct {
	jar http.CookieJar

	turn chan struct{} // holds one value while somebody logs in
	last entry
}

// entry is what a login gave.
type entry struct {
	values map[string]string // by the names of `take`
	number int               // of the login, from 1; 0 without one
	path   string            // of its address
}

func newVisit() *visit {
	jar, _ := cookiejar.New(nil) // never fails
	return &visit{jar: jar, turn: make(chan struct{}, 1)}
}

func newVisits(login *Login) *visits {
	v := &visits{login: login, run: newVisit(), byTrial: map[string]*visit{}, take: map[string]*jqQuery{}}
	if login != nil {
		for name, source := range login.Take {
			v.take[name] = newQuery("take."+name, source)
		}
	}
	return v
}

// of returns the visit of a trial, which all its calls share.
func (v *visits) of(trial string) *visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byTrial[trial]
	if one == nil {
		if one = newVisit(); len(v.order) >= maxVisits {
			delete(v.byTrial, v.order[0])
			v.order = v.order[1:]
		}
		v.byTrial[trial], v.order = one, append(v.order, trial)
	}
	return one
}

// loggedIn returns what the last login gave. It logs in unless there was one after the given number.
func (h *httpClient) loggedIn(ctx context.Context, call *eval.Call, own *visit, refused int) (entry, error) {
	if h.visits.login == nil {
		return entry{}, nil
	}
	if !h.visits.login.PerTrial {
		own = h.visits.run
	}
	select {
	case own.turn <- struct{}{}:
		defer func() { <-own.turn }()
	case <-ctx.Done():
		return entry{}, eval.Errorf(eval.KindCanceled, "given up while waiting for a login")
	}
	if own.last.number > refused {
		return own.last, nil
	}
	values, path, err := h.logIn(ctx, call, own.jar)
	if err != nil {
		return entry{}, unshownError(atLogin(err), h.conn.Secrets())
	}
	own.last = entry{values, own.last.number + 1, path}
	return own.last, nil
}

// atLogin says of an error that it is of the login.
func atLogin(err error) error {
	e := *eval.AsError(err)
	e.Message = AtLogin + e.Message
	return &e
}

// logIn sends the login, and returns what is taken from its answer, and the path of its address.
func (h *httpClient) logIn(ctx context.Context, call *eval.Call, jar http.CookieJar) (taken map[string]string, path string, _ error) {
	sent, err := h.visits.login.Request.Render(&eval.Input{Vars: call.Vars, Trial: call.TrialName})
	if err != nil {
		return nil, "", h.conn.Unsendable(err)
	}
	to := sent.Payload.(*eval.HTTP)
	at := &trip{jars: []http.CookieJar{jar}}
	req, err := http.NewRequestWithContext(at.in(ctx), to.Method, to.URL, strings.NewReader(to.Body))
	if err != nil {
		return nil, "", h.conn.Unsendable(err)
	}
	for _, header := range to.Headers {
		req.Header.Add(header.Name, header.Value)
	}
	data, mediaType, err := h.conn.Fetch(req)
	if at.redirects {
		mediaType, err = "a redirect", at.landed(req.URL.Path, err)
	}
	switch mediaType = cmp.Or(mediaType, "a text"); {
	case err != nil:
		return nil, "", err
	case len(h.visits.take) > 0:
		taken, err = h.taken(data, mediaType)
	case !at.kept && len(jar.Cookies(req.URL)) == 0:
		err = noLogin("it sets no cookie that can be sent back, and the suite takes nothing from its answer, %s", mediaType)
	}
	return taken, req.URL.Path, err
}

// taken returns what the suite takes from the answer of a login.
func (h *httpClient) taken(data []byte, mediaType string) (map[string]string, error) {
	v, err := wire.DecodeAny(data)
	if err != nil {
		e := eval.Errorf(eval.KindMalformed, "`take` needs JSON, and the answer is %s: %s", mediaType, wire.Excerpt(data))
		e.Retry = eval.RetryNever
		return nil, e
	}
	out := map[string]string{}
	for name, query := range h.visits.take {
		texts, err := query.texts(v, data)
		if err == nil && len(texts) == 0 {
			err = query.nothing(data)
		}
		if err != nil {
			return nil, err
		}
		out[name] = texts[0]
		h.conn.Hide(texts[0])
	}
	return out, nil
}

// noLogin returns the error for a login after which nobody is logged in.
func noLogin(format string, args ...any) *eval.Error {
	return &eval.Error{Kind: eval.KindAuth, Retry: eval.RetryNever, Message: fmt.Sprintf(format, args...)}
}

// stillRefused says of a refusal that it comes right after a login.
func (t *trip) stillRefused(err error) error {
	e := *eval.AsError(err)
	if t.redirects {
		e.Message = "it redirects to " + wire.Excerpt([]byte(t.path))
	}
	e.Kind, e.Retry, e.Message = eval.KindAuth, eval.RetryNever, AtLogin+"it was accepted, and the endpoint refuses what it gave: "+e.Message
	return &e
}

// landed decides about the redirect by which most forms answer a login. It is not followed: what counts is its cookies.
func (t *trip) landed(login string, refused error) error {
	e := eval.AsError(refused)
	switch {
	case e == nil || e.Kind != eval.KindStatus:
		return refused
	case t.path == "" || e.Status != http.StatusFound && e.Status != http.StatusSeeOther:
		return noLogin("%s", e.Message)
	case t.path == login:
		return noLogin("it redirects to itself, as logins do that failed: check what is sent")
	case !t.kept:
		return noLogin("it redirects to %s without a cookie that can be sent back", wire.Excerpt([]byte(t.path)))
	}
	return nil
}

// loginPage matches the paths to which applications redirect users who are not logged in.
var loginPage = regexp.MustCompile(`(?i)\b(log|sign)[-_]?(in|on)\b`)

// refuses reports whether an endpoint wants another login: it answers 401, or redirects to a login.
func (t *trip) refuses(login string, err error) bool {
	e := eval.AsError(err)
	return e != nil && (e.Status == http.StatusUnauthorized || t.path != "" && (t.path == login || loginPage.MatchString(t.path)))
}

// trip is a round trip of a request whose context has it. The first jar gets the cookies of the answer.
type trip struct {
	jars []http.CookieJar

	redirects bool   // the answer is a redirect
	path      string // where it redirects to, "" for another host
	kept      bool   // the answer has a cookie that goes back to its host
}

type tripKey struct{}

func (t *trip) in(ctx context.Context) context.Context { return context.WithValue(ctx, tripKey{}, t) }

// cookies sends and keeps the cookies of a trip.
type cookies struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (c cookies) RoundTrip(req *http.Request) (*http.Response, error) {
	t, _ := req.Context().Value(tripKey{}).(*trip)
	if t == nil {
		return c.Transport.RoundTrip(req)
	}
	var sent []string
	out := req
	for _, jar := range t.jars {
		for _, one := range jar.Cookies(req.URL) {
			if slices.Contains(sent, one.Name) {
				continue
			}
			if out == req {
				out = req.Clone(req.Context())
			}
			sent = append(sent, one.Name)
			out.AddCookie(one)
		}
	}
	resp, err := c.Transport.RoundTrip(out)
	if t.redirects, t.path, t.kept = false, "", false; err == nil {
		t.jars[0].SetCookies(req.URL, resp.Cookies())
		t.kept = keeps(req.URL, resp.Cookies())
		t.redirects = resp.StatusCode >= 300 && resp.StatusCode < 400
		if to, err := resp.Location(); t.redirects && err == nil && to.Host == req.URL.Host {
			t.path = cmp.Or(to.Path, "/")
		}
	}
	return resp, err
}

// keeps reports whether a cookie of an answer goes back to its host, on whatever path.
func keeps(at *url.URL, all []*http.Cookie) bool {
	jar := newVisit().jar
	for _, one := range all {
		path := one.Path
		one.Path = "/"
		jar.SetCookies(at, []*http.Cookie{one})
		one.Path = path
	}
	return len(jar.Cookies(at)) > 0
}
