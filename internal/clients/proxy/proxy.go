// Package proxy passes the calls that a program under test makes on to services, byte by byte as they come, and reads on the way
// what they ask, answer and cost. The program gets an address on this machine and a token of its trial as the key. The keys of the
// services never reach it.
//
// The usual order: New, Proxy.Open for each trial, Trial.Env for its program, Trial.Close when that has ended. Service.Send makes a
// call with retries and within limits; in it, each attempt comes to Attempt.
package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// Service is a service to which calls pass.
type Service struct {
	Name     string
	Protocol eval.ProtocolName
	KeyEnv   string // the variable in which its clients look for the key; "" for the protocol's alone
	// Send makes a call that a program began, within limits. The context is for Attempt.
	Send func(context.Context, *eval.Call) (*eval.Response, error)
	Line Line
}

// Line leads to a service.
type Line interface {
	// Pass sends a request with the credentials of the service. A reply by which the service refuses comes next to its *eval.Error.
	Pass(req *http.Request, to wire.Passed) (*http.Response, error)
	// Secrets are the credentials.
	Secrets() *wire.Secrets
}

// Proxy is a server on the loopback address. It is safe for concurrent use.
type Proxy struct {
	// URL is its address, without a slash at the end, and Address its host and port.
	URL, Address string

	services map[string]*Service
	server   *http.Server

	mu     sync.Mutex
	trials map[string]*Trial // by token
}

// readHeaders is how long a program may take to send the header of a request.
const readHeaders = 30 * time.Second

// New starts a proxy. Close it.
func New(services []*Service) (*Proxy, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no proxy can be started for the calls of programs: %w", err)
	}
	address := at.Addr().String()
	p := &Proxy{URL: "http://" + address, Address: address, services: map[string]*Service{}, trials: map[string]*Trial{}}
	for _, one := range services {
		p.services[one.Name] = one
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: readHeaders, Protocols: new(http.Protocols)}
	p.server.Protocols.SetHTTP1(true)
	p.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = p.server.Serve(at) }() // until it is closed
	return p, nil
}

// Close ends the server.
func (p *Proxy) Close() { _ = p.server.Close() } // no trial is open any more

// Config is what a trial may do.
type Config struct {
	ID       string            // names the trial for evalrun's own emulator
	Services []string          // by name, in the order of the suite
	Names    map[string]string // further variables with the address of a service, by name
	Limits   Limits
	Prices   *eval.PriceList // nil without one
	Keep     bool            // the exchanges, for a replay
	// Replay has the exchanges that are replayed instead of calling a service; nil calls it.
	Replay *Replay
	Faults []eval.ModelFault
	// Priced says that a budget of money needs the price of every model.
	Priced bool
}

// Limits are how much a program may do in a trial. Zero is unlimited. A call that begins below a limit may end above it.
type Limits struct {
	Steps  int // answers of models
	Tokens int
	Money  float64 // by the prices
}

// patience is how long a program may go on after its first refused call.
const patience = 5 * time.Second

// Trial is a trial whose program may make calls.
type Trial struct {
	Config
	proxy *Proxy
	token string
	ctx   context.Context //nolint:containedctx // calls in progress end with the trial
	end   context.CancelFunc
	open  sync.WaitGroup // calls in progress

	requests atomic.Int64 // that came

	mu     sync.Mutex
	calls  []*eval.ModelCall
	kept   []*eval.ModelExchange // in the order in which they began
	miss   *eval.Error           // why a call could not be replayed; nil for none
	drawn  int                   // how many faults were drawn
	steps  int                   // how many answers it has asked for
	tokens int                   // that its calls took
	money  float64               // that they cost
	limit  string                // that was reached, as in eval.Timing; "" for none
	why    string                // in words
	over   func()                // ends the program
}

// WhenOver sets what ends the program some time after it has reached a limit.
func (t *Trial) WhenOver(end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = end
}

// Limit is the limit that the program has reached, as in eval.Timing, and why in words; "" for none.
func (t *Trial) Limit() (limit, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit, t.why
}

// Open lets the program of a trial make calls until it is closed.
func (p *Proxy) Open(c Config) *Trial {
	t := &Trial{Config: c, proxy: p, token: "evalrun-" + rand.Text()}
	t.ctx, t.end = context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trials[t.token] = t
	return t
}

