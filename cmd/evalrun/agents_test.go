package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/emulator"
)

// modelServer answers in all protocols from a script, and keeps an account of its own: GET /account.
type modelServer struct {
	http.Handler
	mu      sync.Mutex
	account modelAccount
}

type modelAccount struct {
	Calls  int `json:"calls"`
	Prompt int `json:"prompt"`
	Output int `json:"output"`
	// Foreign are the calls without the key of the service.
	Foreign int `json:"foreign"`
}

// modelKey is the key of the service, which nobody else may see.
const modelKey = "canary-key-of-the-service"

// serveModels serves models by a script, and puts the address into $MODELS: models SCRIPT.
func serveModels(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: models SCRIPT")
	}
	server := httptest.NewServer(newModelServer(ts.Check, args[0], ts.ReadFile(args[0])))
	ts.Defer(server.Close)
	ts.Setenv("MODELS", server.URL)
	ts.Setenv("MODELS_API_KEY", modelKey)
}

func newModelServer(check func(error), name, script string) *modelServer {
	var diags diag.List
	loaded := emulator.LoadScript(name, []byte(script), &diags)
	if diags.HasErrors() {
		check(fmt.Errorf("%v", diags))
	}
	return &modelServer{Handler: emulator.New(emulator.Options{Script: loaded, HeaderPrefix: "x-goog", AnyModel: true})}
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/account" {
		_ = json.NewEncoder(w).Encode(s.account)
		return
	}
	s.account.Calls++
	keys := []string{strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key")}
	if keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" }); len(keys) != 1 || keys[0] != modelKey {
		s.account.Foreign++
	}
	answer := httptest.NewRecorder()
	sent := r.Clone(r.Context())
	sent.URL.Path = strings.TrimPrefix(r.URL.Path, "/packed")
	s.Handler.ServeHTTP(answer, sent)
	s.account.add(answer.Body.Bytes())
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	if strings.HasPrefix(r.URL.Path, "/packed") { // whatever the request accepts
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = packed.Write(answer.Body.Bytes())
		_ = packed.Close()
		return
	}
	w.WriteHeader(answer.Code)
	for line := range bytes.Lines(answer.Body.Bytes()) { // as a stream comes
		_, _ = w.Write(line)
		_ = http.NewResponseController(w).Flush()
	}
}

// usagePaths are where answers have their tokens: those of the prompt, and those of the output.
var usagePaths = [][2]string{
	{"usage.prompt_tokens", "usage.completion_tokens"},
	{"usage.input_tokens", "usage.output_tokens"},
	{"response.usage.input_tokens", "response.usage.output_tokens"},
	{"message.usage.input_tokens", "usage.output_tokens"},
	{"usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount"},
}

// add counts the tokens of an answer: the last number that it has of each kind.
func (a *modelAccount) add(body []byte) {
	pieces := [][]byte{body}
	if !gjson.ValidBytes(body) {
		pieces = nil
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				pieces = append(pieces, data)
			}
		}
	}
	prompt, output := 0, 0
	for _, piece := range pieces {
		for _, path := range usagePaths {
			prompt, output = max(prompt, int(gjson.GetBytes(piece, path[0]).Int())), max(output, int(gjson.GetBytes(piece, path[1]).Int()))
		}
	}
	a.Prompt += prompt
	a.Output += output
}

