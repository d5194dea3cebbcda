package suite

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"

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
	isLogin       bool // it logs in to another endpoint

	// Login comes before the first call; nil without one.
	Login *HTTPLogin
	// Auth prints the tokens that requests have; nil without one.
	Auth *TokenProgram

	// ScoresLate says that what has arrived when the time is up is scored.
	ScoresLate bool
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
	streamJSON = "ndjson"

	streamLines = "jsonl" // of a program
)

func httpMethods() []string {
	return []string{methodPost, "GET", "PUT", "PATCH", "DELETE"}
}

var httpBlock = sync.OnceValue(func() yaml.Block {
	keys := []yaml.Key{
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
		key("login", httpLoginBlock().Shape(), "A request that comes first, and what its answer gives to this one."),
		key("auth", loginBlock().Shape(), "A program that prints the bearer token of the requests."),
		key("timeout", yaml.Duration, "How long one attempt may take, instead of `limits.timeout`."),
		key("onTimeout", yaml.Word("error", "score"), "score: what has arrived when the time is up is scored; error when not given."),
		key("tls", tlsBlock().Shape(), "Certificates, PEM files of the project."),
	}
	return yaml.Block{Need: []string{"url"}, Keys: append(keys, readingKeys("response", key(
		"stream", yaml.Word(streamSSE, streamJSON),
		"The answer is a stream of server-sent events (sse), or of lines of JSON (ndjson); `answer` is applied to each event.",
	))...)}
})

func readingKeys(what string, stream yaml.Key) []yaml.Key {
	expression := func(name, doc string) yaml.Key { return key(name, yaml.Text, "jq over the "+what+", which gives "+doc) }
	return []yaml.Key{
		expression("answer", "the text. A text needs none."),
		expression("toolCalls", "the tool calls: a list of {name, args}."),
		expression("finishReason", "why the answer ended, such as STOP."),
		expression("usage", "an object with inputTokens and outputTokens."),
		expression("error", "what went wrong; null when nothing did."),
		stream,
		key("repeats", yaml.Bool, "true: each event of a stream has the text so far, and the last text is the answer."),
	}
}

// reading reads them. streams are the kinds of streams, the usual one first.
func (l *loader) reading(m yaml.Map, streams ...string) eval.Reading {
	if m.Has("repeats") && !m.Has("stream") {
		m.Key("repeats").Errorf("add `stream: "+streams[0]+"`, or remove it", "`repeats` is for streams")
	}
	return eval.Reading{
		Answer:       l.jq(m, "answer"),
		ToolCalls:    l.jq(m, "toolCalls"),
		FinishReason: l.jq(m, "finishReason"),
		Usage:        l.jq(m, "usage"),
		Error:        l.jq(m, "error"),
		Stream:       m.Get("stream").Word(streams...) != "",
		Repeats:      m.Get("repeats").Bool(),
	}
}

func (l *loader) endpoint(n yaml.Node) *HTTPTarget {
	m := n.Map(httpBlock().Names()...)
	h := &HTTPTarget{method: methodPost, url: httpURL{sent: source{t: nothing(), node: n}}}
	if !n.IsMapping() {
		return h
	}
	h.Timeout = m.Get("timeout").Duration()
	h.ScoresLate = m.Get("onTimeout").Word("error", "score") == "score"
	h.Reading = l.reading(m, streamSSE, streamJSON)
	if h.Login = l.httpLogin(m.Get("login")); h.Login != nil {
		h.unset, h.Secrets = h.Login.Request.unset, h.Login.Request.Secrets
	}
	h.Auth = l.tokenProgram(m.Get("auth"), m.Get("login"), "a target has a `login`")
	l.request(h, m)
	h.TLS, _ = l.tls(m.Get("tls"))
	h.wantsMessages = h.calls("messages")
	if h.Login != nil {
		h.checkLoginUse()
	}
	return h
}

func (l *loader) request(h *HTTPTarget, m yaml.Map) {
	if v := m.Get("method"); !v.IsZero() {
		h.method = v.Word(httpMethods()...)
	}
	h.url = l.httpURL(h, m.Need("url"))
	h.headers = l.httpHeaders(h, m.Get("headers"))
	h.body = l.httpBody(h, m.Get("body"))
	l.checkSecrecy(h, m)
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
	compile := expr.CompileJQ
	if expr.NamesEvent(source) {
		compile = expr.CompileEventJQ
	}
	expression, problem := compile(source)
	switch {
	case expr.NamesEvent(source) && m.Get("stream").IsZero():
		n.Errorf("add `stream: sse`, or remove it", "`$event` is the name of an event of a stream")
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
	case h.Auth != nil:
		m.Key("auth").Errorf(hint, "the token would travel in the clear to %s", host)
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
	filled.keepFirst(&first)
	out := h.render(filled)
	return out, first
}

func (r *rendered) keepFirst(first *error) {
	r.report = func(s source, e *expr.TemplateError) {
		if *first == nil {
			*first = fmt.Errorf("%s: %s", s.pos(e.Offset), e.Message)
		}
	}
}

func (h *HTTPTarget) sources(yield func(source) bool) {
	if h.Login != nil && h.Login.PerTrial {
		for s := range h.Login.Request.sources {
			if !yield(s) {
				return
			}
		}
	}
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

// credentials returns the texts to hide of a header with credentials: the token after the scheme, and for Basic the
// password in it as well.
func credentials(value string) []string {
	out := []string{value}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return out
	}
	out = append(out, token)
	if plain, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		out = append(out, string(plain), password)
	}
	return out
}

