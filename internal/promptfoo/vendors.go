package promptfoo

import (
	"regexp"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// vendor says where the models of a provider's prefix are.
type vendor struct {
	protocol eval.ProtocolName
	baseURL  string
	keyEnv   string
	kinds    []string // words between prefix and model that mean an ordinary model
	defaults bool     // promptfoo sends temperature 0 and at most 1024 tokens by default
	note     string
}

// vendors has the vendors by provider prefix.
var vendors = map[string]vendor{
	"openai": {
		protocol: eval.OpenAI,
		baseURL:  "https://api.openai.com/v1",
		keyEnv:   "OPENAI_API_KEY",
		kinds:    []string{"chat"},
		defaults: true,
	},
	"anthropic": {
		protocol: eval.Anthropic,
		baseURL:  "https://api.anthropic.com",
		keyEnv:   "ANTHROPIC_API_KEY",
		kinds:    []string{"messages"},
		defaults: true,
	},
	"google":     {protocol: eval.Generative, baseURL: "https://generativelanguage.googleapis.com", keyEnv: "GOOGLE_API_KEY"},
	"palm":       {protocol: eval.Generative, baseURL: "https://generativelanguage.googleapis.com", keyEnv: "GOOGLE_API_KEY"},
	"ollama":     {protocol: eval.OpenAI, baseURL: "http://127.0.0.1:11434/v1", kinds: []string{"chat", "completion"}},
	"openrouter": {protocol: eval.OpenAI, baseURL: "https://openrouter.ai/api/v1", keyEnv: "OPENROUTER_API_KEY", defaults: true},
	"mistral":    {protocol: eval.OpenAI, baseURL: "https://api.mistral.ai/v1", keyEnv: "MISTRAL_API_KEY"},
	"groq":       {protocol: eval.OpenAI, baseURL: "https://api.groq.com/openai/v1", keyEnv: "GROQ_API_KEY", defaults: true},
	"deepseek":   {protocol: eval.OpenAI, baseURL: "https://api.deepseek.com/v1", keyEnv: "DEEPSEEK_API_KEY", defaults: true},
	"togetherai": {
		protocol: eval.OpenAI,
		baseURL:  "https://api.together.xyz/v1",
		keyEnv:   "TOGETHER_API_KEY",
		kinds:    []string{"chat"},
		defaults: true,
	},
	"fireworks": {
		protocol: eval.OpenAI,
		baseURL:  "https://api.fireworks.ai/inference/v1",
		keyEnv:   "FIREWORKS_API_KEY",
		defaults: true,
	},
	"perplexity": {protocol: eval.OpenAI, baseURL: "https://api.perplexity.ai", keyEnv: "PERPLEXITY_API_KEY", defaults: true},
	"xai":        {protocol: eval.OpenAI, baseURL: "https://api.x.ai/v1", keyEnv: "XAI_API_KEY", defaults: true},
	"cerebras":   {protocol: eval.OpenAI, baseURL: "https://api.cerebras.ai/v1", keyEnv: "CEREBRAS_API_KEY", defaults: true},
	"nvidia": {
		protocol: eval.OpenAI,
		baseURL:  "https://integrate.api.nvidia.com/v1",
		keyEnv:   "NVIDIA_API_KEY",
		defaults: true,
	},
	"moonshot": {protocol: eval.OpenAI, baseURL: "https://api.moonshot.ai/v1", keyEnv: "MOONSHOT_API_KEY", defaults: true},
	"hyperbolic": {
		protocol: eval.OpenAI,
		baseURL:  "https://api.hyperbolic.xyz/v1",
		keyEnv:   "HYPERBOLIC_API_KEY",
		defaults: true,
	},
	"aimlapi": {
		protocol: eval.OpenAI,
		baseURL:  "https://api.aimlapi.com/v1",
		keyEnv:   "AIML_API_KEY",
		kinds:    []string{"chat"},
		defaults: true,
	},
	"cohere": {protocol: eval.OpenAI, baseURL: "https://api.cohere.ai/compatibility/v1", keyEnv: "COHERE_API_KEY"},
	"litellm": {
		protocol: eval.OpenAI,
		baseURL:  "http://127.0.0.1:4000",
		keyEnv:   "LITELLM_API_KEY",
		kinds:    []string{"chat"},
		defaults: true,
	},
	"localai":     {protocol: eval.OpenAI, baseURL: "http://127.0.0.1:8080/v1", kinds: []string{"chat"}},
	"docker":      {protocol: eval.OpenAI, baseURL: "http://127.0.0.1:12434/engines/llama.cpp/v1", kinds: []string{"chat"}},
	"vercel":      {protocol: eval.OpenAI, baseURL: "https://ai-gateway.vercel.sh/v1", keyEnv: "AI_GATEWAY_API_KEY"},
	"azure":       {protocol: eval.OpenAI, kinds: []string{"chat"}, keyEnv: "AZURE_API_KEY", defaults: true},
	"azureopenai": {protocol: eval.OpenAI, kinds: []string{"chat"}, keyEnv: "AZURE_API_KEY", defaults: true},
	"github": {
		protocol: eval.OpenAI, baseURL: "https://models.github.ai/inference", keyEnv: "GITHUB_MODELS_API_KEY", defaults: true,
		note: "set GITHUB_MODELS_API_KEY to what GITHUB_TOKEN holds",
	},
	"huggingface": {
		protocol: eval.OpenAI, baseURL: "https://router.huggingface.co/v1", keyEnv: "HUGGINGFACE_API_KEY",
		kinds: []string{"chat", "text-generation"},
		note:  "set HUGGINGFACE_API_KEY to what HF_TOKEN holds",
	},
}

// notModels are words after a vendor's prefix that mean something other than a chat model.
var notModels = []string{
	"completion", "embedding", "embeddings", "image", "realtime", "assistant", "moderation", "transcription", "speech", "tts", "video",
	"agents", "chatkit", "codex-sdk", "codex-app-server", "claude-agent-sdk", "claude-code", "foundry-agent", "text-classification",
	"token-classification", "feature-extraction", "sentence-similarity", "live", "rerank", "fim",
}

// agents matches providers that are programs with a model inside.
var agents = regexp.MustCompile(`^(anthropic:claude-(agent-sdk|code)|openai:(codex-sdk|codex-app-server|agents|chatkit|assistant)|` +
	`opencode|openinterpreter|openclaw|a2a|mcp|n8n|slack|bedrock-agent|` +
	`promptfoo:(simulated-user|manual-input|browser)|browser|ws:|wss:|websocket|sequence|` +
	`package:|ruby:|golang:)`)

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
			vendor: vendor{
				protocol: eval.OpenAI,
				baseURL:  "https://" + serviceName(prefix) + ".gateway.invalid/v1",
			}, name: serviceName(prefix),
			model: rest, why: "evalrun does not speak the protocol of `" + prefix + "`; put a gateway in front that speaks the one of OpenAI, " +
				"and name it in `baseUrl`",
		}
	case kind == "responses" && (prefix == "openai" || prefix == "azure" || prefix == "xai" || prefix == "groq"):
		v.protocol = eval.Responses
		return vendorModel{vendor: v, name: prefix + "-responses", model: model}
	case two && slices.Contains(v.kinds, kind):
		return vendorModel{vendor: v, name: prefix, model: model}
	case slices.Contains(notModels, kind):
		return vendorModel{vendor: v, name: prefix, model: model, why: "`" + id + "` is not a chat with a model"}
	}
	return vendorModel{vendor: v, name: prefix, model: rest}
}

func serviceName(prefix string) string {
	return strings.ToLower(plainName(prefix, "service", func(string) bool { return false }))
}

// reasoning matches models to which promptfoo sends neither temperature nor a limit by default.
var reasoning = regexp.MustCompile(`(^|/)(gpt-5|o1|o3|o4)`)

// noSampling matches models that refuse sampling parameters.
var noSampling = regexp.MustCompile(`claude-(opus-(4-[7-9]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)`)

// defaultModels are promptfoo's models for an id without one.
var defaultModels = map[string]string{
	"openai": "gpt-4.1-2025-04-14", "anthropic": "claude-sonnet-4-5-20250929", "google": "gemini-2.5-flash",
	"mistral": "mistral-large-latest", "openrouter": "openrouter/auto",
}