// toyAgent is an agent that knows nothing of evalrun: it calls a model where the variables of its vendor say, and carries out its
// tool calls. Its arguments are the protocol, and after it `stream`, `again` to call on after a refusal,
// `polite` to ask in other words, and `env` to say what it sees.
func toyAgent() {
	var task struct {
		Prompt string `json:"prompt"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		toyFails(err)
	}
	a := &toy{args: os.Args[1:], protocol: toyProtocols[os.Args[1]]}
	if a.has("polite") {
		task.Prompt += " Please."
	}
	a.say("user", task.Prompt)
	for {
		said, status := a.ask()
		switch {
		case status != http.StatusOK && a.has("again"):
			time.Sleep(100 * time.Millisecond)
			continue
		case status != http.StatusOK:
			toyFails(fmt.Errorf("%d: %s", status, said))
		}
		text, calls := a.protocol.read(said)
		if len(calls) == 0 {
			if a.has("env") {
				text += "\n" + strings.Join(os.Environ(), "\n")
			}
			fmt.Println(text)
			return
		}
		a.turns = append(a.turns, a.protocol.turns(calls)...)
	}
}

func toyFails(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type toy struct {
	args     []string
	protocol toyProtocol
	turns    []any
}

func (a *toy) has(word string) bool { return slices.Contains(a.args, word) }

func (a *toy) say(role, text string) {
	if a.args[0] == "google" {
		a.turns = append(a.turns, map[string]any{"role": role, "parts": []any{map[string]any{"text": text}}})
		return
	}
	a.turns = append(a.turns, map[string]any{"role": role, "content": text})
}

// ask calls the model, and returns the whole reply: of a stream the last event that has all of it, or the pieces in a list.
func (a *toy) ask() (said []byte, status int) {
	p := a.protocol
	path, body := p.path, map[string]any{p.list: a.turns}
	if a.has("stream") {
		path = strings.Replace(path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
	}
	if p.tools != "" {
		_ = json.Unmarshal([]byte(p.tools), &body)
	}
	if a.has("stream") && a.args[0] != "google" {
		body["stream"] = true
		if a.args[0] == "openai" {
			body["stream_options"] = map[string]any{"include_usage": true}
		}
	}
	text, _ := json.Marshal(body)
	req, err := http.NewRequest(http.MethodPost, os.Getenv(p.address)+path, bytes.NewReader(text))
	if err != nil {
		toyFails(err)
	}
	req.Header.Set(p.header, p.scheme+os.Getenv(p.key))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		toyFails(err)
	}
	defer resp.Body.Close()
	if !a.has("stream") || resp.StatusCode != http.StatusOK {
		said, _ = io.ReadAll(resp.Body)
		return said, resp.StatusCode
	}
	return toyStream(resp.Body), resp.StatusCode
}

// toyStream joins events into a list.
func toyStream(in io.Reader) []byte {
	var events []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" {
			events = append(events, data)
		}
	}
	return []byte("[" + strings.Join(events, ",") + "]")
}

type toyProtocol struct {
	address, path, header, scheme, key, list, tools string
	// text and call are where a reply has its text and its call, in a piece of a stream too.
	text, name, id []string
	turns          func(calls []toyCall) []any
}

type toyCall struct{ id, name string }

// read finds the text and the tool calls of a reply.
func (p *toyProtocol) read(said []byte) (text string, calls []toyCall) {
	pieces := gjson.ParseBytes(said).Array()
	for _, piece := range pieces {
		for _, path := range p.text {
			if found := piece.Get(path).String(); text != found { // the last event of some streams repeats it
				text += found
			}
		}
		for i, path := range p.name {
			if name := piece.Get(path).String(); name != "" && len(calls) == 0 {
				calls = append(calls, toyCall{piece.Get(p.id[i]).String(), name})
			}
		}
	}
	return text, calls
}

const toySchema = `{"type": "object", "properties": {"id": {"type": "string"}}}`

var toyProtocols = map[string]toyProtocol{
	"openai": {
		"OPENAI_BASE_URL", "/chat/completions", "Authorization", "Bearer ", "OPENAI_API_KEY", "messages",
		`{"model": "small", "tools": [{"type": "function", "function": {"name": "get_order", "parameters": ` + toySchema + `}}]}`,
		[]string{"choices.0.message.content", "choices.0.delta.content"},
		[]string{"choices.0.message.tool_calls.0.function.name", "choices.0.delta.tool_calls.0.function.name"},
		[]string{"choices.0.message.tool_calls.0.id", "choices.0.delta.tool_calls.0.id"},
		func(calls []toyCall) []any {
			return []any{
				map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
					"id": calls[0].id, "type": "function", "function": map[string]any{"name": calls[0].name, "arguments": `{"id": "A17"}`},
				}}},
				map[string]any{"role": "tool", "tool_call_id": calls[0].id, "content": `{"status": "shipped"}`},
			}
		},
	},
	"responses": {
		"OPENAI_BASE_URL", "/responses", "Authorization", "Bearer ", "OPENAI_API_KEY", "input",
		`{"model": "small", "tools": [{"type": "function", "name": "get_order", "parameters": ` + toySchema + `}]}`,
		[]string{`output.#(type=="message").content.0.text`, `response.output.#(type=="message").content.0.text`},
		[]string{`output.#(type=="function_call").name`, `response.output.#(type=="function_call").name`},
		[]string{`output.#(type=="function_call").call_id`, `response.output.#(type=="function_call").call_id`},
		func(calls []toyCall) []any {
			return []any{
				map[string]any{"type": "function_call", "call_id": calls[0].id, "name": calls[0].name, "arguments": `{"id": "A17"}`},
				map[string]any{"type": "function_call_output", "call_id": calls[0].id, "output": `{"status": "shipped"}`},
			}
		},
	},
	"anthropic": {
		"ANTHROPIC_BASE_URL", "/v1/messages", "X-Api-Key", "", "ANTHROPIC_API_KEY", "messages",
		`{"model": "small", "max_tokens": 64, "tools": [{"name": "get_order", "input_schema": ` + toySchema + `}]}`,
		[]string{`content.#(type=="text").text`, "delta.text"},
		[]string{`content.#(type=="tool_use").name`, "content_block.name"},
		[]string{`content.#(type=="tool_use").id`, "content_block.id"},
		func(calls []toyCall) []any {
			return []any{
				map[string]any{"role": "assistant", "content": []any{map[string]any{
					"type": "tool_use", "id": calls[0].id, "name": calls[0].name, "input": map[string]any{"id": "A17"},
				}}},
				map[string]any{"role": "user", "content": []any{map[string]any{
					"type": "tool_result", "tool_use_id": calls[0].id, "content": `{"status": "shipped"}`,
				}}},
			}
		},
	},
	"google": {
		"GOOGLE_GEMINI_BASE_URL", "/v1beta/models/small:generateContent", "X-Goog-Api-Key", "", "GEMINI_API_KEY", "contents",
		`{"tools": [{"functionDeclarations": [{"name": "get_order", "parameters": ` + toySchema + `}]}]}`,
		[]string{"candidates.0.content.parts.0.text"},
		[]string{"candidates.0.content.parts.0.functionCall.name"},
		[]string{"candidates.0.content.parts.0.functionCall.id"},
		func(calls []toyCall) []any {
			return []any{
				map[string]any{"role": "model", "parts": []any{map[string]any{
					"functionCall": map[string]any{"name": calls[0].name, "args": map[string]any{"id": "A17"}},
				}}},
				map[string]any{"role": "user", "parts": []any{map[string]any{
					"functionResponse": map[string]any{"name": calls[0].name, "response": map[string]any{"status": "shipped"}},
				}}},
			}
		},
	},
}

// sameAccount holds the calls of a run against the account of the server that answered them: sameAccount RUN ACCOUNT.
func sameAccount(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sameAccount RUN ACCOUNT")
	}
	var got, want modelAccount
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &want))
	for line := range strings.Lines(ts.ReadFile(args[0] + "/run.jsonl")) {
		for _, call := range gjson.Get(line, "response.calls").Array() {
			got.Calls++
			got.Prompt += int(call.Get("usage.promptTokens").Int())
			got.Output += int(call.Get("usage.outputTokens").Int())
		}
	}
	if got != want {
		ts.Fatalf("the run has %+v, the server counted %+v", got, want)
	}
	ts.Logf("%s calls", strconv.Itoa(got.Calls))
}
