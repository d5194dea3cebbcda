package promptfoo

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// vendor says where the models of a provider's prefix are.
type vendor struct {
	protocol eval.ProtocolName
	baseURL  string
	keyEnv   string
	kinds    string // words between prefix and model that mean an ordinary model
	defaults bool   // promptfoo sends temperature 0 and at most 1024 tokens by default
	note     string
}

// vendors has the vendors by provider prefix.
var vendors = map[string]vendor{
	"openai":      {eval.OpenAI, "https://api.openai.com/v1", "OPENAI_API_KEY", "chat", true, ""},
	"anthropic":   {eval.Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY", "messages", true, ""},
	"google":      {eval.Generative, "https://generativelanguage.googleapis.com", "", "", false, ""},
	"palm":        {eval.Generative, "https://generativelanguage.googleapis.com", "", "", false, ""},
	"ollama":      {eval.OpenAI, "http://127.0.0.1:11434/v1", "", "chat completion", false, ""},
	"openrouter":  {eval.OpenAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "", true, ""},
	"mistral":     {eval.OpenAI, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "", false, ""},
	"groq":        {eval.OpenAI, "https://api.groq.com/openai/v1", "GROQ_API_KEY", "", true, ""},
	"deepseek":    {eval.OpenAI, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "", true, ""},
	"togetherai":  {eval.OpenAI, "https://api.together.xyz/v1", "TOGETHER_API_KEY", "chat", true, ""},
	"fireworks":   {eval.OpenAI, "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "", true, ""},
	"perplexity":  {eval.OpenAI, "https://api.perplexity.ai", "PERPLEXITY_API_KEY", "", true, ""},
	"xai":         {eval.OpenAI, "https://api.x.ai/v1", "XAI_API_KEY", "", true, ""},
	"cerebras":    {eval.OpenAI, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "", true, ""},
	"nvidia":      {eval.OpenAI, "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY", "", true, ""},
	"moonshot":    {eval.OpenAI, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "", true, ""},
	"hyperbolic":  {eval.OpenAI, "https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY", "", true, ""},
	"aimlapi":     {eval.OpenAI, "https://api.aimlapi.com/v1", "AIML_API_KEY", "chat", true, ""},
	"cohere":      {eval.OpenAI, "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", "", false, ""},
	"litellm":     {eval.OpenAI, "http://127.0.0.1:4000", "LITELLM_API_KEY", "chat", true, ""},
	"localai":     {eval.OpenAI, "http://127.0.0.1:8080/v1", "", "chat", false, ""},
	"docker":      {eval.OpenAI, "http://127.0.0.1:12434/engines/llama.cpp/v1", "", "chat", false, ""},
	"vercel":      {eval.OpenAI, "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY", "", false, ""},
	"azure":       {eval.OpenAI, "", "AZURE_API_KEY", "chat", true, ""},
	"azureopenai": {eval.OpenAI, "", "AZURE_API_KEY", "chat", true, ""},
	"github": {
		eval.OpenAI, "https://models.github.ai/inference", "GITHUB_MODELS_API_KEY", "", true,
		"set GITHUB_MODELS_API_KEY to what GITHUB_TOKEN holds",
	},
	"huggingface": {
		eval.OpenAI, "https://router.huggingface.co/v1", "HUGGINGFACE_API_KEY", "chat text-generation", false,
		"set HUGGINGFACE_API_KEY to what HF_TOKEN holds",
	},
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
	vendor
	name  string // of the service
	model string
	why   string // why there is no such service, "" if there is
}

// placeOf parses an id such as openai:chat:gpt-4o.
func placeOf(id string) vendorModel {
	prefix, rest, _ := strings.Cut(id, ":")
	if prefix == "hf" {
		prefix = "huggingface"
	}
	v, known := vendors[prefix]
	kind, model, two := strings.Cut(rest, ":")
	switch {
	case !known:
		return vendorModel{
			vendor: vendor{protocol: eval.OpenAI, baseURL: "https://" + serviceName(prefix) + ".gateway.invalid/v1"},
			name:   serviceName(prefix),
			model:  rest,
			why: "evalrun does not speak the protocol of `" + prefix + "`; put a gateway in front that speaks the one of OpenAI, " +
				"and name it in `baseUrl`",
		}
	case kind == "responses" && (prefix == "openai" || prefix == "azure" || prefix == "xai" || prefix == "groq"):
		v.protocol = eval.Responses
		return vendorModel{vendor: v, name: prefix + "-responses", model: model}
	case two && slices.Contains(strings.Fields(v.kinds), kind):
		return vendorModel{vendor: v, name: prefix, model: model}
	case slices.Contains(notModels, kind):
		return vendorModel{vendor: v, name: prefix, model: model, why: "`" + id + "` is not a chat with a model"}
	}
	return vendorModel{vendor: v, name: prefix, model: rest}
}

func serviceName(prefix string) string {
	return strings.ToLower(plainName(prefix, "service", free))
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
		if regexp.MustCompile(l.model).MatchString(model) { // if the configuration has one of the prices, promptfoo takes the other from its list
			p = [2]string{cmp.Or(p[0], l.input), cmp.Or(p[1], l.out)}
			break
		}
	}
	return p[0], p[1], p[0] != "" && p[1] != ""
}

// cost converts a `cost` assertion, which needs a price for every target.
func (c *converter) cost(a assertion) (*scorer, string) {
	most, ok := number(a.get("threshold"))
	if !ok || most < 0 {
		return nil, "it needs a threshold"
	}
	models := &mapping{}
	for _, t := range c.targets {
		model := t.block.text("model")
		input, out, known := c.priceOf(model)
		if !known {
			return nil, "the price of " + cmp.Or(
				model,
				t.name,
			) + " is not known; name a price list in `prices` and add `cost: {max: " + a.get("threshold").
				text() +
				"}`"
		}
		if models.get(model) == nil {
			models.set(model, new(mapping).set("input", literal(input)).set("output", literal(out)))
		}
	}
	c.prices = new(mapping).set("currency", textValue("USD")).set("models", models, "for a million tokens")
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

// tools reads the tools of a model, in the syntax of any vendor.
func (c *converter) tools(s src) yamlValue {
	in := s
	if strings.HasPrefix(s.text(), "file://") {
		file, ok := c.load(s, s.text())
		if !ok {
			return nil
		}
		s.ok("read from the file")
		defer c.fates.account(file)
		in = file
	}
	out := &sequence{}
	for _, item := range in.items() {
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
			item.todo("a tool of the vendor's own, which `tools` of a prompt does not have; try `extra`")
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
