package suite

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/files"
	"github.com/evalrun/evalrun/internal/yaml"
)

// NamedService is a service that targets, judges and the embedding model name by `service`.
type NamedService struct {
	Name     string
	Protocol eval.ProtocolName
	BaseURL  string // "" when an environment variable in it is not set
	KeyEnv   string // name of the environment variable that holds the key; "" for no key
	// Login prints the tokens that requests have; nil without one.
	Login   *TokenProgram
	Headers []eval.Header
	// Path is the path of a call below BaseURL, with {model} and {method} in it; "" means the path of the protocol.
	Path           string
	HeaderPrefix   string      // start of the service's own headers; "" means the default
	NoMetadata     bool        // do not request the metadata of models
	Batch          Choice      // whether calls are answered in batches, if not as --batch says
	MaxTokensField string      // "" means the field of the protocol
	Resend         string      // which thoughts go back in a conversation: "" all of them, "never", or "inLoop"
	Limits         Limits      // concurrency and rates
	TLS            *tls.Config // nil uses the system's

	Vendor   string // "" when the suite names none
	UsualKey bool   // KeyEnv is the vendor's usual variable, whose key goes to the vendor's own hosts only

	unset        []unset
	pos          diag.Pos // position of its name
	certificates string   // a digest of the files of TLS
}

// TokenProgram is a program that prints a bearer token.
type TokenProgram struct {
	*Command
	Env []string // names of private variables to pass to it
	// Lifetime is how long a token is used; if it is 0, until it is refused.
	Lifetime time.Duration
}

// Unset returns the environment variables that the service needs and that are not set, each with the position of its first
// use.
func (s *NamedService) Unset() map[string]diag.Pos {
	out := map[string]diag.Pos{}
	for _, u := range s.unset {
		if _, known := out[u.name]; !known {
			out[u.name] = u.pos
		}
	}
	return out
}

// speaks returns the protocol of the service. For nil, the unnamed service, it is eval.Generative.
func (s *NamedService) speaks() eval.ProtocolName {
	if s == nil {
		return eval.Generative
	}
	return s.Protocol
}

// Identity returns the part of a service in the identity of a request: name and protocol, both "" for the unnamed service.
func (s *NamedService) Identity() (name string, protocol eval.ProtocolName) {
	if s == nil {
		return "", ""
	}
	return s.Name, s.Protocol
}

// NamedModel returns the specification of a model of the service; nil when there is none.
func (s *NamedService) NamedModel(id string) *eval.Model {
	if s.speaks() != eval.Generative {
		return nil
	}
	return wire.NamedModel(id)
}

// HasVersions reports whether addresses of the service contain the API version.
func (s *NamedService) HasVersions() bool {
	return s == nil || s.Protocol == eval.Generative && s.Path == ""
}

// sendsSecrets reports whether requests carry a key, a token, or a secret header.
func (s *NamedService) sendsSecrets() bool {
	return s.KeyEnv != "" || s.Login != nil || slices.ContainsFunc(s.Headers, func(h eval.Header) bool { return h.Secret })
}

// DiffersFrom returns the first key in which two definitions of a service differ; "" when they agree.
func (s *NamedService) DiffersFrom(other *NamedService) string {
	theirs := other.definition()
	for _, key := range servicesBlock().Names() {
		if mine := s.definition(); mine[key] != theirs[key] {
			return key
		}
	}
	return ""
}

func (s *NamedService) definition() map[string]string {
	login := ""
	if s.Login != nil {
		login = fmt.Sprintf("%q %q %q %s", s.Login.Path, s.Login.Words, s.Login.Env, s.Login.Lifetime)
	}
	return map[string]string{
		"protocol": string(s.Protocol), "vendor": s.Vendor, "baseUrl": s.BaseURL, "keyEnv": s.KeyEnv, "auth": login,
		"headers": fmt.Sprintf("%+v", s.Headers), "path": s.Path, "headerPrefix": s.HeaderPrefix,
		"metadata": fmt.Sprint(s.NoMetadata), "maxTokensField": s.MaxTokensField,
		"resendReasoning": s.Resend, "batch": string(s.Batch),
		"tls": s.certificates, "limits": fmt.Sprintf("%+v", s.Limits),
	}
}

