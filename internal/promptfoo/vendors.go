package promptfoo

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// provider is what the importer knows of a provider's prefix, next to what evalrun knows of the vendor.
type provider struct {
	vendor   string // "" when the prefix is the vendor's name
	kinds    string // words between prefix and model that mean an ordinary model
	defaults bool   // promptfoo sends temperature 0 and at most 1024 tokens by default
	keyEnv   string // promptfoo's variable of the key, where it is not the vendor's first one
	note     string
	baseURL  string // for vendors that evalrun does not know by name
}

const (
	compatible   = "openai-compatible"
	notAProvider = "promptfoo has no such provider: it is taken for the server of that name at its usual address"
)

// providers has the prefixes of providers that are vendors' models.
var providers = map[string]provider{
	"openai": {kinds: "chat", defaults: true}, "anthropic": {kinds: "messages", defaults: true},
	"google": {}, "palm": {vendor: "google"}, "ollama": {kinds: "chat completion"}, "openrouter": {defaults: true}, "mistral": {},
	"groq": {defaults: true}, "deepseek": {defaults: true}, "togetherai": {vendor: "together", kinds: "chat", defaults: true},
	"fireworks": {defaults: true}, "perplexity": {defaults: true}, "xai": {defaults: true}, "cerebras": {defaults: true},
	"nvidia": {defaults: true}, "moonshot": {defaults: true}, "hyperbolic": {defaults: true}, "cohere": {},
	"aimlapi": {kinds: "chat", defaults: true}, "litellm": {kinds: "chat", defaults: true}, "localai": {kinds: "chat"},
	"docker": {kinds: "chat"}, "vercel": {},
	"azure":       {kinds: "chat", defaults: true, keyEnv: "AZURE_API_KEY"},
	"azureopenai": {vendor: "azure", kinds: "chat", defaults: true, keyEnv: "AZURE_API_KEY"},
	"vertex":      {kinds: "chat"},
	"vllm":        {kinds: "chat", defaults: true, note: notAProvider},
	"lmstudio":    {kinds: "chat", defaults: true, note: notAProvider},
	"llamafile":   {vendor: "llamacpp", kinds: "chat", defaults: true, note: notAProvider},
	"github":      {defaults: true, note: "set GITHUB_MODELS_API_KEY to what GITHUB_TOKEN holds"},
	"huggingface": {kinds: "chat text-generation", note: "set HUGGINGFACE_API_KEY to what HF_TOKEN holds"},
}

// addresses has the prefixes of providers with one address that speaks the protocol of OpenAI, each with the variable of its key.
var addresses = map[string][2]string{
	"abliteration": {"https://api.abliteration.ai/v1", "ABLIT_KEY"},
	"ai21":         {"https://api.ai21.com/studio/v1", "AI21_API_KEY"},
	"alibaba":      {dashScope, "DASHSCOPE_API_KEY"},
	"alicloud":     {dashScope, "DASHSCOPE_API_KEY"},
	"aliyun":       {dashScope, "DASHSCOPE_API_KEY"},
	"atlascloud":   {"https://api.atlascloud.ai/v1", "ATLASCLOUD_API_KEY"},
	"cometapi":     {"https://api.cometapi.com/v1", "COMETAPI_KEY"},
	"dashscope":    {dashScope, "DASHSCOPE_API_KEY"},
	"llamaapi":     {"https://api.llama.com/compat/v1", "LLAMA_API_KEY"},
	"minimax":      {"https://api.minimax.io/v1", "MINIMAX_API_KEY"},
	"novita":       {"https://api.novita.ai/openai/v1", "NOVITA_API_KEY"},
	"nscale":       {"https://inference.api.nscale.com/v1", "NSCALE_SERVICE_TOKEN"},
	"orcarouter":   {"https://api.orcarouter.ai/v1", "ORCAROUTER_API_KEY"},
	"truefoundry":  {"https://llm-gateway.truefoundry.com", "TRUEFOUNDRY_API_KEY"},
}

const dashScope = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"

