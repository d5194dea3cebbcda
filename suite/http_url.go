package suite

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

type httpURL struct {
	sent   source
	shown  source // without secrets; its template is nil when it equals sent
	prefix string // literal start up to the first template, with the host; "" when an environment variable is not set
	secret bool   // path or query contain an environment variable
}

func (l *loader) httpURL(h *HTTPTarget, n yaml.Node) (u httpURL) {
	if n.IsZero() || !n.IsScalar() || n.IsNull() || n.InBraces() {
		n.Str() // which reports what it is
		return httpURL{sent: source{t: nothing(), node: n}}
	}
	env := l.environment(&h.unset, n, true)
	functions := expr.Dialect{Functions: h.functions(), Escape: urlData}
	asSent, written := functions, addressOf(n.Str())
	asSent.Literal = written.literal(env)
	u.sent = l.in(&asSent, n)
	if len(env) > 0 {
		asShown := functions
		asShown.Literal = urlLiteral
		u.shown = source{node: n, text: u.sent.text, t: parseIn(&asShown, u.sent, &diag.List{})}
	}
	head, _, _ := strings.Cut(n.Str(), "{{")
	if !slices.ContainsFunc(h.unset, func(one unset) bool { return one.inURL }) {
		u.prefix = written.literal(env)(head)
		l.checkURL(n, u.prefix, len(head))
		u.secret = h.hideURL(written, env)
	}
	return u
}

// checkURL checks the part of an address before its first template.
func (l *loader) checkURL(n yaml.Node, prefix string, at int) {
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
	case parsed.User != nil: // never shown: it may be a password
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

// address splits a url as written into scheme, host and port, and the rest. An environment variable in the first part may
// also hold the start of the path and the query.
type address struct{ host, rest string }

func addressOf(written string) address {
	at := 0
	if i := strings.Index(written, "://"); i >= 0 {
		at = i + len("://")
	}
	for _, ref := range envRef().FindAllStringIndex(written, -1) {
		if ref[0] <= at { // the slashes may be in its value
			at = max(at, ref[1])
		}
	}
	end := len(written)
	if i := strings.Index(written, "{{"); i >= 0 {
		end = i
	}
	if i := strings.IndexAny(written[min(at, end):end], "/?"); i >= 0 {
		end = min(at, end) + i
	}
	return address{written[:end], written[end:]}
}

// literal inserts the values of environment variables into the text between actions: unchanged in the first part of the
// address, and escaped as data in the rest. The text of the first part comes before all others.
func (a address) literal(env map[string]string) func(string) string {
	data := make(map[string]string, len(env))
	for ref, value := range env {
		data[ref] = urlData(value)
	}
	begun := false
	return func(text string) string {
		host := ""
		if rest, ok := strings.CutPrefix(text, a.host); ok && !begun {
			host, text = expand(a.host, env), rest
		}
		begun = true
		return urlLiteral(host + expand(text, data))
	}
}

func (h *HTTPTarget) hideURL(a address, env map[string]string) (secret bool) {
	hide := func(texts ...string) {
		for _, text := range texts {
			if text != "" {
				h.Secrets, secret = append(h.Secrets, text), true
			}
		}
	}
	for ref, value := range env {
		if strings.Contains(a.rest, ref) {
			hide(value)
		}
		_, query, _ := strings.Cut(value, "?")
		if !strings.Contains(a.host, ref) || query == "" {
			continue
		}
		hide(query)
		if values, err := url.ParseQuery(query); err == nil {
			for _, all := range values {
				hide(all...)
			}
		}
	}
	return secret
}

// hostOf returns the host of an address with its port; "" when it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// urlData escapes data for any position in a path or a query. It also escapes a value of dots alone, which would lead to
// the parent folder.
func urlData(text string) string {
	if text != "" && strings.Trim(text, ".") == "" {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// urlLiteral escapes a text of the suite for the first line of a request.
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

func (u *httpURL) render(in *rendered, out *eval.HTTP) {
	fine := false
	if out.URL, fine = in.text(u.sent); fine && u.shown.t != nil {
		out.Shown, _ = in.text(u.shown)
	}
}
