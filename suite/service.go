package suite

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/yaml"
)

func (l *loader) service(n yaml.Node) {
	ofNamed := slices.DeleteFunc(servicesBlock().Names(), func(name string) bool { return slices.Contains(serviceBlock().Names(), name) })
	m := n.Map(append(serviceBlock().Names(), ofNamed...)...)
	for _, name := range ofNamed {
		if m.Has(name) {
			m.Key(name).Errorf(
				"name it: `services: {openai: {}}` and `service: openai` at the target, or `model: \"openai:ID\"` alone",
				"`service` is the service without a name, and `%s` is for one of `services`", name,
			)
		}
	}
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
		Batch:         choice(m.Get("batch")),
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

// untrustedService reads what cannot send the API key and the prompts to another address, as all other keys could.
func (l *loader) untrustedService(m yaml.Map) {
	for e := range m.Entries() {
		if e.Name() != "apiVersion" && e.Name() != "batch" {
			e.Key.Errorf("give it by a flag or a variable", "an untrusted suite cannot set `%s`", e.Name())
		}
	}
	l.Service.APIVersion = apiVersion(m.Get("apiVersion"))
	l.Service.Batch = choice(m.Get("batch"))
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
	if n.IsZero() || !n.IsScalar() || !envRef().MatchString(n.Str()) {
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
	if l.opts.Untrusted && envRef().MatchString(n.Str()) {
		n.Errorf("write the value", "an untrusted suite cannot read the environment")
		return ""
	}
	return envRef().ReplaceAllStringFunc(n.Str(), func(ref string) string {
		name := envRef().FindStringSubmatch(ref)[1]
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

// CheckAddress returns the problem with a base URL for the service; "" for none.
func (s *NamedService) CheckAddress(url string) string {
	switch problem := wire.CheckAddress(url); {
	case problem != "":
		return problem
	case s.sendsSecrets() && wire.PlainHTTP(url):
		return "the key would travel in the clear to " + url
	case s.HasVersions() && wire.CheckBaseURL(url) != "":
		return wire.CheckBaseURL(url) + "; or name another `protocol`"
	case s.Path == "":
		return s.doubled(strings.TrimRight(url, "/"))
	}
	return ""
}

// doubled returns the problem with a base URL that ends in what evalrun adds.
func (s *NamedService) doubled(url string) string {
	ends := []string{"/models", s.requestPath()}
	if s.Protocol == eval.Anthropic {
		ends = []string{"/v1", s.requestPath()}
	}
	for _, end := range ends {
		if s.requestPath() != "" && strings.HasSuffix(url, end) {
			what := map[string]string{"/v1": "the version"}[end]
			return "the base URL ends in " + end + ": leave " + cmp.Or(what, "that") + " out, evalrun adds it"
		}
	}
	return ""
}

// requestPath is the end of the address to which the protocol sends requests; "" when the address contains the model.
func (s *NamedService) requestPath() string {
	return map[eval.ProtocolName]string{
		eval.OpenAI: "/chat/completions", eval.Responses: "/responses", eval.Anthropic: "/messages",
	}[s.Protocol]
}

func (l *loader) checkServiceAddress(s *NamedService, n yaml.Node) {
	if s.BaseURL == "" {
		return
	}
	problem := s.CheckAddress(s.BaseURL)
	switch {
	case problem != "" && strings.ContainsAny(s.BaseURL, "@?#"): // a password or a key
		l.private(n, "name the variable that holds the key by `keyEnv`", problem)
	case problem != "" && wire.PlainHTTP(s.BaseURL):
		n.Errorf("use https", "%s", problem)
	case problem != "":
		n.Errorf("", "%s", problem)
	case l.refusesService(n, s.BaseURL):
	case wire.PlainHTTP(s.BaseURL):
		n.Warnf("use https", "the prompts travel in the clear to %s", s.BaseURL)
	}
}

// refusesService reports whether an untrusted suite may not name a service at an address, and adds the problem at a node.
func (l *loader) refusesService(n yaml.Node, address string) bool {
	at, err := url.Parse(address)
	return err == nil && l.refusesAddress(n, permitServices, at)
}

// checkServiceKey reports a key that an untrusted suite may not send to the address of its service. Keys in EVALRUN_* are
// those of services that the user names.
func (l *loader) checkServiceKey(s *NamedService, n yaml.Node) {
	at, err := url.Parse(s.BaseURL)
	switch {
	case s.KeyEnv == "" || err != nil || l.allowsKey(permitServices, at, s.KeyEnv):
	case strings.HasPrefix(s.KeyEnv, "EVALRUN_"):
		n.Errorf("name another variable, such as OTHER_API_KEY", "an untrusted suite cannot use the key in %s", s.KeyEnv)
	default:
		n.Errorf(
			fmt.Sprintf("add --allow %s=%s:%s, or run without --untrusted if you trust the suite", permitServices, at.Host, s.KeyEnv),
			"an untrusted suite cannot send the key in %s to %s", s.KeyEnv, at.Host,
		)
	}
}

// checkPath checks the path of a call below a base URL. The generative protocol has a path for each of its methods.
func (s *NamedService) checkPath(n yaml.Node) {
	hint := "such as chat/completions, with {model} in it where the service wants that"
	methods := s.Protocol == eval.Generative
	names := []string{"{model}", ""}
	if methods {
		hint, names = "such as models/{model}:{method}", append(names, "{method}", "")
	}
	rest := strings.NewReplacer(names...).Replace(s.Path)
	switch {
	case methods && !strings.Contains(s.Path, "{method}"):
		n.Errorf(hint, "`path` needs {method}, which is generateContent and the like")
	case strings.ContainsAny(rest, "{}"):
		n.Errorf(hint, "`path` has something in braces that has no meaning there")
	case strings.ContainsAny(rest, "# \\") || methods && strings.Contains(rest, "?"):
		n.Errorf(hint, "`path` has a character that does not belong in a path")
	case slices.Contains(strings.FieldsFunc(rest, func(r rune) bool { return r == '/' || r == '?' }), ".."):
		n.Errorf(hint, "`path` leads out of the base URL")
	case strings.HasPrefix(s.Path, "/"):
		n.Errorf(hint, "`path` begins below the base URL, without a slash")
	}
}