func knownProvider(prefix string) (provider, bool) {
	if at, ok := addresses[prefix]; ok {
		return provider{vendor: compatible, kinds: "chat", defaults: true, baseURL: at[0], keyEnv: at[1]}, true
	}
	known, ok := providers[prefix]
	return known, ok
}

// notModels are words after a vendor's prefix that mean something other than a chat model.
var notModels = []string{
	"completion", "embedding", "embeddings", "image", "realtime", "assistant", "moderation", "transcription", "speech", "tts", "video",
	"agents", "chatkit", "codex-sdk", "codex-app-server", "claude-agent-sdk", "claude-code", "foundry-agent", "text-classification",
	"token-classification", "feature-extraction", "sentence-similarity", "live", "rerank", "fim",
}

// agents matches providers that are programs with a model inside.
var agents = pattern{expression: `^(anthropic:claude-(agent-sdk|code)|openai:(codex-sdk|codex-app-server|agents|chatkit|assistant)|` +
	`opencode|openinterpreter|openclaw|a2a|mcp|n8n|slack|bedrock-agent|` +
	`promptfoo:(simulated-user|manual-input|browser)|browser|ws:|wss:|websocket|sequence|` +
	`package:|ruby:|golang:)`}

type vendorModel struct {
	provider
	of       *wire.Vendor // nil for providers that evalrun does not know
	protocol eval.ProtocolName
	name     string // of the service
	model    string
	why      string // why there is no such service, "" if there is
}

// placeOf parses an id such as openai:chat:gpt-4o.
func placeOf(id string) vendorModel {
	prefix, rest, _ := strings.Cut(id, ":")
	if prefix == "hf" {
		prefix = "huggingface"
	}
	known, ok := knownProvider(prefix)
	kind, model, two := strings.Cut(rest, ":")
	if !ok {
		return vendorModel{
			protocol: eval.OpenAI, name: strings.ToLower(plainName(prefix, "service")), model: rest,
			why: "evalrun does not speak the protocol of `" + prefix + "`; put a gateway in front that speaks the one of OpenAI, " +
				"and name it in `baseUrl`",
		}
	}
	p := vendorModel{provider: known, of: wire.VendorNamed(cmp.Or(known.vendor, prefix)), name: prefix, model: rest}
	p.protocol = p.of.Protocol
	switch {
	case kind == "responses" && (prefix == "openai" || prefix == "azure" || prefix == "xai" || prefix == "groq"):
		p.protocol, p.name, p.model = eval.Responses, prefix+"-responses", model
	case two && slices.Contains(strings.Fields(known.kinds), kind):
		p.model = model
	case slices.Contains(notModels, kind):
		p.model, p.why = model, "`"+id+"` is not a chat with a model"
	}
	if prefix == "vertex" && !strings.Contains(p.model, "gemini") && p.why == "" {
		p.why = "evalrun speaks to Gemini models of Vertex AI only; put a gateway in front, and name it in `baseUrl`"
	}
	return p
}

// usualKey is the variable of the key where a configuration names none, "" for no key.
func (p *vendorModel) usualKey() string {
	if p.keyEnv != "" || p.of == nil || len(p.of.KeyEnv) == 0 {
		return p.keyEnv
	}
	return p.of.KeyEnv[0]
}

// block is the service at an address, with its key unless that is the one that the vendor's own hosts get anyway.
func (p *vendorModel) block(address, key string) *mapping {
	out := &mapping{}
	v := p.of
	if v == nil {
		v = &wire.Vendor{}
	} else {
		out.set("vendor", textValue(v.Name))
	}
	if p.protocol != v.Protocol {
		out.set("protocol", textValue(p.protocol))
	}
	if address != v.BaseURL {
		out.set("baseUrl", textValue(address))
	}
	if key != "" && (!v.Owns(address) || slices.Index(v.KeyEnv, key) != 0) {
		out.set("keyEnv", textValue(key))
	}
	return out
}

