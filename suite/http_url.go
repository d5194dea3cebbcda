package suite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/app"
	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/tmpl"
	"github.com/evalrun/evalrun/internal/yamlnode"
)

// httpURL is the address of a request.
type httpURL struct {
	sent, shown source // shown is without a template where it is the same
	prefix      string // what comes before the first template, which has the host; "" where a variable of the environment is not set
	secret      bool   // a variable of the environment is in its path or query
}

// httpURL reads the address of an endpoint.
func (l *loader) httpURL(h *endpoint, n yamlnode.Node) (u httpURL) {
	if n.IsZero() || !n.IsScalar() || n.IsNull() || n.InBraces() {
		n.Str() // which reports what it is
		return httpURL{sent: source{t: constant(""), node: n}}
	}
	env := l.environment(h, n, true)
	functions := tmpl.Dialect{Functions: requestFunctions(), Escape: urlData}
	asSent := functions
	asSent.Literal = func(text string) string { return urlLiteral(expand(text, env)) }
	u.sent = l.in(&asSent, n)
	if len(env) > 0 {
		asShown := functions
		asShown.Literal = urlLiteral
		u.shown = source{node: n, text: u.sent.text, t: parseIn(&asShown, u.sent, &diag.List{})}
	}
	head, _, _ := strings.Cut(n.Str(), "{{")
	if !slices.ContainsFunc(h.unset, func(one unset) bool { return one.inURL }) {
		u.prefix = urlLiteral(expand(head, env))
		l.checkURL(n, u.prefix, len(head))
		u.secret = h.hideURL(u.prefix, head, env)
	}
	return u
}

// checkURL checks the part of an address before its first template, which is at the given place.
func (l *loader) checkURL(n yamlnode.Node, prefix string, at int) {
	scheme, rest, ok := strings.Cut(prefix, "://")
	parsed, err := url.Parse(prefix)
	switch {
	case at < len(n.Str()) && (!ok || !strings.ContainsAny(rest, "/?")):
		n.ErrorfAt(at, "write scheme, host and port as they are, or take them from ${env:EVALRUN_...}",
			"variables are allowed in the path and the query of `url` only")
	case !ok || scheme != "http" && scheme != "https":
		n.Errorf("such as http://127.0.0.1:8080/chat", "`url` must begin with https:// or http://")
	case err != nil || parsed.Hostname() == "":
		n.Errorf("such as http://127.0.0.1:8080/chat", "`url` names no host")
	case parsed.User != nil: // shown nowhere: it may be a password
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Error, Pos: n.Pos(), Message: "`url` must not hold a user or a password", Private: true,
			Hint: "send a header: authorization: \"Basic ${env:EVALRUN_...}\"",
		})
	case strings.Contains(prefix, "#"):
		n.ErrorfAt(max(0, strings.Index(n.Str(), "#")), "remove it", "`url` must not have a fragment: it is never sent")
	default:
		l.refusesAddress(n, permitHTTP, parsed)
	}
}

// hideURL takes down what of an address is secret: the values of environment variables in its path and query. Its host is none.
func (h *endpoint) hideURL(prefix, head string, env map[string]string) (secret bool) {
	authority := len(prefix) - len(afterHost(prefix))
	for ref, value := range env {
		at := -1
		if before, _, ok := strings.Cut(head, ref); ok {
			at = len(urlLiteral(expand(before, env)))
		}
		if at >= 0 && at < authority { // what follows the host in the value
			value = afterHost(value)
		}
		if value = strings.Trim(value, "/?"); value != "" {
			h.Secrets, secret = append(h.Secrets, secretsIn(value)...), true
		}
	}
	return secret
}

// afterHost is what of an address follows scheme, host and port.
func afterHost(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// secretsIn are the texts to hide of a part of an address: as a whole, and each value of its query.
func secretsIn(text string) []string {
	out := []string{text}
	for _, decode := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} { // as the application reads it
		if plain, err := decode(text); err == nil {
			out = append(out, plain)
		}
	}
	_, query, ok := strings.Cut(text, "?")
	if !ok {
		query = text
	}
	if values, err := url.ParseQuery(query); err == nil && strings.Contains(query, "=") {
		for _, all := range values {
			out = append(out, all...)
		}
	}
	return out
}

// hostOf is the host of an address with its port, "" when it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// urlData makes data fit for any place of a path or a query. Dots alone would be a step up.
func urlData(text string) string {
	if text != "" && strings.Trim(text, ".") == "" {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// urlLiteral makes a text of the suite fit for the first line of a request.
func urlLiteral(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (u *httpURL) render(in *rendered, out *app.HTTP) (fine bool) {
	if out.URL, fine = in.text(u.sent); fine && u.shown.t != nil {
		out.Shown, fine = in.text(u.shown)
	}
	return fine
}
