package wire

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// Vendor is what evalrun knows of a vendor of models. A service of the vendor needs only what is "" here.
type Vendor struct {
	Name     string
	Protocol eval.ProtocolName
	BaseURL  string // "" when each customer has another address, of the form Address
	Address  string // an example for messages; "" with a BaseURL
	// KeyEnv are the usual variables of the key; the first one that is set is used. None: no key is sent.
	KeyEnv []string
	// Hosts are more hosts that get the key without `keyEnv`, as patterns. A * stands for a part without a dot.
	Hosts          []string
	HeaderPrefix   string // "" means the default of the protocol
	Path           string // "" means the path of the protocol
	MaxTokensField string // "" means the field of the protocol
	Resend         string // of thoughts in a conversation
	NoMetadata     bool   // the service does not describe its models
	Model          string // an example of a model id
	Page           string // where keys and models are documented
}

// olderField is the older name of the limit, for servers that do not know max_completion_tokens.
const olderField = "max_tokens"

// Vendors lists the vendors that suites can name: vendors, gateways to many, and servers that users run themselves.
func Vendors() []Vendor { return slices.Concat(hosted(), gateways(), ownServers()) }

func hosted() []Vendor {
	return []Vendor{
		{
			Name: "openai", Protocol: eval.OpenAI, BaseURL: "https://api.openai.com/v1", KeyEnv: []string{"OPENAI_API_KEY"},
			Model: "gpt-4o-mini", Page: "https://platform.openai.com/docs/models",
		},
		{
			Name: "anthropic", Protocol: eval.Anthropic, BaseURL: "https://api.anthropic.com", KeyEnv: []string{"ANTHROPIC_API_KEY"},
			Model: "claude-haiku-4-5", Page: "https://docs.anthropic.com/en/docs/about-claude/models",
		},
		{
			Name: "google", Protocol: eval.Generative, BaseURL: "https://generativelanguage.googleapis.com/v1beta",
			KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, HeaderPrefix: "x-goog", Path: "models/{model}:{method}",
			Model: "gemini-2.5-flash", Page: "https://ai.google.dev/gemini-api/docs/models",
		},
		{
			Name: "vertex", Protocol: eval.Generative, HeaderPrefix: "x-goog", Path: "models/{model}:{method}", NoMetadata: true,
			Address: "https://REGION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/REGION/publishers/google",
			Model:   "gemini-2.5-flash", Page: "https://cloud.google.com/vertex-ai/generative-ai/docs/models",
		},
		{
			Name: "azure", Protocol: eval.OpenAI, Address: "https://RESOURCE.openai.azure.com/openai/v1",
			KeyEnv: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, NoMetadata: true,
			Hosts: []string{"*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com"},
			Model: "DEPLOYMENT", Page: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
		},
		{
			Name: "bedrock", Protocol: eval.OpenAI, Address: "https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
			KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"}, Hosts: []string{"bedrock-runtime.*-*-*.amazonaws.com"}, NoMetadata: true,
			Model: "openai.gpt-oss-20b-1:0", Page: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html",
		},
		{
			Name: "mistral", Protocol: eval.OpenAI, BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"},
			MaxTokensField: olderField, Model: "mistral-small-latest", Page: "https://docs.mistral.ai/getting-started/models/",
		},
		{
			Name: "groq", Protocol: eval.OpenAI, BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"},
			Resend: ResendNever,
			Model:  "llama-3.1-8b-instant", Page: "https://console.groq.com/docs/models",
		},
		{
			Name: "deepseek", Protocol: eval.OpenAI, BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"},
			MaxTokensField: olderField, Resend: resendInLoop, Model: "deepseek-chat", Page: "https://api-docs.deepseek.com/",
		},
		{
			Name: "xai", Protocol: eval.OpenAI, BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"},
			Model: "grok-3-mini", Page: "https://docs.x.ai/docs/models",
		},
		{
			Name: "cohere", Protocol: eval.OpenAI, BaseURL: "https://api.cohere.ai/compatibility/v1",
			KeyEnv: []string{"COHERE_API_KEY", "CO_API_KEY"}, MaxTokensField: olderField, NoMetadata: true,
			Model: "command-r7b-12-2024", Page: "https://docs.cohere.com/docs/compatibility-api",
		},
		{
			Name: "perplexity", Protocol: eval.OpenAI, BaseURL: "https://api.perplexity.ai",
			KeyEnv: []string{"PERPLEXITY_API_KEY", "PPLX_API_KEY"}, MaxTokensField: olderField, NoMetadata: true,
			Model: "sonar", Page: "https://docs.perplexity.ai/",
		},
		{
			Name: "cerebras", Protocol: eval.OpenAI, BaseURL: "https://api.cerebras.ai/v1", KeyEnv: []string{"CEREBRAS_API_KEY"},
			Model: "llama3.1-8b", Page: "https://inference-docs.cerebras.ai/models/overview",
		},
		{
			Name: "moonshot", Protocol: eval.OpenAI, BaseURL: "https://api.moonshot.ai/v1", KeyEnv: []string{"MOONSHOT_API_KEY"},
			MaxTokensField: olderField, Model: "kimi-k2-0711-preview", Page: "https://platform.moonshot.ai/docs",
		},
		{
			Name: "nvidia", Protocol: eval.OpenAI, BaseURL: "https://integrate.api.nvidia.com/v1", KeyEnv: []string{"NVIDIA_API_KEY"},
			MaxTokensField: olderField, Model: "meta/llama-3.1-8b-instruct", Page: "https://docs.api.nvidia.com/nim/reference/llm-apis",
		},
	}
}

