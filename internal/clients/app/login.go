package app

import (
	"cmp"
	"context"
	"net/http"
	"net/http/cookiejar"
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

	turn   chan struct{} // holds one value while somebody logs in
	values map[string]string
	logins int // how often it has logged in
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

// loggedIn returns what a login gave, and how many there were. It logs in unless there was one after the given number.
func (h *httpClient) loggedIn(ctx context.Context, call *eval.Call, own *visit, refused int) (map[string]string, int, error) {
	if h.visits.login == nil {
		return nil, 0, nil
	}
	if !h.visits.login.PerTrial {
		own = h.visits.run
	}
	select {
	case own.turn <- struct{}{}:
		defer func() { <-own.turn }()
	case <-ctx.Done():
		return nil, 0, eval.Errorf(eval.KindCanceled, "given up while waiting for a login")
	}
	if own.logins > refused {
		return own.values, own.logins, nil
	}
	values, err := h.logIn(withJars(ctx, own.jar), call)
	if err != nil {
		e := *eval.AsError(err)
		e.Message = AtLogin + e.Message
		return nil, 0, &e
	}
	own.values = values
	own.logins++
	return values, own.logins, nil
}

func (h *httpClient) logIn(ctx context.Context, call *eval.Call) (map[string]string, error) {
	sent, err := h.visits.login.Request.Render(&eval.Input{Vars: call.Vars, Trial: call.TrialName})
	if err != nil {
		return nil, h.conn.Unsendable(err)
	}
	to := sent.Payload.(*eval.HTTP)
	req, err := http.NewRequestWithContext(ctx, to.Method, to.URL, strings.NewReader(to.Body))
	if err != nil {
		return nil, h.conn.Unsendable(err)
	}
	for _, header := range to.Headers {
		req.Header.Add(header.Name, header.Value)
	}
	data, mediaType, err := h.conn.Fetch(req)
	if err != nil || len(h.visits.take) == 0 {
		return nil, err
	}
	v, err := wire.DecodeAny(data)
	if err != nil {
		e := eval.Errorf(eval.KindMalformed, "`take` needs JSON, and the answer is %s: %s", cmp.Or(mediaType, "a text"), wire.Excerpt(data))
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

type jarsKey struct{}

// withJars gives the requests of a context cookies. The first jar gets those of the answers.
func withJars(ctx context.Context, jars ...http.CookieJar) context.Context {
	return context.WithValue(ctx, jarsKey{}, jars)
}

// cookies sends and keeps the cookies of a context's jars.
type cookies struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (c cookies) RoundTrip(req *http.Request) (*http.Response, error) {
	jars, _ := req.Context().Value(jarsKey{}).([]http.CookieJar)
	var sent []string
	out := req
	for _, jar := range jars {
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
	if err == nil && len(jars) > 0 {
		jars[0].SetCookies(req.URL, resp.Cookies())
	}
	return resp, err
}
