package suite

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/wirejson"
	"github.com/evalrun/evalrun/internal/yaml"
)

type httpHeader struct {
	name   string
	value  source
	secret bool
	data   bool // contains variables of the case, or the prompt
}

var headerName = pattern("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are the headers that belong to the connection.
func ownHeaders() []string {
	return []string{
		"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect", "accept-encoding",
	}
}

// secretHeaders are headers that always hold credentials.
func secretHeaders() []string {
	return []string{"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"}
}

type suspicion int

const (
	not suspicion = iota
	perhaps
	certainly
)

// looksSecret judges by its form whether the literal value of a header is a secret. The name of the header does not count.
func looksSecret(value string) suspicion {
	switch value = strings.TrimSpace(value); {
	case wire.IsKey(value):
		return certainly
	case wire.MayBeKey(value):
		return perhaps
	}
	return not
}

const appTokenHint = "such as \"${env:EVALRUN_APP_TOKEN}\"" //nolint:gosec // it names a variable

// suspect warns about a value that may be a secret, without showing its line.
func (l *loader) suspect(n yaml.Node, hint, format string, args ...any) {
	l.diags.Add(diag.Diagnostic{
		Severity: diag.Warning, Pos: n.Pos(), Hint: hint, Private: true, Message: fmt.Sprintf(format, args...),
	})
}

func (l *loader) httpHeaders(h *HTTPTarget, n yaml.Node) []httpHeader {
	var out []httpHeader
	for e, name := range headersOf(n) {
		if h.Auth != nil && name == "authorization" {
			e.Key.Errorf("keep one of them", "`auth` sets the header `%s`", e.Name())
			continue
		}
		out = append(out, l.httpHeader(h, e, name))
	}
	return out
}

// headersOf yields the headers of a block with their names in lower case. It reports headers that may not be set.
func headersOf(n yaml.Node) iter.Seq2[yaml.Entry, string] {
	return func(yield func(yaml.Entry, string) bool) {
		seen := map[string]diag.Pos{}
		for e := range n.Map().Entries() {
			name := strings.ToLower(e.Name())
			if first, twice := seen[name]; twice {
				e.Key.Errorf("keep one of them", "duplicate header `%s`, first %s", e.Name(), first.SeenFrom(e.Key.Pos()))
			} else {
				seen[name] = e.Key.Pos()
			}
			switch {
			case !headerName().MatchString(e.Name()):
				e.Key.Errorf("letters, digits and - are allowed", "`%s` is not the name of a header", diag.CleanLine(e.Name()))
			case slices.Contains(ownHeaders(), name):
				e.Key.Errorf("remove it", "evalrun sets the header `%s` itself", e.Name())
			case !yield(e, name):
				return
			}
		}
	}
}

func (l *loader) httpHeader(h *HTTPTarget, e yaml.Entry, name string) httpHeader {
	if e.Value.InBraces() || !e.Value.IsScalar() || e.Value.IsNull() {
		e.Value.Str() // which reports what it is
		return httpHeader{name: e.Name(), value: source{t: nothing(), node: e.Value}}
	}
	env := l.environment(&h.unset, e.Value, false)
	d := &expr.Dialect{Functions: h.functions(), Literal: func(text string) string { return expand(text, env) }}
	one := httpHeader{name: e.Name(), value: l.in(d, e.Value)}
	if i := strings.IndexFunc(e.Value.Str(), isControl); i >= 0 {
		e.Value.ErrorfAt(i, "", "%s", one.broken())
		one.value.t = nothing()
	}
	one.secret = len(env) > 0 || slices.Contains(secretHeaders(), name) ||
		one.value.t.IsConstant() && looksSecret(one.value.text) == certainly
	one.data = len(one.value.t.Fields())+len(one.value.t.Calls()) > 0 || one.value.t.UsesAll()
	l.keepSecret(h, &one, env)
	return one
}

// keepSecret hides the secrets of a header in all output, and warns about secrets that a suite should not contain.
func (l *loader) keepSecret(h *HTTPTarget, one *httpHeader, env map[string]string) {
	for _, value := range env {
		h.Secrets = append(h.Secrets, value)
	}
	if !one.value.t.IsConstant() {
		return
	}
	switch {
	case one.secret:
		value := expand(one.value.text, env)
		h.Secrets = append(h.Secrets, credentials(value)...)
		if !envRef().MatchString(one.value.text) {
			l.suspect(
				one.value.node, appTokenHint,
				"a secret does not belong in a suite: take `%s` from the environment", one.name,
			)
		}
	case looksSecret(one.value.text) == perhaps:
		l.suspect(one.value.node, appTokenHint,
			"the value of the header `%s` looks like a secret, which does not belong in a suite", one.name)
	}
}

// broken reports whether a value is unfit for a header, such as one with a line break.
func (h *httpHeader) broken() string {
	return fmt.Sprintf("the value of the header `%s` has a line break or another control character", h.name)
}

func (h *httpHeader) render(in *rendered, out *eval.HTTP) {
	value, fine := in.text(h.value)
	if !fine {
		return
	}
	if strings.ContainsFunc(value, isControl) {
		in.report(h.value, &expr.TemplateError{Message: h.broken()})
		return
	}
	out.Headers = append(out.Headers, eval.Header{Name: h.name, Value: value, Secret: h.secret, Data: h.data})
}

// httpBody is the body of a request: JSON with templates in its texts, or a single template.
type httpBody struct {
	mediaType string // "" without a body, or when a header sets it
	parts     []bodyPart
}

// bodyPart is a literal followed by a template.
type bodyPart struct {
	before []byte
	value  source // its template is nil in the last part
	isText bool   // the template is the whole body, a text
}

const maxBody = expr.MaxOutput

func (l *loader) httpBody(h *HTTPTarget, n yaml.Node) (b httpBody) {
	switch {
	case n.IsZero():
		return b
	case n.InBraces():
		n.Str() // which reports it
		return b
	case n.IsMapping() || n.IsSequence():
		w := bodyWriter{loader: l, of: h, dialect: &expr.Dialect{Functions: h.functions(), Values: true}}
		w.node(n)
		w.parts = append(w.parts, bodyPart{before: w.literal})
		b.mediaType, b.parts = "application/json", w.parts
	default:
		b.mediaType = "text/plain; charset=utf-8"
		d := &expr.Dialect{Functions: h.functions()}
		if h.isLogin {
			d.Literal = l.secretText(h, n)
		}
		b.parts = []bodyPart{{value: l.in(d, n), isText: true}}
	}
	if slices.ContainsFunc(h.headers, func(one httpHeader) bool { return strings.EqualFold(one.name, "content-type") }) {
		b.mediaType = ""
	}
	return b
}

type bodyWriter struct {
	*loader
	of      *HTTPTarget
	dialect *expr.Dialect
	parts   []bodyPart
	literal []byte // JSON since the last template
}

func (w *bodyWriter) node(n yaml.Node) {
	switch {
	case n.InBraces():
		n.Str() // which reports it
	case n.IsMapping():
		w.mapping(n)
	case n.IsSequence():
		for i, item := range n.Seq() {
			w.literal = append(w.literal, comma('[', i))
			w.node(item)
		}
		w.close('[', ']', len(n.Seq()))
	case w.of.isLogin && namesEnvironment(n):
		d := *w.dialect
		d.Literal = w.secretText(w.of, n)
		w.parts = append(w.parts, bodyPart{before: w.literal, value: w.in(&d, n)})
		w.literal = nil
	case n.IsScalar() && !n.IsNull() && expr.HasActions(n.Written()):
		w.parts = append(w.parts, bodyPart{before: w.literal, value: w.in(w.dialect, n)})
		w.literal = nil
	default:
		w.literal = n.JSON(w.literal)
	}
}

func (w *bodyWriter) mapping(n yaml.Node) {
	m, i := n.Map(), 0
	for e := range m.Entries() {
		if expr.HasActions(e.Name()) {
			e.Key.Errorf("write the key as it is", "the keys of `body` are not templates")
		}
		w.literal = append(w.literal, comma('{', i))
		w.literal = append(wirejson.AppendString(w.literal, e.Name()), ':')
		w.node(e.Value)
		i++
	}
	w.close('{', '}', i)
}

func comma(opening byte, i int) byte {
	if i == 0 {
		return opening
	}
	return ','
}

func (w *bodyWriter) close(opening, closing byte, items int) {
	if items == 0 {
		w.literal = append(w.literal, opening)
	}
	w.literal = append(w.literal, closing)
}

func (b *httpBody) render(in *rendered, out *eval.HTTP) {
	var body []byte
	for i := range b.parts {
		p := &b.parts[i]
		if body = append(body, p.before...); p.value.t == nil {
			continue
		}
		body = p.render(in, body)
		if len(body) > maxBody {
			in.report(p.value, &expr.TemplateError{Message: fmt.Sprintf("the body has more than %d bytes", maxBody)})
			return
		}
	}
	out.Body = string(body)
	if b.mediaType != "" {
		out.Headers = append(out.Headers, eval.Header{Name: "content-type", Value: b.mediaType})
	}
}

func (p *bodyPart) render(in *rendered, body []byte) []byte {
	if p.isText {
		text, _ := in.text(p.value)
		return append(body, text...)
	}
	v, err := p.value.t.Value(in.data, in.budget)
	if !in.fine(p.value, err) {
		return body
	}
	if text, ok := v.(string); ok {
		return wirejson.AppendString(body, text)
	}
	return append(body, eval.JSON(v)...)
}
