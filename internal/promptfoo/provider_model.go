package promptfoo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

func (c *converter) model(t *target, id string) {
	config := t.at.get("config")
	p := placeOf(id)
	p.model = c.modelName(t, cmp.Or(p.model, config.get("model").text(), defaultModels[p.name], "default"))
	t.chats, t.protocol = true, p.protocol
	service := c.service(t, p, config)
	t.block.set("service", textValue(service)).set("model", textValue(p.model))
	if p.why != "" {
		t.lose(p.why)
	}
	g := &generation{config: &mapping{}, extra: &mapping{}, protocol: p.protocol, vendor: p.name}
	if more, is := chatProviders[p.name]; is && p.protocol == eval.OpenAI {
		g.sent = append(strings.Fields(more), chatKeys...)
		g.unsent = map[bool][]string{true: {"max_tokens", "temperature"}, false: {"max_completion_tokens"}}[reasoning.matches(p.model)]
	}
	c.generation(t, g, config)
	if omit := config.get("omitDefaults"); omit.text() != "true" {
		g.defaults(p)
	} else {
		omit.ok("no defaults of promptfoo are sent")
	}
	if !g.config.empty() {
		t.block.set("generationConfig", g.config)
	}
	if !g.extra.empty() {
		t.block.set("extra", g.extra)
	}
	if g.safety != nil {
		t.block.set("safetySettings", g.safety)
	}
	config.rest(knownConfig...)
	config.ok("as the target " + t.name)
}

// modelName returns the model of a target. A model named by an environment variable cannot be imported.
func (c *converter) modelName(t *target, model string) string {
	model = c.withEnv(t.at, model)
	if !strings.Contains(model, "{{") {
		return model
	}
	t.lose("a suite names its models: write the model out")
	return "TODO"
}

// knownConfig are keys of a model's `config` that promptfoo knows and no reader handles.
var knownConfig = []string{
	"modalities", "audio", "region", "projectId", "cachedContent",
	"credentials", "showThinking", "omitDefaults", "stream", "background", "truncation", "previous_response_id", "include", "maxRetries",
	"cost", "audioInputCost", "audioOutputCost", "apiVersion", "guardrailIdentifier", "inferenceProfileArn", "deployment_id",
}

// withoutIt says what a model lacks without a setting that a suite has not. Its answers would be judged as others.
var withoutIt = map[string]string{
	"mcp":                   "evalrun starts no MCP servers, so that the model lacks their tools; name those in `tools`",
	"functionToolCallbacks": "calls are not answered by code of the configuration; write `toolResults`",
	"dataSources":           "the model answers without the data; write `extra: {data_sources: [...]}`",
	"previous_response_id":  "the model lacks the turns before; write them in `turns`",
}

// giveTools gives a model its tools, in either of the syntaxes. A tool that is lost leaves its answers without a score.
func (c *converter) giveTools(t *target, e keyed) {
	t.functions = e.key == "functions"
	var lost string
	made, _ := c.tools(e.src, &lost).(*sequence)
	if had, _ := t.tools.(*sequence); had != nil && made != nil {
		lost = "both `tools` and `functions`"
	}
	if made != nil {
		t.tools = made
	}
	if t.functions && lost == "" {
		e.differs("as `tools` of the prompts: an answer has a call of a tool")
	}
	if lost != "" {
		t.lostTools = lost
		e.todo("%s", lost)
		c.unjudged(t, "`"+e.key+"`: "+lost)
	}
}

func (c *converter) service(t *target, p vendorModel, config src) string {
	if p.name == "vertex" && p.why == "" {
		return c.services.add(p.name, c.vertex(t, &p, config))
	}
	base := "https://" + p.name + ".gateway.invalid/v1"
	if p.of != nil {
		base = cmp.Or(p.baseURL, p.of.BaseURL)
	}
	if u := cmp.Or(c.address(t.at, config), c.addressInEnv(t.at, p.name)); u != "" {
		base = u
		if p.protocol == eval.Generative { // whose version promptfoo adds itself
			base += "/v1beta"
		}
	}
	if base == "" {
		base = addressAt(envRef("AZURE_API_HOST"))
		t.at.differs("from the environment: set EVALRUN_AZURE_API_HOST to the host of the Azure resource, such as NAME.openai.azure.com")
	}
	block := p.block(base, c.key(t.at, p, config))
	if p.olderServer(base) {
		block.set("maxTokensField", textValue("max_tokens"))
	}
	if h := c.serviceHeaders(config); !h.empty() {
		block.set("headers", h)
	}
	if p.note != "" && !t.at.seen() {
		t.at.differs("%s", p.note)
	}
	return c.services.add(p.name, block)
}