// KeyVariables returns the names of environment variables with keys of the suite's services. Programs do not get them.
func (s *Suite) KeyVariables() []string {
	var out []string
	for _, one := range s.Services {
		if one.KeyEnv != "" && !slices.Contains(out, one.KeyEnv) {
			out = append(out, one.KeyEnv)
		}
	}
	return out
}

func (s *Suite) findService(name string) *NamedService {
	i := slices.IndexFunc(s.Services, func(one *NamedService) bool { return one.Name == name })
	if i < 0 {
		return nil
	}
	return s.Services[i]
}

// serviceOf finds the service that a target, a judge or the embedding model names. It is nil when none is named, and after
// a problem.
func (l *loader) serviceOf(n yaml.Node) *NamedService {
	name := n.Str()
	if n.IsZero() || !n.IsScalar() || n.IsNull() {
		return nil
	}
	if found := l.findService(name); found != nil {
		return found
	}
	var names []string
	for _, one := range l.Services {
		names = append(names, one.Name)
	}
	for _, one := range l.opts.Services {
		if one.Name == name {
			l.Services = append(l.Services, one)
			return one
		}
		names = append(names, one.Name)
	}
	if len(names) == 0 {
		n.Errorf("add `services: {"+name+": {baseUrl: https://...}}` to the suite",
			"there is no service `%s`: the suite names none", name)
		return nil
	}
	n.Errorf(diag.DidYouMean(name, names), "there is no service `%s`", name)
	return nil
}

// LoadServices reads the services of another file than a suite, such as a project file, for Options.Services. source is
// the node of its `services`, and files is its folder, opts.Dir. Problems go to diags.
func LoadServices(files fs.FS, source node, opts Options, diags *diag.List) []*NamedService {
	l := loader{Suite: &Suite{origin: origin{files: newFiles(files, ""), opts: opts}}, diags: diags}
	l.services(source.Self().WithDiags(diags))
	return l.Services
}

func (l *loader) services(n yaml.Node) {
	for e := range n.Map().Entries() {
		if !plainName().MatchString(e.Name()) {
			e.Key.Errorf("letters, digits, `.`, `_` and `-` are allowed", "`%s` is not a name", diag.CleanLine(e.Name()))
			continue
		}
		l.Services = append(l.Services, l.namedService(e))
	}
}

func (l *loader) namedService(e yaml.Entry) *NamedService {
	s := &NamedService{Name: e.Name(), Protocol: eval.Generative, pos: e.Key.Pos()}
	keys := append(servicesBlock().Names(), l.keysInSuite(e.Value)...)
	m := e.Value.Map(keys...)
	if !e.Value.IsMapping() {
		return s
	}
	v := vendorOf(s.Name, m)
	if v != nil {
		s.Vendor, s.Protocol, s.NoMetadata, s.Resend = v.Name, v.Protocol, v.NoMetadata, v.Resend
	}
	if m.Has("protocol") { // "" for an unknown protocol, so that nothing more is reported about it
		s.Protocol = yaml.WordOf(m.Get("protocol"), eval.ProtocolNames()...)
	}
	s.KeyEnv = l.keyVariable(m.Get("keyEnv"))
	s.Login = l.tokenProgram(m.Get("auth"), m.Get("keyEnv"), "a service has a key (`keyEnv`)")
	s.Headers = l.serviceHeaders(s, m.Get("headers"))
	s.HeaderPrefix = l.ofProtocol(s, m, "headerPrefix", eval.Generative)
	if p := s.HeaderPrefix; p != "" && !HeaderPrefix.MatchString(p) {
		m.Get("headerPrefix").Errorf("such as x-svc", "`%s` is not the beginning of a header name", p)
	}
	if s.Path = l.serviceText(s, m.Get("path")); s.Path != "" {
		s.checkPath(m.Get("path"))
	}
	s.MaxTokensField = l.ofProtocol(s, m, "maxTokensField", eval.OpenAI)
	m.Get("maxTokensField").Word(maxTokensFields()...)
	if l.ofProtocol(s, m, "resendReasoning", eval.OpenAI); m.Has("resendReasoning") {
		if s.Resend = wire.ResendAlways; !m.Get("resendReasoning").Bool() {
			s.Resend = wire.ResendNever
		}
	}
	if m.Has("metadata") {
		s.NoMetadata = !m.Get("metadata").Bool()
	}
	s.Batch = choice(m.Get("batch"))
	s.TLS, s.certificates = l.tls(m.Get("tls"))
	s.Limits = serviceLimits(m.Get("limits"))
	s.BaseURL = l.baseURL(s, m, v)
	if v != nil {
		l.fillFromVendor(s, v)
	}
	l.checkServiceAddress(s, cmp.Or(m.Get("baseUrl"), e.Key))
	l.checkServiceKey(s, cmp.Or(m.Get("keyEnv"), e.Key))
	if l.opts.Untrusted && s.TLS != nil && s.TLS.RootCAs != nil && s.sendsSecrets() {
		m.Key("tls").Errorf("run without --untrusted if you trust the suite",
			"an untrusted suite cannot say who vouches for the receiver of a key")
	}
	return s
}

