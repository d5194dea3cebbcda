package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/expr"
	"github.com/evalrun/evalrun/internal/yaml"
)

// HTTPTarget is an HTTP endpoint as a target: the templates of its request, and how it is called.
type HTTPTarget struct {
	eval.Endpoint
	unset []unset

	method  string
	url     httpURL
	headers []httpHeader
	body    httpBody

	wantsMessages bool // a template uses the conversation
}

// unset is an environment variable that a request needs and that is not set.
type unset struct {
	name  string
	pos   diag.Pos // position of its name
	inURL bool     // it is part of the address, and so of the identity of trials
}

// Values of keys in an http block.
const (
	methodPost = "POST" // the default
	streamSSE  = "sse"
)

func httpMethods() []string {
	return []string{methodPost, "GET", "PUT", "PATCH", "DELETE"}
}

func httpBlock() yaml.Block {
	expression := func(name, doc string) yaml.Key { return key(name, yaml.Text, doc) }
	return yaml.Block{
		Need: []string{"url"},
		Keys: []yaml.Key{
			key("method", yaml.Word(httpMethods()...), "POST when not given."),
			key(
				"url", webAddress(),
				"The address of the endpoint. Variables are allowed in its path and its query, and are percent-encoded.",
			),
			key("headers", yaml.MapShape(yaml.Text), "Headers by their names. A value that names ${env:EVALRUN_...} is secret."),
			key(
				"body", yaml.Any,
				"A mapping, sent as JSON, or a text. `{{prompt}}` is the prompt, `{{messages}}` the conversation, `{{system}}` the "+
					"system text.",
			),
			expression("answer", "jq over the response, which gives the text. A text response needs none."),
			expression("toolCalls", "jq over the response, which gives the tool calls: a list of {name, args}."),
			expression("finishReason", "jq over the response, which gives why the answer ended, such as STOP."),
			expression("usage", "jq over the response, which gives an object with inputTokens and outputTokens."),
			expression("error", "jq over the response, which gives what went wrong; null when nothing did."),
			key("stream", yaml.Word(streamSSE), "sse: the answer is a stream of server-sent events; `answer` is applied to each event."),
			key("timeout", yaml.Duration, "How long one attempt may take, instead of `limits.timeout`."),
			key("tls", tlsBlock().Shape(), "Certificates, PEM files of the suite's folder."),
		},
	}
}

func tlsBlock() yaml.Block {
	return yaml.Block{Keys: []yaml.Key{
		key("cert", yaml.Text, "The certificate that evalrun shows, for mutual TLS."),
		key("key", yaml.Text, "The private key of `cert`."),
		key("ca", yaml.Text, "The authorities that the endpoint's certificate may be from, instead of the system's."),
	}}
}

func (l *loader) endpoint(n yaml.Node) *HTTPTarget {
	m := n.Map(httpBlock().Names()...)
	h := &HTTPTarget{method: methodPost, url: httpURL{sent: source{t: nothing(), node: n}}}
	if !n.IsMapping() {
		return h
	}
	if v := m.Get("method"); !v.IsZero() {
		h.method = v.Word(httpMethods()...)
	}
	h.Timeout = m.Get("timeout").Duration()
	h.Reading = eval.Reading{
		Answer:       l.jq(m, "answer"),
		ToolCalls:    l.jq(m, "toolCalls"),
		FinishReason: l.jq(m, "finishReason"),
		Usage:        l.jq(m, "usage"),
		Error:        l.jq(m, "error"), Stream: m.Get("stream").Word(streamSSE) != "",
	}
	h.url = l.httpURL(h, m.Need("url"))
	h.headers = l.httpHeaders(h, m.Get("headers"))
	h.body = l.httpBody(h, m.Get("body"))
	h.TLS, h.wantsMessages = l.tls(m.Get("tls")), h.calls("messages")
	l.checkSecrecy(h, m)
	return h
}

// jq reads an expression over a response. It is "" when the key is missing or the expression is invalid.
func (l *loader) jq(m yaml.Map, key string) string {
	n := m.Get(key)
	source := n.Str()
	switch {
	case n.IsZero() || !n.IsScalar() || n.IsNull():
		return ""
	case source == "" || len(source) > expr.MaxSource:
		n.Errorf("such as .reply.text", "`%s` needs a jq expression of at most %d bytes", key, expr.MaxSource)
		return ""
	}
	expression, problem := expr.CompileJQ(source)
	switch {
	case problem != nil:
		problem.Report(n, diag.CleanLine)
	case l.opts.Untrusted && !expression.OnlyPicks():
		n.Errorf("such as .reply.text, or .items[0].text", "in an untrusted suite, jq only takes paths")
	default:
		return source
	}
	return ""
}

// checkSecrecy reports secrets, and warns of prompts, that would travel in the clear.
func (l *loader) checkSecrecy(h *HTTPTarget, m yaml.Map) {
	const hint = "use https"
	n, host := m.Get("url"), hostOf(h.url.prefix)
	if host == "" || !wire.PlainHTTP(h.url.prefix) {
		return
	}
	secret := slices.IndexFunc(h.headers, func(one httpHeader) bool { return one.secret })
	switch {
	case h.url.secret:
		n.Errorf(hint, "the url holds a secret, which would travel in the clear to %s", host)
	case secret >= 0:
		header := h.headers[secret]
		header.value.node.Errorf(hint, "the header `%s` is secret, and would travel in the clear to %s", header.name, host)
	default:
		n.Warnf(hint, "the prompts travel in the clear to %s", host)
	}
}

// render makes the request for a case. It calls report with each problem and its template.
func (h *HTTPTarget) render(in *rendered) *eval.Rendered {
	out := &eval.HTTP{Method: h.method, Stream: h.Reading.Stream}
	h.url.render(in, out)
	for i := range h.headers {
		h.headers[i].render(in, out)
	}
	h.body.render(in, out)
	return &eval.Rendered{Payload: out}
}

// Render makes the request for a case, and returns the first problem as an error.
func (h *HTTPTarget) Render(in *eval.Input) (*eval.Rendered, error) {
	var first error
	filled := h.rendered(in)
	filled.report = func(s source, e *expr.TemplateError) {
		if first == nil {
			first = fmt.Errorf("%s: %s", s.pos(e.Offset), e.Message)
		}
	}
	out := h.render(filled)
	return out, first
}

func (h *HTTPTarget) sources(yield func(source) bool) {
	if !yield(h.url.sent) {
		return
	}
	for i := range h.headers {
		if !yield(h.headers[i].value) {
			return
		}
	}
	for i := range h.body.parts {
		if !yield(h.body.parts[i].value) {
			return
		}
	}
}

// calls reports whether a template of the request uses a function, such as trial.
func (h *HTTPTarget) calls(function string) bool {
	for s := range h.sources {
		if s.t == nil {
			continue
		}
		for _, call := range s.t.Calls() {
			if call.Name == function {
				return true
			}
		}
	}
	return false
}

// String describes the request in a few words, with the address as written in the suite.
func (h *HTTPTarget) String() string { return strings.TrimSpace(h.method + " " + h.url.sent.text) }