func gateways() []Vendor {
	return []Vendor{
		{
			Name: "openrouter", Protocol: eval.OpenAI, BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"},
			MaxTokensField: olderField, Model: "openai/gpt-4o-mini", Page: "https://openrouter.ai/models",
		},
		{
			Name: "together", Protocol: eval.OpenAI, BaseURL: "https://api.together.xyz/v1", KeyEnv: []string{"TOGETHER_API_KEY"},
			MaxTokensField: olderField, Model: "meta-llama/Llama-3.3-70B-Instruct-Turbo", Page: "https://docs.together.ai/docs/serverless-models",
		},
		{
			Name: "fireworks", Protocol: eval.OpenAI, BaseURL: "https://api.fireworks.ai/inference/v1", KeyEnv: []string{"FIREWORKS_API_KEY"},
			MaxTokensField: olderField, Model: "accounts/fireworks/models/gpt-oss-20b", Page: "https://fireworks.ai/models",
		},
		{
			Name: "vercel", Protocol: eval.OpenAI, BaseURL: "https://ai-gateway.vercel.sh/v1", KeyEnv: []string{"AI_GATEWAY_API_KEY"},
			MaxTokensField: olderField, Model: "openai/gpt-4o-mini", Page: "https://vercel.com/docs/ai-gateway",
		},
		{
			Name: "aimlapi", Protocol: eval.OpenAI, BaseURL: "https://api.aimlapi.com/v1", KeyEnv: []string{"AIML_API_KEY"},
			MaxTokensField: olderField, Model: "gpt-4o-mini", Page: "https://docs.aimlapi.com/",
		},
		{
			Name: "hyperbolic", Protocol: eval.OpenAI, BaseURL: "https://api.hyperbolic.xyz/v1", KeyEnv: []string{"HYPERBOLIC_API_KEY"},
			MaxTokensField: olderField, Model: "meta-llama/Llama-3.3-70B-Instruct", Page: "https://docs.hyperbolic.xyz/",
		},
		{
			Name: "github", Protocol: eval.OpenAI, BaseURL: "https://models.github.ai/inference",
			KeyEnv: []string{"GITHUB_MODELS_API_KEY", "GITHUB_TOKEN"}, NoMetadata: true,
			Model: "openai/gpt-4o-mini", Page: "https://docs.github.com/github-models",
		},
		{
			Name: "huggingface", Protocol: eval.OpenAI, BaseURL: "https://router.huggingface.co/v1",
			KeyEnv: []string{"HUGGINGFACE_API_KEY", "HF_TOKEN"}, MaxTokensField: olderField,
			Model: "openai/gpt-oss-20b", Page: "https://huggingface.co/docs/inference-providers",
		},
	}
}

func ownServers() []Vendor {
	return []Vendor{
		{
			Name: "ollama", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:11434/v1", MaxTokensField: olderField,
			Model: "qwen3", Page: "https://github.com/ollama/ollama/blob/main/docs/openai.md",
		},
		{
			Name: "lmstudio", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:1234/v1", MaxTokensField: olderField,
			Model: "qwen3-8b", Page: "https://lmstudio.ai/docs/app/api/endpoints/openai",
		},
		{
			Name: "llamacpp", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:8080/v1", MaxTokensField: olderField,
			Model: "default", Page: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
		},
		{
			Name: "localai", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:8080/v1", MaxTokensField: olderField,
			Model: "qwen3-8b", Page: "https://localai.io/",
		},
		{
			Name: "docker", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:12434/engines/llama.cpp/v1", MaxTokensField: olderField,
			Model: "ai/qwen3", Page: "https://docs.docker.com/ai/model-runner/",
		},
		{
			Name: "vllm", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:8000/v1",
			Model: "Qwen/Qwen3-8B", Page: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
		},
		{
			Name: "litellm", Protocol: eval.OpenAI, BaseURL: "http://127.0.0.1:4000/v1", KeyEnv: []string{"LITELLM_API_KEY"},
			Model: "gpt-4o-mini", Page: "https://docs.litellm.ai/docs/simple_proxy",
		},
		{Name: "openai-compatible", Protocol: eval.OpenAI, Address: "https://models.example.com/v1", Model: "MODEL"},
		{Name: "anthropic-compatible", Protocol: eval.Anthropic, Address: "https://models.example.com", Model: "MODEL"},
	}
}

// VendorNamed is the vendor of a name, nil for none.
func VendorNamed(name string) *Vendor {
	all := Vendors()
	if i := slices.IndexFunc(all, func(v Vendor) bool { return v.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// VendorNames lists the names of vendors.
func VendorNames() (names []string) {
	for _, v := range Vendors() {
		names = append(names, v.Name)
	}
	return names
}

// Owns reports whether an address is the vendor's own, which gets its key without being named.
func (v *Vendor) Owns(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	if own, err := url.Parse(v.BaseURL); err == nil && v.BaseURL != "" && at.Scheme == own.Scheme && at.Host == own.Host {
		return true
	}
	return at.Scheme == "https" && slices.ContainsFunc(v.Hosts, func(pattern string) bool { return hostFits(pattern, at.Hostname()) })
}

// hostFits compares part by part, so that a * cannot take in a dot.
func hostFits(pattern, host string) bool {
	parts, given := strings.Split(pattern, "."), strings.Split(strings.ToLower(host), ".")
	return len(parts) == len(given) && !slices.ContainsFunc(parts, func(part string) bool {
		fits, _ := path.Match(part, given[0]) // the patterns are constants
		given = given[1:]
		return !fits
	})
}
