package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// heard are the bodies that a service got, by method.
type heard struct {
	mu     sync.Mutex
	bodies map[string][]string
	strict bool // countTokens takes nothing but contents
	answer string
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	_, method, _ := strings.Cut(r.URL.Path, ":")
	h.mu.Lock()
	if h.bodies == nil {
		h.bodies = map[string][]string{}
	}
	h.bodies[method] = append(h.bodies[method], string(body))
	h.mu.Unlock()
	switch {
	case method == "":
		fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000,"outputTokenLimit":100}`)
	case method == "countTokens" && h.strict && strings.Contains(string(body), "generateContentRequest"):
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"code":400,"message":"unknown name \"generateContentRequest\"","status":"INVALID_ARGUMENT"}}`)
	case method == "countTokens":
		fmt.Fprint(w, `{"totalTokens":10}`)
	default:
		fmt.Fprint(w, h.answer)
	}
}

func (h *heard) got(method string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(slices.Values(h.bodies[method]))
}

const wholeSuite = `version: 1
name: s
targets:
  - name: full
    model: m
    generationConfig: {temperature: 0, seed: 7, responseSchema: {file: schema.json}, extra: {logprobs: 3}}
    extra: {labels: {team: a}, cachedContent: c/1}
  - {name: plain, model: m, generationConfig: {temperature: 0}}
prompts:
  - name: all
    targets: [full]
    system: {file: system.md}
    tools: [{name: get_order, description: Looks it up., parameters: {type: object, properties: {top_p: {type: string}}}}]
    toolChoice: {name: get_order}
    parts: [{data: paper.pdf}, {raw: {fileData: {fileUri: "gs://b/{{.order}}"}}}, {text: "Where is {{.order}}?"}]
  - {name: text, targets: [plain], text: "Where is {{.order}}?"}
defaults: {repeats: 3}
cases: [{name: c, vars: {order: A17}, scorers: [{finishReason: TOOL_CALLS}]}]
limits: {tokensPerMinute: 1000000}
`

const (
	wholeTurn = `"contents":[{"role":"user","parts":[{"inline_data":{"mime_type":"application/pdf","data":"JVBERi0xLjQK"}},` +
		`{"fileData":{"fileUri":"gs://b/A17"}},{"text":"Where is A17?"}]}]`
	wholeSettings = `"generationConfig":{"temperature":0,"logprobs":3,"responseSchema":{"type":"OBJECT"},"seed":7}`
	wholeRest     = `"systemInstruction":{"parts":[{"text":"You help with A17.\n"}]},"tools":[{"functionDeclarations":[{"name":"get_order",` +
		`"description":"Looks it up.","parameters":{"type":"object","properties":{"top_p":{"type":"string"}}}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["get_order"]}}`
	plainTurn = `"contents":[{"role":"user","parts":[{"text":"Where is A17?"}]}]`
)

func wholeFiles() map[string]string {
	return map[string]string{
		"suite.yaml": wholeSuite, "system.md": "You help with {{.order}}.\n", "paper.pdf": "%PDF-1.4\n", "schema.json": `{"type": "OBJECT"}`,
	}
}

// What a suite says of a request is what a service gets, byte by byte; and tokens are counted through the whole of it,
// once for all repeats.
func TestWholeRequestsAreSent(t *testing.T) {
	t.Parallel()
	service := &heard{answer: `{"candidates":[{"content":{"parts":[{"text":"Let me see.","thought":true},` +
		`{"functionCall":{"name":"get_order",` +
		`"args":{"top_p":"A17"}},"thoughtSignature":"s1"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,` +
		`"candidatesTokenCount":2,"thoughtsTokenCount":5,"totalTokenCount":17}}`}
	b := newBox(t, service, wholeFiles())
	b.exits(0, "run", "suite.yaml", "--out", "run", "-o", "jsonl=out.jsonl")
	whole := "{" + wholeTurn + "," + wholeSettings + "," + wholeRest + `,"cachedContent":"c/1","labels":{"team":"a"}}`
	plain := "{" + plainTurn + `,"generationConfig":{"temperature":0}}`
	expect.Same(t, "generateContent", service.got("generateContent"), []string{whole, whole, whole, plain, plain, plain})
	expect.Same(t, "countTokens", service.got("countTokens"), []string{
		"{" + plainTurn + "}",
		`{"generateContentRequest":{"model":"models/m",` + wholeTurn + "," + wholeSettings + "," + wholeRest + "}}",
	})
	run := b.read("run/run.jsonl")
	for what, text := range map[string]string{
		"the parts":  `"parts":[{"reasoning":"Let me see."},{"call":{"name":"get_order","args":{"top_p":"A17"}}}]`,
		"the reason": `"finishReason":"TOOL_CALLS","vendorReason":"STOP"`,
		"the usage":  `"reasoningTokens":5`,
		"the candidate": `"raw":{"content":{"parts":[{"text":"Let me see.","thought":true},` +
			`{"functionCall":{"name":"get_order",` +
			`"args":{"top_p":"A17"}},"thoughtSignature":"s1"}],"role":"model"},"finishReason":"STOP"}`,
	} {
		if n := strings.Count(run, text); n < 6 {
			t.Errorf("%s: %d times in the run file, want 6 times %s", what, n, text)
		}
	}
}

// A run continues when the service counts contents alone: the prompt is estimated.
func TestWholeRequestsAreEstimatedWhereTheyCannotBeCounted(t *testing.T) {
	t.Parallel()
	service := &heard{strict: true, answer: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_order"}}]}}]}`}
	b := newBox(t, service, wholeFiles())
	b.exits(0, "run", "suite.yaml", "--out", "run", "-o", "jsonl=out.jsonl", "--arm", "full/all")
	expect.Same(t, "calls to generate", len(service.got("generateContent")), 3)
	// 258 a file, and a quarter of the 220 bytes of texts, declarations and literal parts.
	const estimated = 2*258 + 55
	expect.Contains(t, "the run file",
		b.read("run/run.jsonl"), fmt.Sprintf(`"promptTokens":%d`, estimated))
}

// A limit on tokens of a model whose answers have no known bound is reported at the target before anything is sent.
func TestATokenLimitNeedsABound(t *testing.T) {
	t.Parallel()
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s was called, want nothing sent", r.URL.Path)
		}
		fmt.Fprint(w, `{"name":"models/m","inputTokenLimit":100000}`)
	})
	b := newBox(t, service, map[string]string{
		"suite.yaml": "version: 1\nname: s\ntargets:\n  - {name: t, model: m}\nprompts: [{name: p, text: hi}]\n" +
			"cases: [{name: c, scorers: [{contains: x}]}]\n",
	})
	b.exits(2, "run", "suite.yaml", "--budget-tokens", "1000")
	b.says("suite.yaml:4:22: `budget.tokens` is set", "set `maxOutputTokens`")
}