// baseURL reads the address of a service, which a vendor may know.
func (l *loader) baseURL(s *NamedService, m yaml.Map, v *wire.Vendor) string {
	switch {
	case v == nil || m.Has("baseUrl"):
		return strings.TrimRight(l.serviceText(s, m.Need("baseUrl")), "/")
	case v.BaseURL == "":
		m.Errorf("such as "+v.Address, "the key `baseUrl` is missing: %s has another address for each customer", v.Name)
		return ""
	default:
		return v.BaseURL
	}
}

// keysInSuite reports entries that hold a key instead of the name of a variable, and returns them. Messages do not show
// their lines.
func (l *loader) keysInSuite(n yaml.Node) (found []string) {
	for e := range n.WithDiags(&diag.List{}).Map().Entries() {
		if slices.Contains(keyNames(), strings.ToLower(strings.ReplaceAll(e.Name(), "_", ""))) {
			l.private(
				e.Key, "put it into a variable of the environment, and name that: `keyEnv: EVALRUN_OPENAI_KEY`",
				fmt.Sprintf("`%s` would hold a key: a key does not belong in a suite", e.Name()),
			)
			found = append(found, e.Name())
		}
	}
	return found
}

// keyNames lists keys of other tools that hold an API key, in lower case. A suite never has one.
func keyNames() []string { return []string{"key", "apikey", "token", "secret", "password"} }

// private reports a problem whose line may hold a secret.
func (l *loader) private(n yaml.Node, hint, message string) {
	l.diags.Add(diag.Diagnostic{Severity: diag.Error, Pos: n.Pos(), Message: message, Hint: hint, Private: true})
}

// ofProtocol reads the text of a key that only one protocol has.
func (l *loader) ofProtocol(s *NamedService, m yaml.Map, key string, protocol eval.ProtocolName) string {
	if m.Has(key) && s.Protocol != protocol && s.Protocol != "" {
		m.Key(key).Errorf("remove it", "`%s` is for the protocol %s, and this service speaks %s", key, protocol, s.Protocol)
		return ""
	}
	return l.serviceText(s, m.Get(key))
}

// serviceText reads a text and inserts environment variables. It is "" when one of them is not set.
func (l *loader) serviceText(s *NamedService, n yaml.Node) string {
	if n.IsZero() || !n.IsScalar() || n.IsNull() || n.InBraces() {
		return n.Str() // which reports what it is
	}
	before := len(s.unset)
	values := l.environment(&s.unset, n, false)
	if len(s.unset) > before {
		return ""
	}
	return expand(n.Str(), values)
}

func (l *loader) keyVariable(n yaml.Node) string {
	name := n.Str()
	switch {
	case n.IsZero() || !n.IsScalar() || n.IsNull():
		return ""
	case strings.HasPrefix(name, "${env:"):
		n.Errorf("such as `keyEnv: OPENAI_API_KEY`", "`keyEnv` takes the name of a variable alone")
	// it may be the key
	case !files.IsName(name) || name != strings.ToUpper(name) && !l.opts.namesKey(name):
		l.private(
			n, "such as `keyEnv: OPENAI_API_KEY`; the key itself does not belong in a suite",
			"`keyEnv` takes the name of an environment variable in upper case, and this is another text",
		)
	case ownSecret(name):
		n.Errorf("name the variable that holds the key of the service", "%s is a secret of evalrun itself", name)
	case !keyVariableName(name) && !l.opts.namesKey(name):
		n.Errorf("add --allow-env "+name+", or rename the variable",
			"`keyEnv` names %s, which is neither EVALRUN_* nor *_API_KEY", name)
	default:
		return name
	}
	return ""
}

