package session

import (
	"strings"

	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/suite"
)

// Contact has the address of a named service and its credentials.
type Contact struct {
	*suite.NamedService
	URL         string // its address
	Key         string
	TokenSource wire.TokenSource // nil: there is a key, or nothing
	UserAgent   string
	Connections int
	ToEmulator  bool
}

// headers returns the headers that every request has.
func (c *Contact) headers() map[string][]string {
	out := map[string][]string{}
	for _, h := range c.Headers {
		out[h.Name] = []string{h.Value}
	}
	return out
}

// Secrets returns the values of secret headers, to be masked.
func (c *Contact) Secrets() []string {
	var out []string
	for _, h := range c.Headers {
		if h.Secret && h.Value != "" {
			out = append(out, h.Value)
			_, last, found := strings.Cut(h.Value, " ") // the token of "Bearer ..."
			if found {
				out = append(out, strings.TrimSpace(last))
			}
		}
	}
	return out
}
