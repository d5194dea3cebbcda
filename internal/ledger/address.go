package ledger

import (
	"bufio"
	"bytes"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Address is the base URL of a service, in one spelling however it was written.
type Address string

// UnmarshalText reads any spelling.
func (a *Address) UnmarshalText(text []byte) error {
	*a = addressOf(string(text))
	return nil
}

// addressOf returns the one spelling of a base URL. It leaves anything else as it is, such as the glob `*`.
func addressOf(raw string) Address {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Address(raw)
	}
	host, port := strings.TrimSuffix(hostOf(u.Hostname()), "."), u.Port()
	if n, err := strconv.Atoi(port); err == nil {
		port = strconv.Itoa(n)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	out := url.URL{Scheme: u.Scheme, Host: host, Path: strings.TrimSuffix(path.Clean("/"+u.Path), "/")}
	return Address(out.Scheme + "://" + out.Host + strings.ReplaceAll(out.EscapedPath(), "%2A", "*"))
}

// hostOf returns the name or IP address under which HTTP clients reach a host: lower case, in ASCII (RFC 5891).
func hostOf(name string) string {
	host := strings.ToLower(name)
	if strings.ContainsFunc(host, func(r rune) bool { return r > 127 }) {
		var sent bytes.Buffer // net/http converts the name in the header, and nothing else of the standard library does
		r := http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: host}
		if r.Write(&sent) == nil {
			if got, err := http.ReadRequest(bufio.NewReader(&sent)); err == nil {
				host = got.Host
			}
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}
