package ledger

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
)

// Config configures a Server.
type Config struct {
	Listen  string // address; port 0 takes a free one
	Limits  []accountLimits
	State   string       // the folder of its file, which is made
	Token   string       // that requests must show; "" for none, on this machine
	Cert    string       // file with the certificate, "" for plain http on this machine
	CertKey string       // file with its key
	Notice  func(string) // what the people who run it should know
}

// Server serves a ledger until it is closed.
type Server struct {
	// URL is the address of the ledger.
	URL string

	config Config
	hosts  wire.Hosts
	secure *tls.Config // nil for plain http
	book   *book
	http   *http.Server
	stop   context.CancelFunc
	done   chan struct{}
}

// Start starts a ledger. An error has exit code 2: an unusable address, certificate or folder, or an
// address that other machines reach without a token and a certificate.
func Start(c Config) (*Server, error) {
	secure, err := c.security()
	if err != nil {
		return nil, err
	}
	b := newBook(c.Limits)
	if b.file, err = openFile(c.State, b, c.Notice); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", c.Listen)
	if err != nil {
		b.file.close()
		return nil, eval.BadInput("the ledger cannot listen on %s: %w", c.Listen, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		URL: urlOf(c.Listen, listener.Addr(), secure != nil), config: c, hosts: wire.NewHosts(c.Listen, listener.Addr()),
		secure: secure, book: b, stop: stop, done: make(chan struct{}),
	}
	s.http = &http.Server{
		Handler: s.handler(), TLSConfig: secure, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go s.serve(listener)
	go s.sweep(ctx)
	return s, nil
}

// security returns the TLS configuration, nil for http. Other machines need a certificate and a token.
func (c *Config) security() (*tls.Config, error) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, eval.BadInput("--listen takes HOST:PORT, such as 127.0.0.1:0, and not %s", c.Listen)
	}
	if !wire.IsLoopback(host) {
		switch {
		case c.Cert == "":
			return nil, eval.BadInput("--listen %s is open to other machines: give --tls-cert FILE and --tls-key FILE", c.Listen)
		case c.Token == "":
			return nil, eval.BadInput(
				"--listen %s is open to other machines: set a token in EVALRUN_LEDGER_TOKEN, here and where runs are started", c.Listen,
			)
		}
	}
	switch {
	case c.Cert == "" && c.CertKey == "":
		return nil, nil //nolint:nilnil // plain http
	case c.Cert == "" || c.CertKey == "":
		return nil, eval.BadInput("--tls-cert and --tls-key go together: give both")
	}
	pair, err := files.KeyPair(c.Cert, c.CertKey)
	if err != nil {
		return nil, eval.BadInput("the certificate cannot be used: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// allows reports whether the Host header of a request has a name of the ledger or of its certificate.
func (s *Server) allows(header string) bool {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = header
	}
	return s.hosts.Allow(header) || s.secure != nil && s.secure.Certificates[0].Leaf.VerifyHostname(host) == nil
}

// urlOf returns the address for clients: with the given host, or the machine's name if that is empty.
func urlOf(given string, at net.Addr, secure bool) string {
	host, _, _ := net.SplitHostPort(given)
	_, port, _ := net.SplitHostPort(at.String())
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

func (s *Server) serve(l net.Listener) {
	defer close(s.done)
	if s.secure != nil {
		_ = s.http.ServeTLS(l, "", "") // Close ends it
		return
	}
	_ = s.http.Serve(l)
}

// sweep expires the grants of dead processes.
func (s *Server) sweep(ctx context.Context) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			s.book.expire()
		case <-ctx.Done():
			return
		}
	}
}

// Balances returns the state of the accounts, sorted by name.
func (s *Server) Balances() []accountBalance { return s.book.balances() }

// Close ends the server. Open grants stay open in its file.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close() // closes the connections too
	<-s.done
	s.book.file.close()
}