// An http request is made of templates. Values in them are escaped as data wherever they go.

// requestFunctions lists what templates of a request can name in addition to the variables of the case.
func requestFunctions() []string {
	return []string{"prompt", "messages", "system", "trial", "attempt", "login"}
}

func (h *HTTPTarget) functions() []string {
	switch all := requestFunctions(); {
	case h.isLogin:
		return []string{"trial"}
	case h.Login == nil:
		return all[:len(all)-1]
	default:
		return all
	}
}

// rendered holds the values for templates of a request, and receives their problems.
type rendered struct {
	data   expr.Data
	budget *expr.Budget
	report func(s source, err *expr.TemplateError)
}

// unnamed stands for the name of a trial in a request that is only hashed or shown, so that readers see where it goes.
const unnamed = "{{trial}}"

func (h *HTTPTarget) rendered(in *eval.Input) *rendered {
	var messages eval.Array
	if h.wantsMessages {
		messages = make(eval.Array, len(in.Messages))
		for i, m := range in.Messages {
			messages[i] = eval.Object{{Name: "role", Value: m.Role}, {Name: "content", Value: m.Text}}
		}
	}
	login := eval.Dict{}
	if h.Login != nil {
		for name := range h.Login.Take {
			login[name] = cmp.Or(in.Login[name], "{{login."+name+"}}")
		}
	}
	out := renderedFor(in)
	out.data.Functions["login"], out.data.Functions["messages"] = login, messages
	return out
}

// renderedFor has what every application is told of a call.
func renderedFor(in *eval.Input) *rendered {
	return &rendered{data: expr.Data{Vars: in.Vars, Functions: map[string]eval.Value{
		"prompt":  in.Prompt(),
		"system":  in.System,
		"trial":   cmp.Or(in.Trial, unnamed),
		"attempt": in.Attempt,
	}}}
}

func (r *rendered) text(s source) (string, bool) {
	out, err := s.t.RenderData(r.data, r.budget)
	return out, r.fine(s, err)
}

func (r *rendered) fine(s source, err error) bool {
	if err == nil {
		return true
	}
	r.report(s, expr.AsTemplateError(err))
	return false
}

// in parses the template in a scalar, in a dialect.
func (l *loader) in(d *expr.Dialect, n yaml.Node) source {
	s := source{node: n, text: n.Str()}
	s.t = parseIn(d, s, l.diags)
	return s
}

// environment records the environment variables that a text names, and returns a function that inserts their values.
func (l *loader) environment(missing *[]unset, n yaml.Node, inURL bool) (values map[string]string) {
	values = map[string]string{}
	text := n.Str()
	for _, at := range envRef().FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		switch {
		case !strings.HasPrefix(name, "EVALRUN_"):
			n.ErrorfAt(
				at[0], "rename the variable",
				"only environment variables that begin with EVALRUN_ can be used, not `%s`", name,
			)
			continue
		case name == serviceKey || ownSecret(name):
			n.ErrorfAt(at[0], "use another variable, such as EVALRUN_APP_TOKEN", "%s is a secret of evalrun itself", name)
			continue
		case l.opts.Untrusted: // an allowed host must not receive every secret of the environment
			n.ErrorfAt(at[0], "write the value, or leave it out", "an untrusted suite cannot read the environment")
			*missing = append(*missing, unset{name, n.Offset(at[0]), inURL})
			continue
		}
		value := ""
		if l.opts.Getenv != nil {
			value = strings.TrimSpace(l.opts.Getenv(name))
		}
		if value == "" {
			*missing = append(*missing, unset{name, n.Offset(at[0]), inURL})
			l.diags.Warnf(n.Offset(at[0]), "", "the environment variable %s is not set", name)
		} else if i := strings.IndexFunc(value, isControl); i >= 0 {
			n.ErrorfAt(
				at[0], "set it again without that", "the environment variable %s holds a line break or another control character", name,
			)
		}
		values["${env:"+name+"}"] = value
	}
	return values
}

const serviceKey = "EVALRUN_API_KEY"

// ownSecret reports whether a variable holds a secret of evalrun that no service needs: the key that signs runs, or the
// token for the shared ledger.
func ownSecret(name string) bool {
	return name == "EVALRUN_TRUST_KEY" || name == "EVALRUN_LEDGER_TOKEN"
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func expand(text string, values map[string]string) string {
	return envRef().ReplaceAllStringFunc(text, func(ref string) string { return values[ref] })
}