// addressAt returns the base URL of a service on a host.
func addressAt(host string) string {
	address := "https://" + strings.TrimSuffix(strings.TrimPrefix(host, "https://"), "/")
	if strings.Contains(address, ".azure.com") || strings.Contains(address, "EVALRUN_AZURE") {
		address += "/openai"
	}
	return address + "/v1"
}

// address returns the base URL in a configuration.
func (c *converter) address(provider, config src) string {
	for _, key := range []string{"apiBaseUrl", "apiHost"} {
		s := config.get(key)
		if s.IsZero() {
			continue
		}
		text, ok := c.template(s, c.withEnv(s, s.text()), c.inHeader(provider))
		if !ok {
			continue
		}
		if key == "apiHost" {
			text = addressAt(text)
		}
		if strings.Contains(text, "${env:") {
			s.differs("from the environment: set the variable that begins with EVALRUN_")
			return text
		}
		s.ok("as `baseUrl` of the service")
		return baseAddress(s, text)
	}
	return ""
}

// baseAddress removes user, password and query from a base URL.
func baseAddress(s src, address string) string {
	base, query, more := strings.Cut(withoutSecrets(s, address), "?")
	if more && query != "" {
		s.differs("the query of the address is left out; write `path: chat/completions?...` at the service, without a key")
	}
	return base
}

// envRef refers to an environment variable. Suites may only name variables that begin with EVALRUN_.
func envRef(name string) string {
	return "${env:" + variableName(name) + "}"
}

func variableName(name string) string {
	return "EVALRUN_" + strings.TrimPrefix(strings.ToUpper(notEnv.Replace(name)), "EVALRUN_")
}

var notEnv = strings.NewReplacer("-", "_", ".", "_", " ", "_")

// key returns the environment variable with the key. It never copies a key from the configuration.
func (c *converter) key(provider src, p vendorModel, config src) string {
	name := c.keyVariable(provider, &p)
	if s := config.get("apiKeyEnvar"); !s.IsZero() {
		if name = s.text(); looksSecret(name) {
			name = s.fates.secrets.variable("EVALRUN_"+strings.ToUpper(notEnv.Replace(p.name))+"_API_KEY", name, s.path)
		}
		s.ok("as `keyEnv` of the service")
	}
	if s := config.get("apiKey"); !s.IsZero() {
		name = cmp.Or(name, strings.ToUpper(notEnv.Replace(p.name))+"_API_KEY")
		if m := envExpression.regexp().FindStringSubmatch(s.text()); m != nil {
			name = m[1]
			s.ok("as `keyEnv` of the service")
		} else {
			name = s.fates.secrets.variable(name, s.text(), s.path)
			s.differs("a key is never in a suite: set %s, and revoke a key that was committed", name)
		}
	}
	if name != "" && !strings.HasSuffix(name, "_API_KEY") && !strings.HasPrefix(name, "EVALRUN_") {
		c.head.note(fmt.Sprintf("the key of the service %s is in %s: run with --allow-env %s", p.name, name, name))
	}
	return name
}

func (c *converter) serviceHeaders(config src) *mapping {
	out := &mapping{}
	if s := config.get("organization"); !s.IsZero() {
		out.set("OpenAI-Organization", textValue(s.text()))
		s.ok("as a header of the service")
	}
	for _, key := range []string{"headers", "extra_headers"} {
		for _, e := range config.get(key).entries() {
			if value, ok := c.header(e.src, e.key); ok {
				out.set(e.key, textValue(value))
			}
		}
		config.get(key).ok("as headers of the service")
	}
	return out
}

// generation has what a target sends besides the prompt.
type generation struct {
	config   *mapping
	extra    *mapping
	safety   yamlValue
	protocol eval.ProtocolName
	vendor   string
	sent     []string // the only keys that promptfoo sends to this provider; nil if they are not known
	unsent   []string // keys that promptfoo does not send to this model
}

func (g *generation) sends(key, as string) bool {
	return !slices.Contains(unsent[g.protocol], as) && !slices.Contains(g.unsent, key) && (g.sent == nil || slices.Contains(g.sent, key))
}

// chatKeys are the settings that promptfoo sends in chat completions.
var chatKeys = strings.Fields("temperature max_tokens max_completion_tokens top_p seed presence_penalty frequency_penalty stop " +
	"reasoning_effort reasoning service_tier user store metadata verbosity prompt_cache_key prompt_cache_retention")

// chatProviders send the settings of chatKeys, and these.
var chatProviders = map[string]string{
	"openai": "", "deepseek": "", "github": "", "aimlapi": "", "litellm": "", "xai": "search_parameters",
	"openrouter": "transforms models route provider", "groq": "reasoning_format include_reasoning",
}

