package promptfoo_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/internal/promptfoo"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// provided imports a configuration with one provider.
func provided(t testing.TB, provider string) written {
	t.Helper()
	return convert(t, map[string]string{
		configName: "prompts: ['{{q}}']\nproviders:\n  - " + provider + "\ntests:\n  - vars: {q: x}\n",
		"app.js":   "module.exports = {}\n", "app.py": "def call_api(): pass\n", "provider.yaml": "id: echo\nlabel: from file\n",
		"loop.yaml": "- file://loop.yaml\n- echo\n",
	})
}

func TestAProviderBecomesATargetThatLoads(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][]string{
		"echo":                    {"- name: echo\n    echo: true"},
		"openai":                  {"openai: {vendor: openai}\n"},
		"openai:gpt-4o":           {"service: openai\n    model: gpt-4o\n", "temperature: 0\n      maxOutputTokens: 1024\n"},
		"openai:chat:gpt-4o-mini": {"model: gpt-4o-mini\n"},
		"openai:responses:gpt-5": {
			"openai-responses: {vendor: openai, protocol: responses}\n", "service: openai-responses\n    model: gpt-5\n",
		},
		"anthropic:messages:claude-sonnet-4":                        {"anthropic: {vendor: anthropic}\n", "model: claude-sonnet-4\n"},
		"google:gemini-2.5-pro":                                     {"google: {vendor: google}", "service: google\n"},
		"ollama:chat:llama3":                                        {"ollama: {vendor: ollama}\n", "model: llama3\n"},
		"mistral:mistral-large-latest":                              {"mistral: {vendor: mistral}\n"},
		"togetherai:chat:meta/llama":                                {"togetherai: {vendor: together}\n", "model: meta/llama\n"},
		`{id: "ollama:llama3", config: {apiKeyEnvar: OWN_API_KEY}}`: {"ollama: {vendor: ollama, keyEnv: OWN_API_KEY}\n"},
		`{id: "groq:m", config: {apiHost: proxy.example}}`: {
			`groq: {vendor: groq, baseUrl: "https://proxy.example/v1", keyEnv: GROQ_API_KEY}`,
		},
		"openrouter:meta/llama":            {"- name: meta-llama\n", "model: meta/llama\n"},
		"{openai:gpt-4o: {label: x}}":      {"- name: x\n    service: openai\n    model: gpt-4o\n"},
		"python:app.py":                    {`command: [python3, shims/provider.py, code/app.py, "--id", "python:app.py"]`},
		"file://app.py:call":               {`code/app.py, "--function", call`},
		"file://app.js":                    {"command: [node, shims/provider.mjs, code/app.js"},
		"file://provider.yaml":             {"- name: from-file\n    echo: true"},
		`"http://127.0.0.1:1/x"`:           {`url: "http://127.0.0.1:1/x"`, "method: GET"},
		`"webhook:https://x.example/hook"`: {`url: "https://x.example/hook"`, `body: {prompt: "{{prompt}}"}`, `answer: ".output"`},
		`{id: openai:gpt-4o, label: "a/b שלום", config: {temperature: 0, max_tokens: 5, stop: [a], seed: 1, n: 2}}`: {
			"- name: a-b\n", "temperature: 0\n      maxOutputTokens: 5\n      stopSequences: [a]\n      seed: 1\n",
		},
		`{id: https, config: {url: "https://x.example/{{env.P}}", method: POST, body: {q: "{{prompt}}"}, transformResponse: "json.a[0].b"}}`: {
			`url: "https://x.example/${env:EVALRUN_P}"`, `answer: ".a[0].b"`,
		},
	} {
		w := provided(t, provider)
		for _, text := range want {
			expect.Contains(t, "suite of "+provider, w.suite, text)
		}
		expect.Same(t, "problems of "+provider, w.problems, "")
		expect.Same(t, "keys of "+provider+" without a counterpart", w.Inexpressible(), 0)
		expect.Same(t, "targets of "+provider, len(w.loaded.Targets), 1)
	}
}

