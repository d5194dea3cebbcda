package wire

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
)

// CheckBaseURL says what is wrong with a base URL, "" when nothing is.
func CheckBaseURL(raw string) string {
	if problem := CheckAddress(raw); problem != "" {
		return problem
	}
	u, err := url.Parse(raw)
	if err != nil { // it was parsed before
		return err.Error()
	}
	if version := path.Base(u.Path); slices.Contains(APIVersions, version) {
		return fmt.Sprintf(
			"the base URL ends in /%s: leave the version out, it is `apiVersion`; a server that speaks like OpenAI is "+
				"`services: {own: {vendor: openai-compatible, baseUrl: %s}}`", version, raw,
		)
	}
	return ""
}

// CheckAddress says what is wrong with the address of any service, "" when nothing is.
func CheckAddress(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case strings.ContainsFunc(raw, unicode.IsSpace):
		return "the base URL must not hold a space"
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "the base URL must begin with https:// or http://"
	case len(u.Port()) > 4 && u.Port() > "65535":
		return "the base URL has a port beyond 65535"
	case u.Host == "":
		return "the base URL names no host"
	case u.User != nil:
		return "the base URL must not hold a user or a password"
	case u.RawQuery != "" || u.Fragment != "":
		return "the base URL must not hold a query or a fragment"
	}
	return ""
}

// PlainHTTP reports whether a base URL is unencrypted and leaves this machine.
func PlainHTTP(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" {
		return false
	}
	return !IsLoopback(u.Hostname())
}

// IsLoopback reports whether a host is certainly this machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// Hosts are the names under which a server replies. A page of another site can make its own name resolve to this
// machine (DNS rebinding); the Host header of its requests then has that name.
type Hosts struct {
	// Local says that only this machine reaches the server.
	Local bool
	names []string
}

// NewHosts returns the names of a server. given is the address from the command line, which may have a name, and at
// the address in use.
func NewHosts(given string, at net.Addr) Hosts {
	name, _, _ := net.SplitHostPort(given)
	host, _, _ := net.SplitHostPort(at.String())
	h := Hosts{Local: IsLoopback(host), names: []string{"localhost", "127.0.0.1", "::1", host, strings.ToLower(name)}}
	if own, err := os.Hostname(); err == nil && !h.Local {
		h.names = append(h.names, strings.ToLower(own))
	}
	return h
}

// Allow reports whether the Host header of a request has a name of the server. A server that other machines reach also
// accepts IP addresses, since DNS rebinding needs a name. The port may differ, as behind a forwarded one.
func (h Hosts) Allow(header string) bool {
	name, _, err := net.SplitHostPort(header)
	if err != nil {
		name = strings.Trim(header, "[]")
	}
	if _, err := netip.ParseAddr(name); err == nil && !h.Local {
		return true
	}
	return name != "" && slices.Contains(h.names, strings.ToLower(name))
}

func isScopeBase(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
		u.Host != "" && u.RawQuery == "" && !strings.ContainsAny(base, " \"\\")
}

// CheckScopeBase says what is wrong with the prefix of scopes, "" when nothing is.
func CheckScopeBase(base string) string {
	if isScopeBase(base) {
		return ""
	}
	return fmt.Sprintf("%q is not the beginning of a scope's identifier, such as https://example.com", base)
}