// renamed maps keys of `config` to `generationConfig`.
var renamed = map[string]string{
	"temperature": "temperature", "max_tokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens",
	"max_output_tokens": "maxOutputTokens", "maxOutputTokens": "maxOutputTokens", "maxTokens": "maxOutputTokens",
	"num_predict": "maxOutputTokens", "max_new_tokens": "maxOutputTokens",
	"top_p": "topP", "topP": "topP", "seed": "seed", "presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty",
	"candidateCount": "candidateCount", "random_seed": "seed",
	"top_k": "topK", "topK": "topK", "stop": "stopSequences", "stopSequences": "stopSequences", "stop_sequences": "stopSequences",
}

// toExtra lists keys that go unchanged to the top level of a request.
var toExtra = []string{
	"reasoning_effort", "reasoning", "verbosity", "service_tier", "user", "store", "metadata", "prompt_cache_key", "prompt_cache_retention",
	"parallel_tool_calls", "logit_bias", "transforms", "models", "route", "provider", "safe_prompt", "search_parameters",
	"web_search_options", "plugins", "text", "min_p", "repetition_penalty", "top_a", "keep_alive", "think", "num_ctx", "repeat_penalty",
}

func (c *converter) generation(t *target, g *generation, config src) {
	for _, e := range config.entries() {
		switch as := renamed[e.key]; {
		case (as != "" || slices.Contains(toExtra, e.key)) && !g.sends(e.key, as):
			e.ignored("promptfoo does not send it to this model")
		case as == "topK" && g.protocol == eval.OpenAI:
			g.pass(e)
		case as != "":
			g.put(e, as)
		case slices.Contains(toExtra, e.key):
			g.pass(e)
		default:
			c.special(t, g, e)
		}
	}
}

// unsent lists keys of `generationConfig` that a protocol lacks.
var unsent = map[eval.ProtocolName][]string{
	eval.Anthropic: {"seed", "presencePenalty", "frequencyPenalty", "candidateCount"},
	eval.Responses: {"seed", "presencePenalty", "frequencyPenalty", "candidateCount", "topK", "stopSequences"},
}

func (g *generation) put(e keyed, as string) {
	value := plainValue(e.src)
	if as == "stopSequences" && e.IsScalar() {
		value = texts(e.text())
	}
	if g.config.get(as) == nil {
		g.config.set(as, value)
	}
	e.ok("as `generationConfig." + as + "`")
}

// unread lists keys that Ollama reads in its native protocol only.
var unread = []string{"num_ctx", "top_k", "topK", "think", "keep_alive", "min_p", "repeat_penalty"}

const unreadByOllama = "not sent: Ollama reads it in its native protocol only; put it into a Modelfile, above all `num_ctx`, " +
	"without which the context has another length"

func (g *generation) pass(e keyed) {
	switch {
	case g.vendor == "ollama" && slices.Contains(unread, e.key):
		e.differs("%s", unreadByOllama)
		return
	case g.protocol == eval.OpenAI && e.key == "reasoning":
		e.ignored("promptfoo does not send it to chat completions")
		return
	}
	if e.key == "reasoning_effort" && g.protocol == eval.Responses {
		g.extra.set("reasoning", one("effort", plainValue(e.src)))
		e.ok("as `extra.reasoning.effort`")
		return
	}
	g.extra.set(e.key, plainValue(e.src))
	e.ok("as `extra." + e.key + "`")
}

// special reads keys that need more than another name.
func (c *converter) special(t *target, g *generation, e keyed) {
	switch e.key {
	case "response_format":
		c.responseFormat(t, g, e.src)
	case "tools", "functions":
		c.giveTools(t, e)
	case "tool_choice", "toolChoice", "function_call":
		t.choice = toolChoice(e.src)
	case "cachedContent":
		if g.protocol == eval.Generative {
			g.extra.set(e.key, plainValue(e.src))
			e.ok("as `extra.cachedContent`")
		}
	case "mcp", "functionToolCallbacks", "dataSources", "previous_response_id":
		c.notGiven(t, e)
	case "passthrough", "extra_body":
		c.passthrough(g, e)
	case "generationConfig":
		c.generation(t, g, e.src)
		e.rest(knownConfig...)
		e.ok("as `generationConfig`")
	case "thinking", "thinkingConfig":
		g.thinking(e.src)
	case "safetySettings":
		g.safety = c.safety(e.src)
	case "instructions", "systemInstruction", "systemPrompt", "system", "system_prompt":
		c.systemOf(t, g, e)
	case "responseSchema", "response_schema":
		g.config.set("responseSchema", plainValue(e.src))
		e.ok("as `generationConfig`")
	case "responseMimeType", "response_mime_type":
		g.config.set("responseMimeType", plainValue(e.src))
		e.ok("as `generationConfig`")
	case "inputCost", "outputCost", "cost":
		c.price(t, e)
	}
}