// A provider that evalrun cannot call becomes a target that says what is missing, so that the suite loads.
func TestAProviderWithoutACounterpartBecomesATargetToFinish(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"azure:chat:dep":               "# TODO: name the host of your Azure resource in the service's `baseUrl`",
		"vertex:gemini-2.5-pro":        "# TODO: evalrun does not speak the protocol of `vertex`; put a gateway in front",
		"bedrock:amazon.nova-pro-v1:0": `model: "amazon.nova-pro-v1:0"`,
		"שלום:x":                       "evalrun does not speak the protocol of `שלום`",
		`"exec:python run.py 'a b'"`:   "# TODO: put the program run.py into the suite's folder",
		"file://loop.yaml":             "- name: echo\n",
	} {
		w := provided(t, provider)
		expect.Contains(t, "suite of "+provider, w.suite, want)
		expect.Same(t, "problems of "+provider, w.problems, "")
		expect.Contains(t, "report of "+provider, w.report(), "## Not expressible\n")
	}
}

func TestASuiteWithoutAProviderHasAPlaceForOne(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"file://gone.yaml", `""`, "[x]", "null", "{}"} {
		w := provided(t, provider)
		expect.Contains(t, "suite of "+provider, w.suite, "# TODO: no provider could be imported; write a target here\ntargets: []\n")
		expect.Contains(t, "problems of "+provider, w.problems, "there are no targets")
		expect.Contains(t, "report of "+provider, w.report(), "`providers[0]` (line 3): not expressible")
	}
}

// Keys that a configuration holds are never copied, into whatever file.
func TestSecretsOfAConfigurationAreNotCopied(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{
		`{id: "openai:gpt-4o", config: {apiKey: hush, apiBaseUrl: "https://proxy.example/v1", headers: {X-Api-Key: hush, X-Team: a}}}`,
		`"http://127.0.0.1:1/x?key=hush"`,
		`"https://user:hush@x.example/chat"`,
		`{id: https, config: {url: "https://x.example", headers: {Authorization: "Bearer hush"}, body: {q: "{{prompt}}"}}}`,
		`{id: https, config: {url: "https://x.example", auth: {type: bearer, token: hush}, body: "{{prompt}}"}}`,
		`{id: echo, env: {OPENAI_API_KEY: hush}}`,
	} {
		w := provided(t, provider)
		for name, text := range w.files {
			if strings.Contains(text, "hush") {
				t.Errorf("%s: got the secret in %s, want it left out:\n%s", provider, name, text)
			}
		}
		expect.Same(t, "problems of "+provider, w.problems, "")
	}
}

func TestProvidersOfOneNameGetNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := convert(t, map[string]string{
		configName: "prompts: [hi]\n" +
			"providers: [echo, echo, {id: echo, label: 'echo 2'}, {id: echo, label: 'שלום'}, {id: echo, label: 'עולם'}]\n",
	})
	expect.Same(t, "problems", w.problems, "")
	var names []string
	for _, target := range w.loaded.Targets {
		names = append(names, target.Name)
	}
	expect.Same(t, "names", names, []string{"echo", "echo-2", "echo-2-2", "target", "target-2"})
}

func TestFilesThatAreNoConfigurationAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                 "",
		"- a\n":            "expected a promptfoo configuration, found",
		"a: b\n":           "this is not a promptfoo configuration: it has none of their keys",
		"prompts: [\n":     "",
		"prompts: 'x\n":    "",
		"\x00\xff":         "",
		"prompts: &a *a\n": "",
	} {
		var problems promptfoo.Problems
		im, err := promptfoo.Read(writtenConfig(t, text), 0, &problems)
		if im != nil || err == nil && !problems.Diags.HasErrors() {
			t.Errorf("%q: got the import %v with no problem, want a problem", text, im)
			continue
		}
		if want != "" {
			expect.Contains(t, "problems", problems.Diags.Err().Error(), want)
		}
	}
}