// Close lets the program make no more calls, and returns those that it made.
func (t *Trial) Close() []eval.ModelCall {
	t.proxy.mu.Lock()
	delete(t.proxy.trials, t.token)
	t.proxy.mu.Unlock()
	t.end()
	t.open.Wait()
	out := make([]eval.ModelCall, len(t.calls))
	for i, one := range t.calls {
		out[i] = *one
	}
	return out
}

// Silent reports whether the program of a closed trial has sent no request.
func (t *Trial) Silent() bool { return t.requests.Load() == 0 }

// Addresses are the variables with the addresses of its services.
func (t *Trial) Addresses() (names []string) {
	for _, one := range t.Services {
		if name := wire.ClientsOf(t.proxy.services[one].Protocol).AddressEnv; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, slices.Sorted(maps.Keys(t.Names))...)
}

// Exchanges are the requests and replies that were kept.
func (t *Trial) Exchanges() (out []eval.ModelExchange) {
	for _, one := range t.kept {
		if one.Status != 0 { // else its reply did not come to its end
			out = append(out, *one)
		}
	}
	return out
}

// Env are the variables by which the program finds the proxy: the names that the libraries of vendors read.
func (t *Trial) Env() []string {
	var env []string
	set := func(name, value string) {
		if !slices.ContainsFunc(env, func(one string) bool { return strings.HasPrefix(one, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range t.Services {
		of := t.proxy.services[name]
		own := wire.ClientsOf(of.Protocol)
		set(own.AddressEnv, t.URL(name))
		for _, key := range append(own.KeyEnv, of.KeyEnv) {
			set(cmp.Or(key, own.KeyEnv[0]), t.token)
		}
	}
	for name, service := range t.Names {
		set(name, t.URL(service))
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		env = append(env, name+"="+strings.TrimSuffix(loopback+","+os.Getenv(name), ","))
	}
	return env
}

// loopback are the hosts that a program reaches without the proxy of the machine.
const loopback = "127.0.0.1,localhost"

// URL is the address of a service, in the form in which the protocol's clients take it.
func (t *Trial) URL(service string) string {
	return t.proxy.URL + "/" + service + wire.ClientsOf(t.proxy.services[service].Protocol).Base
}

// ServeHTTP passes a request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	of := p.services[name]
	if of != nil {
		path = strings.TrimPrefix("/"+path, wire.ClientsOf(of.Protocol).Base+"/")
		path = strings.TrimPrefix(path, "/")
	}
	in := routeOf(r.Method, path)
	trial := p.trialOf(r)
	if trial != nil {
		defer trial.open.Done()
	}
	switch {
	case trial == nil:
		in.refuse(w, http.StatusUnauthorized, "evalrun's proxy does not know this key: a program uses the one of its own trial, "+
			"from the variable OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY")
		return
	case of == nil || !slices.Contains(trial.Services, name):
		in.refuse(w, http.StatusNotFound, fmt.Sprintf("evalrun's proxy has no service `%s` for this trial; `models` of the program has %s",
			name, strings.Join(trial.Services, ", ")))
		return
	case r.Header.Get("Upgrade") != "":
		in.refuse(w, http.StatusBadRequest, "evalrun's proxy passes no web sockets on, since it could not count their calls: use requests")
		return
	case in.kind == unknown:
		in.refuse(w, http.StatusNotFound, fmt.Sprintf("evalrun's proxy cannot count what %s /%s costs, and passes on calls of models, "+
			"embeddings and counts of tokens alone", r.Method, path))
		return
	}
	trial.requests.Add(1)
	x := &exchange{trial: trial, to: of, in: in, w: w, r: r}
	x.serve()
}

// trialOf is the trial whose token a request has, which stays open until Done; nil for none.
func (p *Proxy) trialOf(r *http.Request) *Trial {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.holder(r)
	if t != nil {
		t.open.Add(1)
	}
	return t
}

func (p *Proxy) holder(r *http.Request) *Trial {
	bearer := strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	for _, token := range []string{bearer, r.URL.Query().Get("key")} {
		if t := p.trials[token]; t != nil {
			return t
		}
	}
	for _, name := range keyHeaders {
		if t := p.trials[r.Header.Get(name)]; t != nil {
			return t
		}
	}
	return nil
}

// keyHeaders are the headers in which the libraries of vendors send keys, besides Authorization.
var keyHeaders = []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"}
