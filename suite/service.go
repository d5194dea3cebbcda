package suite

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

func (l *loader) service(n yaml.Node) {
	m := n.Map(serviceBlock().Names()...)
	if l.opts.Untrusted {
		l.untrustedService(m)
		return
	}
	l.Service = UnnamedService{
		BaseURL:       l.env(m.Get("baseUrl")),
		APIVersion:    l.envWord(m.Get("apiVersion"), wire.APIVersions),
		HeaderPrefix:  l.env(m.Get("headerPrefix")),
		Auth:          eval.AuthKind(l.envWord(m.Get("auth"), eval.AuthKinds())),
		Project:       l.env(m.Get("project")),
		AuthScopeBase: l.env(m.Get("authScopeBase")),
	}
	if p := l.Service.Project; p != "" && !Project.MatchString(p) {
		m.Get("project").Errorf("such as my-project-123456", "`%s` is not the id of a cloud project", m.Get("project").Str())
	}
	if base := l.Service.AuthScopeBase; base != "" && wire.CheckScopeBase(base) != "" {
		m.Get("authScopeBase").
			Errorf("such as https://example.com", "`%s` is not the beginning of a scope's identifier", m.Get("authScopeBase").Str())
	}
	if u := l.Service.BaseURL; u != "" {
		l.checkAddress(m.Get("baseUrl"), u)
	}
	if p := l.Service.HeaderPrefix; p != "" && !HeaderPrefix.MatchString(p) {
		m.Get("headerPrefix").Errorf("such as x-svc", "`%s` is not the beginning of a header name", m.Get("headerPrefix").Str())
	}
}

// untrustedService reads the API version. All other keys could send the API key and the prompts to another address.
func (l *loader) untrustedService(m yaml.Map) {
	for e := range m.Entries() {
		if e.Name() != "apiVersion" {
			e.Key.Errorf("give it by a flag or a variable", "an untrusted suite cannot set `%s`", e.Name())
		}
	}
	l.Service.APIVersion = apiVersion(m.Get("apiVersion"))
}

func (l *loader) checkAddress(n yaml.Node, u string) {
	switch problem := wire.CheckBaseURL(u); {
	case problem != "" && strings.ContainsAny(u, "@?#"): // a password or a key
		l.diags.Add(diag.Diagnostic{
			Severity: diag.Error, Pos: n.Pos(), Message: problem, Hint: "a key belongs in EVALRUN_API_KEY", Private: true,
		})
	case problem != "":
		n.Errorf("", "%s", problem)
	case wire.PlainHTTP(u):
		n.Warnf("use https", "the key and the prompts travel in the clear to %s", u)
	}
}

// Project matches the id of a cloud project, which goes into a header.
var Project = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_-]*$`)

// HeaderPrefix matches service.headerPrefix.
var HeaderPrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

// envWord is like env, for a key with a few allowed words.
func (l *loader) envWord(n yaml.Node, known []string) string {
	if n.IsZero() || !n.IsScalar() || !envRef.MatchString(n.Str()) {
		return n.Word(known...)
	}
	word := l.env(n)
	if word != "" && !slices.Contains(known, word) {
		n.Errorf(diag.DidYouMean("", known), "what `%s` holds is not known here", n.Str())
		return ""
	}
	return word
}

// env expands ${env:EVALRUN_...} in a text of the service block.
func (l *loader) env(n yaml.Node) string {
	if n.IsZero() {
		return ""
	}
	if l.opts.Untrusted && envRef.MatchString(n.Str()) {
		n.Errorf("write the value", "an untrusted suite cannot read the environment")
		return ""
	}
	return envRef.ReplaceAllStringFunc(n.Str(), func(ref string) string {
		name := envRef.FindStringSubmatch(ref)[1]
		if !strings.HasPrefix(name, "EVALRUN_") {
			n.Errorf("rename the variable", "only environment variables that begin with EVALRUN_ can be used, not `%s`", name)
			return ""
		}
		if name == serviceKey {
			n.Errorf("evalrun reads it by itself", "the key does not belong in %s", "a suite")
			return ""
		}
		if ownSecret(name) {
			n.Errorf("use another variable", "%s is a secret of evalrun itself", name)
			return ""
		}
		var value string
		if l.opts.Getenv != nil {
			value = l.opts.Getenv(name)
		}
		if value == "" {
			n.Warnf("", "the environment variable %s is not set", name)
		}
		return value
	})
}
