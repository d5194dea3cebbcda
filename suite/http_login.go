package suite

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// HTTPLogin is the request that logs in to an endpoint. What its answer gives stands in templates as {{login.NAME}}.
type HTTPLogin struct {
	Request  *HTTPTarget
	Take     map[string]string // jq over the answer, by name
	PerTrial bool              // log in for each trial, and not once for the run
}

// Values of `per`.
const (
	perRun   = "run"
	perTrial = "trial"
)

var httpLoginBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{
		Need: []string{"url"},
		Keys: []yaml.Key{
			key("method", yaml.Word(httpMethods()...), "POST when not given."),
			key("url", webAddress(), "The address of the login."),
			key("headers", yaml.MapShape(yaml.Text), "Headers by their names. A value that names ${env:EVALRUN_...} is secret."),
			key("body", yaml.Any, "A mapping, sent as JSON, or a text. A text in it that names ${env:EVALRUN_...} is secret."),
			key("take", yaml.MapShape(yaml.Text), "jq over the answer, by the names that the request has as {{login.NAME}}."),
			key("per", yaml.Word(perRun, perTrial), "run: once for all trials, when not given. trial: for each, with the variables of its case."),
		},
	}
})

// httpLogin reads how to log in to an endpoint; nil when the suite does not say.
func (l *loader) httpLogin(n yaml.Node) *HTTPLogin {
	if n.IsZero() {
		return nil
	}
	m := n.Map(httpLoginBlock().Names()...)
	h := &HTTPTarget{method: methodPost, isLogin: true, url: httpURL{sent: source{t: nothing(), node: n}}}
	out := &HTTPLogin{Request: h, Take: map[string]string{}, PerTrial: m.Get("per").Word(perRun, perTrial) == perTrial}
	if !n.IsMapping() {
		return out
	}
	for e := range m.Get("take").Map().Entries() {
		if !loginName.MatchString(e.Name()) {
			e.Key.Errorf("letters, digits and _ are allowed", "`%s` is not a name for a template", diag.CleanLine(e.Name()))
		}
		out.Take[e.Name()] = l.jq(m.Get("take").Map(), e.Name())
	}
	l.request(h, m)
	for s := range h.sources {
		if !out.PerTrial && s.t != nil && !s.t.IsConstant() {
			s.node.Errorf("add `per: trial` to the login", "a login for the whole run has no case, and so no variables")
		}
	}
	return out
}

var (
	loginName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	loginUse  = regexp.MustCompile(`^login\.([A-Za-z_][A-Za-z0-9_]*)`)
)

// checkLoginUse reports a {{login.NAME}} that the login does not take.
func (h *HTTPTarget) checkLoginUse() {
	for s := range h.sources {
		if s.t == nil {
			continue
		}
		for _, call := range s.t.Calls() {
			if call.Name != "login" {
				continue
			}
			m := loginUse.FindStringSubmatch(s.text[min(call.Offset, len(s.text)):])
			names := h.Login.names()
			switch {
			case m == nil:
				s.node.ErrorfAt(call.Offset, "such as {{login.token}}", "`login` is followed by a name of its `take`")
			case !slices.Contains(names, m[1]):
				s.node.ErrorfAt(call.Offset, diag.DidYouMean(m[1], names), "the login takes no `%s`", m[1])
			}
		}
	}
}

func (l *HTTPLogin) names() []string {
	var out []string
	for name := range l.Take {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// secretText inserts environment variables into a text of a login's body, and hides them.
func (l *loader) secretText(h *HTTPTarget, n yaml.Node) func(string) string {
	env := l.environment(&h.unset, n, false)
	for _, value := range env {
		h.Secrets = append(h.Secrets, value)
	}
	return func(text string) string { return expand(text, env) }
}

// namesEnvironment reports whether a text of a login names a variable of the environment.
func namesEnvironment(n yaml.Node) bool {
	return n.IsScalar() && !n.IsNull() && strings.Contains(n.Written(), "${env:")
}