// mostBody bounds a request, in bytes.
const mostBody = 1 << 20

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/accounts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"accounts": s.book.balances()})
	})
	mux.HandleFunc("POST /v1/check", taking(s.check))
	mux.HandleFunc("POST /v1/grants", taking(s.grant))
	mux.HandleFunc("POST /v1/settlements", taking(s.settle))
	mux.HandleFunc("POST /v1/heartbeats", taking(func(w http.ResponseWriter, _ *http.Request, owner string) {
		s.book.hear(owner)
		answer(w, http.StatusOK, struct{}{})
	}))
	return s.guard(mux)
}

// guard checks the host name, and the token if there is one. It refuses requests from pages in a browser.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		bears := strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(shown), []byte(s.config.Token)) == 1
		switch {
		case !s.allows(r.Host):
			fail(w, http.StatusMisdirectedRequest,
				"the ledger has no host name %q: use %s, or name it in --listen or the certificate", r.Host, s.URL)
		case s.config.Token != "" && !bears:
			fail(w, http.StatusUnauthorized, "the token is missing or wrong: set EVALRUN_LEDGER_TOKEN to that of the ledger")
		case r.Header.Get("Origin") != "":
			fail(w, http.StatusForbidden, "the ledger does not serve pages of browsers")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

type errorReply struct {
	Error   string        `json:"error"`
	Account *ModelAccount `json:"account,omitempty"`
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have gone
}

func fail(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, errorReply{Error: fmt.Sprintf(format, args...)})
}

func taking[T any](serve func(http.ResponseWriter, *http.Request, T)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&body); err != nil {
			fail(w, http.StatusBadRequest, "the request is not what the ledger expects: %s", err)
			return
		}
		serve(w, r, body)
	}
}

// check replies with what a process must know about calls of accounts.
func (s *Server) check(w http.ResponseWriter, r *http.Request, accounts []ModelAccount) {
	if err := s.book.file.wait(r.Context(), 0); err != nil {
		refuse(w, err)
		return
	}
	out := []CallTerms{}
	for _, a := range accounts {
		needs, err := s.book.needs(a)
		if err != nil {
			refuse(w, err)
			return
		}
		out = append(out, needs)
	}
	answer(w, http.StatusOK, out)
}

type granting struct {
	Granted bool   `json:"granted"`
	Waits   string `json:"waits,omitempty"` // what the call waits for; the client sends the request again
}

func (s *Server) grant(w http.ResponseWriter, r *http.Request, ask grantRequest) {
	if !ask.isWhole() {
		fail(w, http.StatusBadRequest, "the request is not what the ledger expects: a grant has an id, an owner and a possible cost")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), longPoll)
	defer cancel()
	waits, err := s.book.grant(ctx, &ask)
	switch {
	case err == nil:
		answer(w, http.StatusOK, granting{Granted: true})
	case errors.Is(err, context.DeadlineExceeded):
		answer(w, http.StatusOK, granting{Waits: waits})
	default:
		refuse(w, err)
	}
}

func (s *Server) settle(w http.ResponseWriter, r *http.Request, all []settlement) {
	if i := slices.IndexFunc(all, func(s settlement) bool { return !s.isWhole() }); i >= 0 {
		fail(w, http.StatusBadRequest, "the settlement %q needs an id, and a cost that is neither negative nor too large", all[i].ID)
		return
	}
	if err := s.book.settle(r.Context(), all); err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, struct{}{})
}

// refuse replies with the reason why there is no grant.
func refuse(w http.ResponseWriter, err error) {
	var r *refusal
	switch {
	case !errors.As(err, &r):
		fail(w, http.StatusServiceUnavailable, "%s", err)
	case r.Budget:
		answer(w, http.StatusForbidden, errorReply{r.reason, &r.Account})
	default:
		answer(w, http.StatusUnprocessableEntity, errorReply{r.reason, &r.Account})
	}
}