// olderServer reports whether a server may know max_tokens only, which promptfoo sends to every model that does not reason.
func (p *vendorModel) olderServer(address string) bool {
	return p.protocol == eval.OpenAI && p.of != nil && p.of.Name != "azure" && p.of.MaxTokensField == "" && !p.of.Owns(address) &&
		!reasoning.matches(p.model)
}

// reasoning matches models to which promptfoo sends neither temperature nor a limit by default.
var reasoning = pattern{expression: `(^|/)(gpt-5|o1|o3|o4)`}

// noSampling matches models that refuse sampling parameters.
var noSampling = pattern{expression: `claude-(opus-(4-[7-9]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)`}

// defaultModels are promptfoo's models for an id without one.
var defaultModels = map[string]string{
	"openai": "gpt-4.1-2025-04-14", "anthropic": "claude-sonnet-4-5-20250929", "google": "gemini-2.5-flash",
	"mistral": "mistral-large-latest", "openrouter": "openrouter/auto",
}

const pricesFile = "prices.yaml"

// listed has list prices in USD per million tokens of prompt and answer. They are for `cost` assertions of
// configurations without prices.
var listed = []struct {
	model      string // a pattern
	input, out string
}{
	{`gpt-4o-mini`, "0.15", "0.6"},
	{`gpt-4o`, "2.5", "10"},
	{`gpt-4\.1-nano`, "0.1", "0.4"},
	{`gpt-4\.1-mini`, "0.4", "1.6"},
	{`gpt-4\.1`, "2", "8"},
	{`gpt-5-nano`, "0.05", "0.4"},
	{`gpt-5-mini`, "0.25", "2"},
	{`gpt-5$`, "1.25", "10"},
	{`gpt-3\.5-turbo`, "0.5", "1.5"},
	{`o4-mini`, "1.1", "4.4"},
	{`claude-(sonnet-4|3-[57]-sonnet)`, "3", "15"},
	{`claude-haiku-4`, "1", "5"},
	{`claude-3-5-haiku`, "0.8", "4"},
	{`claude-3-haiku`, "0.25", "1.25"},
	{`gemini-2\.5-flash`, "0.3", "2.5"},
	{`gemini-2\.5-pro`, "1.25", "10"},
}

// price records a price per token in the configuration.
func (c *converter) price(t *target, e keyed) {
	n, ok := number(e.src)
	if !ok {
		e.todo("a price is a number")
		return
	}
	if c.own == nil {
		c.own, c.priced = map[string][2]string{}, map[string]*target{}
	}
	million := perMillion(n)
	model := t.block.text("model")
	if first := c.priced[model]; first != nil && first != t {
		e.todo("the target %s has prices for the same model, and a price list has one for each model", first.name)
		return
	}
	c.priced[model] = t
	p := c.own[model]
	switch e.key {
	case "inputCost":
		p[0] = million
	case "outputCost":
		p[1] = million
	default:
		p = [2]string{cmp.Or(p[0], million), cmp.Or(p[1], million)}
	}
	c.own[model] = p
	e.ok("in " + pricesFile + ", for a million tokens")
}

