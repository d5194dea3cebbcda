package site

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/page"
)

// policy matches that of the HTML report, except that style, program and data come from this server.
const policy = "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; connect-src 'self'" +
	"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// hosts holds the names of the server, and the address that is shown.
type hosts struct {
	wire.Hosts
	own, port string
}

// newHosts needs both the address from the command line, which may have a name, and the address in use.
func newHosts(given string, at net.Addr) hosts {
	host, port, _ := net.SplitHostPort(at.String())
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return hosts{wire.NewHosts(given, at), net.JoinHostPort(host, port), port}
}

func (h hosts) warning() string {
	if h.Local {
		return ""
	}
	return "anyone who reaches this address can read the runs; without --listen only this machine can"
}

// allow reports whether the Host header of a request is one of this server. Browsers leave out port 80.
func (h hosts) allow(host string) bool {
	_, port, err := net.SplitHostPort(host)
	return (port == h.port || err != nil && h.port == "80") && h.Allow(host)
}

// guard refuses requests of other sites and sets the headers that restrict what browsers do with a reply.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Embedder-Policy", "require-corp")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		head.Set("Cache-Control", "no-store")
		switch {
		case !s.hosts.allow(r.Host):
			refuse(w, http.StatusMisdirectedRequest, "this is not the host name of the server: open "+s.URL)
		case r.Method == http.MethodPost && s.labelling != nil:
			if why := s.labelling.refusal(r); why != "" {
				refuse(w, http.StatusForbidden, why)
				return
			}
			next.ServeHTTP(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			head.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "this server is read-only")
		case foreign(r):
			refuse(w, http.StatusForbidden, "requests of other pages are not allowed")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// foreign reports whether a page of another site sent the request, by the Sec-Fetch headers of browsers. A
// link to one of our pages is allowed.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(why + "\n")) //nolint:gosec // plain text, which no browser takes for markup
}

// answer replies with a value, or with the error that there was instead.
func answer(w http.ResponseWriter, v any, err error) {
	var data []byte
	if err == nil {
		data, err = json.Marshal(v)
	}
	answerJSON(w, data, err)
}

func answerJSON(w http.ResponseWriter, data []byte, err error) {
	switch {
	case errors.Is(err, errOld):
		refuse(w, http.StatusConflict, err.Error())
		return
	case errors.Is(err, errNoTrial), errors.Is(err, page.ErrNoBlock):
		refuse(w, http.StatusNotFound, err.Error())
		return
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) //nolint:gosec // JSON, which no browser takes for markup
}
