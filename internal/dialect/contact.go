package dialect

import (
	"strings"

	"github.com/evalrun/evalrun/clients/account"
	"github.com/evalrun/evalrun/suite"
)

// Contact is how a named service is reached, and what opens it.
type Contact struct {
	*suite.NamedService
	URL         string // its address
	Key         string
	Tokens      account.TokenSource // nil: there is a key, or nothing
	UserAgent   string
	Connections int
	ToEmulator  bool
}

// headers are the headers of every request.
func (c *Contact) headers() map[string][]string {
	out := map[string][]string{}
	for _, h := range c.Headers {
		out[h.Name] = []string{h.Value}
	}
	return out
}

// Secrets are the values of headers that must not show.
func (c *Contact) Secrets() []string {
	var out []string
	for _, h := range c.Headers {
		if h.Secret && h.Value != "" {
			out = append(out, h.Value)
			_, last, found := strings.Cut(h.Value, " ") // of "Bearer ..." the token
			if found {
				out = append(out, strings.TrimSpace(last))
			}
		}
	}
	return out
}