// notGiven leaves the trials of a target without a verdict: its answers need what evalrun does not give it.
func (c *converter) notGiven(t *target, e keyed) {
	if e.IsNull() || e.text() == "false" || e.key == "mcp" && e.get("enabled").text() == "false" {
		e.ok("off")
		return
	}
	t.lostTools = withoutIt[e.key]
	e.todo("%s", t.lostTools)
	c.unjudged(t, "`"+e.key+"`: "+t.lostTools)
}

// systemOf reads a system text of a provider: a text, the name of a file, or an object with parts.
func (c *converter) systemOf(t *target, g *generation, e keyed) {
	if g.protocol == eval.OpenAI || g.protocol == eval.Responses && e.key != "instructions" {
		e.ignored("promptfoo does not send it to this vendor")
		return
	}
	parts := e.items()
	if e.IsMapping() {
		parts = e.get("parts").items()
	}
	var texts []string
	for _, part := range parts {
		if part.IsMapping() {
			part = part.get("text")
		}
		text, why := c.expected(part)
		if why != "" {
			e.todo("%s", why)
			c.unjudged(t, "`"+e.key+"`: "+why)
			return
		}
		texts = append(texts, text)
	}
	t.system = strings.Join(texts, "\n")
	e.ok("as `system` of the prompts")
}

func (c *converter) passthrough(g *generation, all keyed) {
	for _, e := range all.entries() {
		c.passed(g, e)
	}
	all.ok("as `extra`")
}

func (c *converter) passed(g *generation, e keyed) {
	if e.key == "format" && e.IsMapping() { // a schema, in Ollama's syntax
		g.config.set("responseMimeType", textValue("application/json")).set("responseSchema", plainValue(e.src))
		e.ok("as `generationConfig.responseSchema`")
		return
	}
	if as := renamed[e.key]; as != "" {
		g.put(e, as)
		return
	}
	g.pass(e)
}

func (c *converter) responseFormat(t *target, g *generation, s src) {
	file := s
	if strings.HasPrefix(s.text(), "file://") {
		var ok bool
		if file, ok = c.load(s, s.text()); !ok {
			return
		}
		s.ok("read from the file")
		defer c.fates.account(file)
	}
	switch file.get("type").text() {
	case "json_object":
		g.config.set("responseMimeType", textValue("application/json"))
		file.ok("as `generationConfig.responseMimeType`")
	case "json_schema":
		t.json = "true"
		schema := file.get("json_schema").get("schema")
		if schema.IsZero() {
			schema = file.get("schema")
		}
		g.config.set("responseMimeType", textValue("application/json")).set("responseSchema", plainValue(schema))
		file.differs("as `generationConfig.responseSchema`; its name and `strict` are those of evalrun")
	case "text":
		file.ok("the default")
	default:
		file.todo("no such response format")
	}
}

// thinking reads the thinking settings: the budget has its own key, and the rest goes to the vendor
// unchanged.
func (g *generation) thinking(s src) {
	budget := s.get("budget_tokens")
	switch {
	case g.protocol == eval.Generative:
		g.config.set("thinkingConfig", plainValue(s))
		s.ok("as `generationConfig.thinkingConfig`")
	case g.protocol == eval.Anthropic && !budget.IsZero() && len(s.entries()) <= 2:
		g.config.set("thinkingConfig", one("thinkingBudget", plainValue(budget)))
		s.ok("as `generationConfig.thinkingConfig`")
	default:
		g.extra.set("thinking", plainValue(s))
		s.ok("as `extra.thinking`")
	}
}

func (c *converter) safety(s src) yamlValue {
	out := &sequence{}
	for _, item := range s.items() {
		threshold := item.get("threshold").text()
		if threshold == "" {
			threshold = item.get("probability").text()
		}
		out.add(new(mapping).set("category", textValue(item.get("category").text())).set("threshold", textValue(threshold)))
	}
	s.ok("as `safetySettings`")
	return out
}

// defaults adds the settings that promptfoo sends by default.
func (g *generation) defaults(p vendorModel) {
	if !p.defaults || p.protocol != eval.Anthropic && reasoning.matches(p.model) {
		return
	}
	var why []string
	if g.config.get("temperature") == nil && g.config.get("topP") == nil && g.config.get("thinkingConfig") == nil &&
		!noSampling.matches(p.model) {
		why = []string{"promptfoo sends what follows where the configuration says nothing"}
		g.config.set("temperature", integer(0), why...)
	}
	if g.config.get("maxOutputTokens") == nil && p.protocol != eval.Responses {
		if why == nil {
			g.config.note("promptfoo sends what follows where the configuration says nothing")
		}
		g.config.set("maxOutputTokens", integer(1024))
	}
}
