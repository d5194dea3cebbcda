package promptfoo

import (
	"slices"
	"strings"

	"github.com/evalrun/evalrun/internal/clients/wire"
)

// This file reads the environment of a configuration: the keys of `env`, and templates that name its variables.

// given returns the value of a variable in `env` of a provider or of the configuration; zero if neither has it.
func (c *converter) given(provider src, name string) src {
	for _, in := range []src{provider.get("env"), c.top.get("env")} {
		if s := in.get(name); s.text() != "" {
			return s
		}
	}
	return src{}
}

// plain returns the value of a variable that the configuration has, unless it is secret or a template.
func (c *converter) plain(provider src, name string) (string, bool) {
	s := c.given(provider, name)
	text := s.text()
	if text == "" || strings.Contains(text, "{{") || isSecretName(name) || looksSecret(text) || userInAddress.matches(text) {
		return "", false
	}
	s.ok("filled in where it is named")
	return text, true
}

// named returns the variable that holds a value: the one that `env` refers to, or the name itself.
func (c *converter) named(provider src, name string) string {
	s := c.given(provider, name)
	if m := envExpression.regexp().FindStringSubmatch(s.text()); m != nil {
		s.ok("as the variable " + m[1])
		return m[1]
	}
	return name
}

// inHeader is the dialect of addresses and headers, where a suite reads the environment.
func (c *converter) inHeader(provider src) dialect {
	return dialect{functions: inRequest.functions, env: func(t *translator, name string) bool {
		value, ok := c.plain(provider, name)
		if !ok {
			value = envRef(c.named(provider, name))
		}
		t.out.WriteString(value)
		return true
	}}
}

// envInText writes a variable of the environment in a text. What the configuration does not have becomes a variable of the cases.
func (c *converter) envInText(t *translator, name string) bool {
	if value, ok := c.plain(src{}, name); ok {
		t.literal(value)
		return true
	}
	if isSecretName(name) || !identifier.matches(name) {
		return false
	}
	t.note("`env.%s` is the variable `env_%s` here: run with `--var env_%s=VALUE`", name, name, name)
	t.action(templatePiece{}, t.escaped(t.reach("env_"+name)))
	return true
}

// inTemplate is a variable of the environment, perhaps with others and a value for when none is set.
var inTemplate = pattern{
	expression: `\{\{-?\s*(env\.\w+(?:\s*(?:or|\|\|)\s*env\.\w+)*)\s*` +
		`(?:(?:or\s|\|\|\s*|\|\s*d(?:efault)?\()\s*(?:'([^'{}]+)'|"([^"{}]+)")\s*(?:,\s*true\s*)?\)?\s*)?-?\}\}`,
}

var namedInEnv = pattern{expression: `env\.(\w+)`}

// withEnv fills in the variables of the environment that the configuration has, or has a value for when they are not set.
func (c *converter) withEnv(provider src, text string) string {
	return inTemplate.regexp().ReplaceAllStringFunc(text, func(m string) string {
		parts := inTemplate.regexp().FindStringSubmatch(m)
		byDefault := parts[2] + parts[3]
		for _, name := range namedInEnv.regexp().FindAllStringSubmatch(parts[1], -1) {
			if value, ok := c.plain(provider, name[1]); ok {
				return value
			}
		}
		if byDefault == "" {
			return m
		}
		provider.differs("`%s` has its default here: %s", strings.Join(strings.Fields(parts[1]), " "), withoutSecrets(provider, byDefault))
		return byDefault
	})
}

// keyVariable returns the variable of a key that `env` sets, or else the usual one of the vendor.
func (c *converter) keyVariable(provider src, p *vendorModel) string {
	usual := p.usualKey()
	names := []string{usual}
	if p.of != nil {
		names = append(names, p.of.KeyEnv...)
	}
	for _, name := range names {
		s := c.given(provider, name)
		if name == "" || s.IsZero() {
			continue
		}
		if named := c.named(provider, name); named != name {
			return named
		}
		name = s.fates.secrets.variable(name, s.text(), s.path)
		s.differs("a key is never in a suite: set %s, and revoke a key that was committed", name)
		return name
	}
	return usual
}