// perMillion returns the price per million tokens, without rounding errors of the multiplication.
func perMillion(price float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(price*1e6, 'g', 12, 64), 64)
	if err != nil {
		rounded = price * 1e6
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// priceOf returns the price of a model from the configuration, or else from the list.
func (c *converter) priceOf(model string) (input, out string, ok bool) {
	p := c.own[model]
	for _, l := range listed {
		if regexp.MustCompile(l.model).MatchString(model) {
			// if the configuration has one of the prices, promptfoo takes the other from its list
			p = [2]string{cmp.Or(p[0], l.input), cmp.Or(p[1], l.out)}
			break
		}
	}
	return p[0], p[1], p[0] != "" && p[1] != ""
}

// priceAll makes the price list, and returns a model whose price is not known; "" if all are.
func (c *converter) priceAll() (unknown string) {
	models := &mapping{}
	for _, t := range c.targets {
		model := t.block.text("model")
		input, out, known := c.priceOf(model)
		if !known {
			return cmp.Or(model, t.name)
		}
		if models.get(model) == nil {
			models.set(model, new(mapping).set("input", literal(input)).set("output", literal(out)))
		}
	}
	c.prices = new(mapping).set("currency", textValue("USD")).set("models", models, "for a million tokens")
	return ""
}

// cost converts a `cost` assertion, which needs a price for every target.
func (c *converter) cost(a assertion) (*scorer, string) {
	most, ok := number(a.get("threshold"))
	if !ok || most < 0 {
		return nil, "it needs a threshold"
	}
	if !slices.ContainsFunc(c.targets, func(t *target) bool { return !t.reports["cost"] }) && len(c.targets) > 0 {
		return c.reported(a, "cost"), ""
	}
	if c.unpriced == nil {
		c.unpriced = new(c.priceAll())
	}
	if *c.unpriced != "" {
		return nil, "the price of " + *c.unpriced + " is not known; name a price list in `prices` and add `cost: {max: " +
			a.get("threshold").text() + "}`"
	}
	return &scorer{
		kind: "cost", value: one("max", literal(strings.TrimSpace(a.get("threshold").text()))), not: a.not, plain: true,
		note: "by " + pricesFile + ", which you should check",
	}, ""
}

func (c *converter) priceList() []byte {
	var w writer
	slices.SortFunc(c.prices.get("models").(*mapping).entries, func(a, b keyValue) int { return cmp.Compare(a.key, b.key) })
	w.mapping(c.prices, 0)
	return []byte(w.String() + "\n")
}

// tools reads the tools of a model, in the syntax of any vendor. lost gets why one has no counterpart.
func (c *converter) tools(s src, lost *string) yamlValue {
	in := s
	if strings.HasPrefix(s.text(), "file://") {
		file, ok := c.load(s, s.text())
		if !ok {
			*lost = s.note()
			return nil
		}
		s.ok("read from the file")
		defer c.fates.account(file)
		in = file
	}
	out := &sequence{}
	for _, item := range in.items() {
		if item.IsScalar() && strings.HasPrefix(item.text(), "file://") {
			if more, ok := c.tools(item, lost).(*sequence); ok {
				out.items = append(out.items, more.items...)
			}
			continue
		}
		switch {
		case item.get("function").IsMapping():
			out.add(tool(item.get("function")))
			item.get("type").ok("")
		case item.get("functionDeclarations").IsSequence():
			for _, f := range item.get("functionDeclarations").items() {
				out.add(tool(f))
			}
		case !item.get("name").IsZero() && item.get("type").text() != "mcp" &&
			!strings.Contains(item.get("type").text(), "_20"):
			out.add(tool(item))
			item.get("type").ok("")
		default:
			*lost = "a tool of the vendor's own, which `tools` of a prompt does not have; try `extra`"
			item.todo("%s", *lost)
		}
		item.ok("as `tools` of the prompts")
	}
	in.ok("as `tools` of the prompts")
	if out.empty() {
		return nil
	}
	return out
}

func tool(s src) yamlValue {
	out := new(mapping).set("name", textValue(s.get("name").text()))
	if d := s.get("description"); !d.IsZero() {
		out.set("description", textValue(d.text()))
	}
	for _, key := range []string{"parameters", "input_schema", "inputSchema"} {
		if p := s.get(key); p.IsMapping() {
			out.set("parameters", plainValue(p))
			p.ok("as `parameters`")
		}
	}
	s.get("name").ok("as `tools` of the prompts")
	s.get("description").ok("as `tools` of the prompts")
	s.get("strict").differs("evalrun decides whether arguments are strict")
	s.rest("cache_control", "strict")
	return out
}

func toolChoice(s src) yamlValue {
	word, name := s.text(), s.get("function").get("name").text()
	if name == "" {
		name = s.get("name").text()
	}
	if name == "" {
		name = s.get("toolName").text()
	}
	s.ok("as `toolChoice` of the prompts")
	if word == "" {
		word = s.get("type").text()
	}
	switch {
	case name != "":
		return one("name", textValue(name))
	case word == "any" || word == "required":
		return textValue("required")
	case word == "none":
		return textValue("none")
	}
	return textValue("auto")
}