// keyVariableName reports whether a variable may hold a key, judging by its name.
func keyVariableName(name string) bool {
	return strings.HasPrefix(name, "EVALRUN_") || strings.HasSuffix(name, "_API_KEY")
}

// tokenProgram reads `auth`; nil without one, and after a problem. It does not go with another key, which has words for it.
func (l *loader) tokenProgram(n, other yaml.Node, has string) *TokenProgram {
	auth := n.Map(loginBlock().Names()...)
	if !n.IsMapping() {
		return nil
	}
	if !other.IsZero() {
		n.Errorf("keep one of them", "%s or a program that prints tokens (`auth`), not both", has)
	}
	p := &TokenProgram{Env: l.PassedVariables(auth.Get("env")), Lifetime: auth.Get("lifetime").Duration()}
	if command := auth.Need("command"); !command.IsZero() && !l.refusesProgram(auth.Key("command")) {
		p.Command = l.NewCommand(command, "command")
	}
	if p.Command == nil {
		return nil
	}
	return p
}

// headerHint shows where to put the secret of a header.
const headerHint = "take it from the environment, such as \"${env:EVALRUN_TOKEN}\""

func (l *loader) serviceHeaders(s *NamedService, n yaml.Node) []eval.Header {
	var out []eval.Header
	for e, name := range headersOf(n) {
		text := l.serviceText(s, e.Value)
		secret := envRef().MatchString(e.Value.Written())
		switch {
		case !e.Value.IsScalar() || e.Value.IsNull():
			continue
		case !secret && (slices.Contains(secretHeaders(), name) || looksSecret(text) == certainly):
			problem := fmt.Sprintf("the header `%s` holds a secret, which does not belong in a suite", e.Name())
			l.private(e.Value, headerHint, problem)
			continue
		case strings.ContainsFunc(text, isControl):
			e.Value.Errorf("", "%s", (&httpHeader{name: e.Name()}).broken())
			continue
		}
		if !secret && looksSecret(text) == perhaps {
			l.suspect(
				e.Value, headerHint, "the value of the header `%s` looks like a secret, which does not belong in a suite", e.Name(),
			)
		}
		out = append(out, eval.Header{Name: e.Name(), Value: text, Secret: secret})
	}
	return out
}

func serviceLimits(n yaml.Node) Limits {
	m, own := n.Map(), serviceLimitsBlock().Names()
	for e := range m.Entries() {
		switch name := e.Name(); {
		case slices.Contains(own, name):
		case slices.Contains(limitsBlock().Names(), name):
			e.Key.Errorf("write it into `limits` of the suite", "`%s` is for the whole run, not for one service", name)
		default:
			e.Key.Errorf(diag.DidYouMean(name, own), "unknown key `%s`", name)
		}
	}
	return Limits{
		Concurrency:       m.Get("concurrency").Int(1, MaxConcurrency),
		RequestsPerMinute: m.Get("requestsPerMinute").Int(1, math.MaxInt32),
		TokensPerMinute:   m.Get("tokensPerMinute").Int(1, math.MaxInt32),
	}
}

// AllServices returns the named services of a suite and of its earlier version. If both have one of the same name, that of
// the suite comes first.
func (s *Suite) AllServices() []*NamedService {
	known := map[string]bool{}
	var out []*NamedService
	for _, version := range s.Versions() {
		for _, one := range version.Services {
			if !known[one.Name] {
				known[one.Name] = true
				out = append(out, one)
			}
		}
	}
	return out
}

func (l *loader) usedServices() []string {
	used := map[string]bool{}
	for _, t := range l.Targets {
		if m := t.Model(); m != nil && m.Service != nil {
			used[m.Service.Name] = true
		}
		for _, one := range t.calls() {
			used[one.Name] = true
		}
	}
	for _, j := range l.Judges {
		if j.Model.Service != nil {
			used[j.Model.Service.Name] = true
		}
	}
	if l.Embedding.Service != nil {
		used[l.Embedding.Service.Name] = true
	}
	return slices.Sorted(maps.Keys(used))
}

func (l *loader) checkServices() {
	if l.diags.HasErrors() {
		return
	}
	used := l.usedServices()
	for _, s := range l.Services {
		if !slices.Contains(used, s.Name) {
			l.diags.Warnf(
				s.pos, "name it by `service` of a target, or remove it", "no target, no judge and no `embedding` names the service `%s`", s.Name,
			)
		}
	}
}