// addressVariables are variables with the address of a vendor, by promptfoo's prefix. Those that end in HOST have no scheme.
var addressVariables = map[string][]string{
	"openai":    {"OPENAI_API_HOST", "OPENAI_API_BASE_URL", "OPENAI_BASE_URL"},
	"anthropic": {"ANTHROPIC_BASE_URL"},
	"azure":     {"AZURE_API_HOST", "AZURE_OPENAI_API_HOST", "AZURE_API_BASE_URL", "AZURE_OPENAI_API_BASE_URL", "AZURE_OPENAI_BASE_URL"},
	"google":    {"GOOGLE_API_HOST", "GOOGLE_API_BASE_URL"},
	"mistral":   {"MISTRAL_API_HOST", "MISTRAL_API_BASE_URL"},
	"localai":   {"LOCALAI_BASE_URL"},
	"ollama":    {"OLLAMA_BASE_URL"},
}

// addressInEnv returns the address that `env` gives to a vendor; "" if it gives none.
func (c *converter) addressInEnv(provider src, prefix string) string {
	prefix = strings.TrimSuffix(prefix, "-responses")
	for _, name := range addressVariables[prefix] {
		s := c.given(provider, name)
		if s.IsZero() {
			continue
		}
		value, ok := c.plain(provider, name)
		if !ok {
			value = envRef(c.named(provider, name))
			s.differs("from the environment: set the variable that begins with EVALRUN_")
		}
		switch {
		case strings.HasSuffix(name, "HOST"):
			value = addressAt(value)
		case prefix == "ollama":
			value = strings.TrimSuffix(value, "/") + "/v1"
		}
		return value
	}
	return ""
}

// environment says what becomes of the keys of `env` that nothing names.
func (c *converter) environment(s src) {
	for _, e := range s.entries() {
		switch {
		case e.seen():
		case strings.HasPrefix(e.key, "PROMPTFOO_"):
			e.differs("a setting of promptfoo itself")
		case slices.ContainsFunc(wire.Vendors(), func(v wire.Vendor) bool { return slices.Contains(v.KeyEnv, e.key) }):
			e.differs("set it where evalrun runs; no target here uses it")
		default:
			e.differs("set it where evalrun runs, for programs that read it")
		}
	}
	s.ok("")
}

// vertex describes the service of Vertex AI, whose address has the project and the region.
func (c *converter) vertex(t *target, p *vendorModel, config src) *mapping {
	setting := func(key, byDefault string, variables ...string) string {
		if text, ok := c.text(config.get(key), c.inHeader(t.at)); ok && text != "" {
			config.get(key).ok("in `baseUrl` of the service")
			return text
		}
		for _, name := range variables {
			if !c.given(t.at, name).IsZero() {
				if value, ok := c.plain(t.at, name); ok {
					return value
				}
				return envRef(c.named(t.at, name))
			}
		}
		return byDefault
	}
	region := setting("region", "us-central1", "VERTEX_REGION")
	host := region + "-aiplatform.googleapis.com"
	if region == "global" {
		host = "aiplatform.googleapis.com"
	}
	address := "https://" + setting("apiHost", host, "VERTEX_API_HOST") + "/" + setting("apiVersion", "v1", "VERTEX_API_VERSION")
	publisher := "/publishers/" + setting("publisher", "google", "VERTEX_PUBLISHER")
	if key := config.get("apiKey"); !key.IsZero() {
		return p.block(address+publisher, c.key(t.at, *p, config))
	}
	project := setting("projectId", "", "VERTEX_PROJECT_ID", "GOOGLE_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
	if project == "" {
		project = envRef("VERTEX_PROJECT_ID")
		t.at.differs("from the environment: set EVALRUN_VERTEX_PROJECT_ID to the id of the project")
	}
	command := texts("gcloud", "auth", "print-access-token")
	return p.block(address+"/projects/"+project+"/locations/"+region+publisher, "").
		set("auth", new(mapping).set("command", command).set("lifetime", literal("50m")))
}
