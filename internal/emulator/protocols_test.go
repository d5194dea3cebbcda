package emulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/anthropic"
	"github.com/evalrun/evalrun/internal/clients/generative"
	"github.com/evalrun/evalrun/internal/clients/openai"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/emulator"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

const key = "sk-canary-0123456789"

type generator interface {
	Generate(ctx context.Context, call *eval.Call) (*eval.Response, error)
	Models(ctx context.Context, apiVersion string) ([]eval.Model, error)
	Model(ctx context.Context, apiVersion, id string) (*eval.Model, error)
	Emulated() bool
}

func start(t *testing.T, script string, opts emulator.Options) *emulator.Server {
	t.Helper()
	var diags diag.List
	opts.Script = emulator.LoadScript("script.yaml", []byte(script), &diags)
	expect.OK(t, diags.Err())
	server, err := emulator.New(opts).Start("127.0.0.1:0")
	expect.OK(t, err)
	t.Cleanup(server.Close)
	return server
}

// all are the clients of the four protocols at one server.
func all(url string) map[string]generator {
	return map[string]generator{
		"generative": generative.New(wire.Server{BaseURL: url, Key: key}),
		"openai":     openai.New(wire.Server{BaseURL: url + "/v1", Key: key}),
		"responses":  openai.NewResponses(wire.Server{BaseURL: url + "/v1", Key: key}),
		"anthropic":  anthropic.New(wire.Server{BaseURL: url, Key: key}),
	}
}

func each(t *testing.T, url string, run func(t *testing.T, name string, stream bool, c generator)) {
	t.Helper()
	for name, c := range all(url) {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream %t", name, stream), func(t *testing.T) { run(t, name, stream, c) })
		}
	}
}

func asking(text string, stream bool) eval.Request {
	return eval.Request{Model: "m", Stream: stream, Contents: []eval.Content{{Role: "user", Parts: []eval.Part{eval.TextPart{Text: text}}}}}
}

// One script gives the same answers in all protocols: a text after a thought, cut ones, blocks, and what a tool loop takes.
func TestOneScriptSpeaksAllProtocols(t *testing.T) {
	t.Parallel()
	server := start(t, `
usage: true
rules:
  - match: {text: "*France*"}
    reasoning: A capital is wanted, and nothing else.
    reply: "Paris, of course: 100 % “sure” 😄"
  - match: {text: "*long*"}
    reply: "one two three four five six seven eight nine ten eleven twelve 13 14 15 16"
  - match: {text: "*insult*"}
    reply: never shown
    safetyRatings: [{category: HARM_CATEGORY_HARASSMENT, probability: HIGH}]
  - match: {text: "*bomb*"}
    blockReason: SAFETY
  - match: {regex: 'orders (\w+)', step: 1}
    reasoning: I look both up.
    reply: Let me see.
    toolCalls: [{name: get_order, args: {id: "{{index .groups 1}}", n: 1.50}}, {name: get_user, id: own-id}]
  - match: {regex: 'orders (\w+)', result: get_order}
    reply: "Order {{index .groups 1}} is {{.result.status}}; the user is {{.results.get_user.error}}."
  - match: {system: "*pirate*"}
    reply: Arr!
`, emulator.Options{AnyModel: true})
	each(t, server.URL, func(t *testing.T, _ string, stream bool, c generator) {
		ask := func(r eval.Request) *eval.Candidate {
			t.Helper()
			got, err := c.Generate(t.Context(), &eval.Call{Request: r, TrialID: "t"})
			expect.OK(t, err)
			if got.PromptBlock() != "" {
				return &eval.Candidate{FinishReason: got.PromptBlock()}
			}
			if got.Usage == nil || got.Usage.OutputTokens < 0 || got.Usage.PromptTokens < 1 {
				t.Errorf("the usage is %+v, want it counted", got.Usage)
			}
			return &got.Candidates[0]
		}
		france := ask(asking("The capital of France?", stream))
		expect.Same(t, "the text", france.Text, "Paris, of course: 100 % “sure” 😄")
		expect.Same(t, "the end", france.FinishReason, "STOP")
		expect.Same(t, "the thought", france.Pieces[0].(eval.ReasoningPiece).Reasoning, "A capital is wanted, and nothing else.")
		long := asking("Something long", stream)
		long.GenerationConfig = &eval.GenerationConfig{MaxOutputTokens: new(16)}
		cut := ask(long)
		shortened := "one two three four five six seven eight nine ten eleven twelve 1"
		expect.Same(t, "a cut one", []string{cut.Text, cut.FinishReason}, []string{shortened, "MAX_TOKENS"})
		expect.Same(t, "a block", ask(asking("an insult", stream)).Block(), "SAFETY")
		expect.Same(t, "a blocked prompt", ask(asking("a bomb", stream)).Block(), "SAFETY")
		system := asking("x", stream)
		system.System = "You are a pirate."
		expect.Same(t, "a system text", ask(system).Text, "Arr!")
		r := asking("Where are orders A17?", stream)
		r.Tools = []eval.Declaration{{Name: "get_order", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "get_user"}}
		first := ask(r)
		calls := first.FunctionCalls()
		expect.Same(t, "the end of a call", first.FinishReason, "TOOL_CALLS")
		expect.Same(t, "the text before a call", first.Text, "Let me see.")
		expect.Same(t, "the calls", len(calls), 2)
		expect.Same(t, "arguments", calls[0].Name+string(calls[0].Args)+calls[1].Name+calls[1].ID, `get_order{"id":"A17","n":1.50}get_userown-id`)
		turn := eval.AnsweredCall{Response: eval.Response{Candidates: []eval.Candidate{*first}}, Results: []eval.CallResult{
			{ID: calls[0].ID, Name: "get_order", Text: `{"status": "shipped"}`},
			{ID: calls[1].ID, Name: "get_user", Text: "unknown", Failed: true},
		}}
		expect.Same(t, "the answer", ask(r.After([]eval.AnsweredCall{turn})).Text, "Order A17 is shipped; the user is unknown.")
	})
}

// Faults are the same in all protocols, and errors with the kinds that decide about retries: never an answer.
func TestFaultsAreErrorsInAllProtocols(t *testing.T) {
	t.Parallel()
	kinds := map[string]eval.ErrorKind{
		"{status: 429, retryAfter: 2s}": eval.KindQuota, "{status: 503}": eval.KindStatus, "{status: 401}": eval.KindAuth,
		"{status: 529}": eval.KindStatus, "{cut: true}": eval.KindTruncated, "{malformed: json}": eval.KindMalformed,
		"{malformed: html}": eval.KindMalformed, "{malformed: type}": eval.KindMalformed, "{malformed: error}": eval.KindStatus,
		"{cut: true, after: 1}": eval.KindTruncated,
	}
	for fault, kind := range kinds {
		server := start(
			t,
			"rules: [{reply: one two three four five six seven eight nine, faults: ["+fault+"]}]",
			emulator.Options{AnyModel: true},
		)
		each(t, server.URL, func(t *testing.T, name string, stream bool, c generator) {
			got, err := c.Generate(t.Context(), &eval.Call{Request: asking("x", stream)})
			e := eval.AsError(err)
			if e == nil {
				t.Fatalf("%s %s: got the answer %+v, want an error", name, fault, got)
			}
			expect.Same(t, fault, e.Kind, kind)
			if strings.Contains(fault, "retryAfter") {
				expect.Same(t, "the wait in seconds", e.RetryAfter.Seconds(), 2)
			}
			if strings.Contains(e.Error(), key) {
				t.Errorf("got the key in %s, want it masked", e)
			}
		})
	}
}

// A literal reply is sent as it is in every protocol, and its pieces in the framing of the protocol.
func TestRawRepliesAreSentAsTheyAreInAllProtocols(t *testing.T) {
	t.Parallel()
	server := start(t, `
rules:
  - match: {text: "*whole*"}
    raw: {choices: [{index: 0, message: {role: assistant, content: literal}, finish_reason: stop}]}
  - match: {text: "*pieces*"}
    raw:
      - {type: message_start, message: {role: assistant, content: [], usage: {input_tokens: 5}}}
      - {type: content_block_delta, index: 0, delta: {type: text_delta, text: literal}}
      - {type: message_delta, delta: {stop_reason: end_turn}}
  - match: {text: "*broken*"}
    raw: [{type: response.created, response: {}}, '{"type": ']
`, emulator.Options{AnyModel: true})
	clients := all(server.URL)
	got, err := clients["openai"].Generate(t.Context(), &eval.Call{Request: asking("whole", false)})
	expect.OK(t, err)
	expect.Same(t, "whole", got.Text(), "literal")
	got, err = clients["anthropic"].Generate(t.Context(), &eval.Call{Request: asking("pieces", true)})
	expect.OK(t, err)
	expect.Same(t, "pieces", got.Text(), "literal")
	if got, err := clients["responses"].Generate(t.Context(), &eval.Call{Request: asking("broken", true)}); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
}

// Each protocol lists models in its own form, and the server is known for what it is.
func TestEachProtocolListsModelsInItsForm(t *testing.T) {
	t.Parallel()
	server := start(t, "rules: []", emulator.Options{Alias: map[string]string{"brand": "svc-pro"}, Key: key})
	for name, c := range all(server.URL) {
		models, err := c.Models(t.Context(), "v1")
		expect.OK(t, err)
		expect.Same(t, name, len(models), 8)
		one, err := c.Model(t.Context(), "v1", "brand")
		expect.OK(t, err)
		expect.Same(t, name, []any{one.ID(), one.InputTokenLimit, one.OutputTokenLimit, c.Emulated()}, []any{"brand", 30720, 2048, true})
		if _, err := c.Model(t.Context(), "v1", "none"); err == nil || !eval.AsError(err).NotFound() {
			t.Errorf("%s: got %v, want an error of status 404", name, err)
		}
		r := asking("x", false)
		r.Model = "none"
		if _, err := c.Generate(t.Context(), &eval.Call{Request: r}); err == nil || !eval.AsError(err).NotFound() {
			t.Errorf("%s: got %v, want an error of status 404", name, err)
		}
	}
	refused := map[string]generator{
		"openai":    openai.New(wire.Server{BaseURL: server.URL, Key: "another"}),
		"responses": openai.NewResponses(wire.Server{BaseURL: server.URL}),
		"anthropic": anthropic.New(wire.Server{BaseURL: server.URL, Key: "another"}),
	}
	for name, c := range refused {
		if _, err := c.Generate(t.Context(), &eval.Call{Request: asking("x", true)}); err == nil || eval.AsError(err).Status != 401 {
			t.Errorf("%s: got %v, want an error of status 401", name, err)
		}
	}
}

// Files, vectors and counts are served too, and a server on one's own machine wants no key.
func TestFilesVectorsAndCountsAreServed(t *testing.T) {
	t.Parallel()
	server := start(t, `rules: [{match: {image: true}, reply: "{{.images}} image, {{.turns}} turn"}]`, emulator.Options{AnyModel: true})
	r := asking("See:", false)
	r.Contents[0].Parts = append(r.Contents[0].Parts, eval.ImagePart{Image: &eval.Image{MIMEType: "image/png", Data: []byte("png")}})
	for name, c := range all(server.URL) {
		got, err := c.Generate(t.Context(), &eval.Call{Request: r})
		expect.OK(t, err)
		expect.Same(t, name, got.Text(), "1 image, 1 turn")
	}
	own := openai.New(wire.Server{BaseURL: server.URL})
	same, err := own.Embed(t.Context(), &eval.EmbedCall{Model: "embedding-001", Texts: []string{"a b", "a b", "c"}})
	expect.OK(t, err)
	expect.Same(t, "vectors of one text", same[0], same[1])
	expect.Same(t, "how long they are", len(same[2]), 256)
	models, err := own.Models(t.Context(), "")
	expect.OK(t, err)
	expect.Same(t, "models without a key", len(models), 7)
	n, err := anthropic.New(wire.Server{BaseURL: server.URL}).
		CountTokens(t.Context(), &eval.Call{Request: asking("12345678", false)})
	expect.OK(t, err)
	expect.Same(t, "the tokens", n, 2)
	stats := server.Stats()
	expect.Same(
		t,
		"the calls",
		[]int64{stats["chat/completions"], stats["responses"], stats["messages"], stats["embeddings"]},
		[]int64{1, 1, 1, 1},
	)
}

// What a request lacks is named, in the protocol's own form of an error.
func TestRefusedRequestsSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	server := start(t, "rules: []", emulator.Options{AnyModel: true})
	const chat, question = "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]`
	for _, test := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`, `model is required`},
		{"/chat/completions", `{"model":"m","messages":[]}`, `messages needs a message`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"robot","content":"x"}]}`, `messages[0]: role must be`},
		{
			"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"y"}]}`,
			`messages[1]: there is a result for the call`,
		},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"video"}]}]}`, `the type \"video\" is not known`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":"must"}`, `tool_choice`},
		{
			"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"temperature":"warm"}`,
			`temperature must be of the type number, not string`,
		},
		{chat, question + `,"temperature":2.5}`, `temperature must be from 0 to 2`},
		{chat, question + `,"max_tokens":0}`, `max_tokens must be at least 1`},
		{chat, question + `,"max_tokens":1.5}`, `max_tokens must be a whole number`},
		{chat, question + `,"n":0}`, `n must be from 1 to 128`},
		{chat, question + `,"stream":"true"}`, `stream must be of the type boolean`},
		{chat, question + `,"thread":"t_1"}`, `thread is not emulated`},
		{chat, question + `,"tools":[{"type":"function","function":{"name":"a b"}}]}`, `tools[0].function.name: `},
		{chat, question + `,"tool_choice":{"type":"function","function":{"name":"f"}}}`, `tool_choice.mode is ANY`},
		{
			chat, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[` +
				`{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"y"}]}`,
			`the call "c" of the model has no result`,
		},
		{chat, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[` +
			`{"id":"c","type":"function","function":{"name":"f","arguments":{}}}]}]}`, `arguments must be a text`},
		{"/v1/responses", `{"model":"m","input":"x","max_output_tokens":15}`, `max_output_tokens must be at least 16`},
		{"/v1/responses", `{"model":"m","input":"x","previous_response_id":"r"}`, `previous_response_id is not emulated`},
		{"/v1/responses", `{"model":"m","input":"x","background":true}`, `background is not emulated`},
		{"/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"i"}]}`, `input[0]: item_reference is not emulated`},
		{"/v1/messages", `{"model":"m","max_tokens":5,"temperature":1.5,"messages":[]}`, `temperature must be from 0 to 1`},
		{"/v1/messages", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":"{"}]}]}`, `input must be an object`},
		{"/v1/responses", `{"model":"m","input":[]}`, `input needs a message`},
		{"/responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"y"}]}`, `input[0]: there is a result`},
		{"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `"type":"invalid_request_error"`},
		{"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `max_tokens: Field required`},
		{"/v1/messages", `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"text":"x"}]}]}`, `messages[0]: content[0]: type`},
		{"/v1/embeddings", `{"model":"embedding-001","input":[]}`, `input needs`},
	} {
		resp, err := http.Post(server.URL+test.path, "application/json", strings.NewReader(test.body))
		expect.OK(t, err)
		data, err := io.ReadAll(resp.Body)
		expect.OK(t, err, resp.Body.Close())
		said := strings.NewReplacer("&#34;", `"`, `\"c\"`, `"c"`).Replace(string(data))
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(said, test.want) {
			t.Errorf("%s %s: got %d %s, want 400 and %q", test.path, test.body, resp.StatusCode, data, test.want)
		}
	}
}

// A message that a stop sequence ended says so, and which; the last event of a stream has all counts, as the service sends them.
func TestMessagesEndAsTheServiceSays(t *testing.T) {
	t.Parallel()
	server := start(t, "rules: [{match: {text: \"*count*\"}, reply: one two three four}]", emulator.Options{AnyModel: true})
	for _, test := range []struct{ more, want string }{
		{`"max_tokens":99`, `"stop_reason":"end_turn","stop_sequence":null`},
		{`"max_tokens":99,"stop_sequences":["four","two"]`, `"stop_reason":"stop_sequence","stop_sequence":"two"`},
		{`"max_tokens":99,"stop_sequences":["five"]`, `"stop_reason":"end_turn","stop_sequence":null`},
		{`"max_tokens":1,"stop_sequences":["four"]`, `"stop_reason":"max_tokens","stop_sequence":null`},
	} {
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"count"}],"stream":%t,%s}`, stream, test.more)
			resp, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(body))
			expect.OK(t, err)
			data, err := io.ReadAll(resp.Body)
			expect.OK(t, err, resp.Body.Close())
			_, end, _ := strings.Cut(string(data), "event: message_delta")
			if !stream {
				end = string(data)
			}
			for _, want := range []string{test.want, `"input_tokens":2`, `"cache_read_input_tokens":0`} {
				expect.Contains(t, fmt.Sprintf("%s stream %t", test.more, stream), end, want)
			}
		}
	}
}

// Unknown fields, as real services send them, change nothing.
func TestUnknownFieldsChangeNothingInAllProtocols(t *testing.T) {
	t.Parallel()
	server := start(t, "unknownFields: 1\nrules: [{reply: fine}]", emulator.Options{AnyModel: true})
	each(t, server.URL, func(t *testing.T, name string, stream bool, c generator) {
		got, err := c.Generate(t.Context(), &eval.Call{Request: asking("x", stream)})
		expect.OK(t, err)
		expect.Same(t, name, []string{got.Text(), got.Candidates[0].FinishReason}, []string{"fine", "STOP"})
	})
}

// The clients of all protocols submit a batch, find it, and read the answers that the same calls get on their own.
func TestClientsAnswerBatches(t *testing.T) {
	t.Parallel()
	server := start(t, `
usage: true
batch: {polls: 1, shuffle: true}
rules:
  - match: {text: busy}
    faults: [{status: 503, message: later}]
`, emulator.Options{AnyModel: true})
	for name, c := range all(server.URL) {
		t.Run(name, func(t *testing.T) {
			b := c.(wire.Batcher)
			calls := map[string]*eval.Call{}
			var items bytes.Buffer
			for i, text := range []string{"one", "two", "busy"} {
				id := fmt.Sprintf("%s-%d", name, i)
				calls[id] = &eval.Call{Request: asking(text, false)}
				line, err := b.Item(id, calls[id])
				expect.OK(t, err)
				items.Write(append(line, '\n'))
			}
			first := calls[name+"-0"]
			out := &wire.OutgoingBatch{Key: "run.1", First: first, Size: int64(items.Len()), Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(items.Bytes())), nil
			}}
			state, err := b.Submit(t.Context(), out)
			expect.OK(t, err)
			for range 2 {
				expect.Same(t, "phase", state.Phase, wire.BatchOpen)
				state, err = b.State(t.Context(), first, state.ID)
				expect.OK(t, err)
			}
			expect.Same(t, "phase", state.Phase, wire.BatchEnded)
			for listed, err := range b.List(t.Context(), first) {
				expect.OK(t, err)
				if listed.ID == state.ID {
					expect.Same(t, "listed", *listed, *state)
				}
			}
			n := 0
			for reply, err := range b.Replies(t.Context(), first, state) {
				n++
				expect.OK(t, err)
				got, err := b.Read(calls[reply.Item], reply)
				live, want := c.Generate(t.Context(), calls[reply.Item])
				if want == nil {
					expect.OK(t, err)
					expect.Same(t, "answer", got.Candidates[0].Text, live.Candidates[0].Text)
					expect.Same(t, "usage", got.Usage, live.Usage)
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "later") || eval.AsError(err).Kind != eval.AsError(want).Kind {
					t.Errorf("got %v, want %v as for a live call", err, want)
				}
			}
			expect.Same(t, "replies", n, 3)
		})
	}
	expect.Same(t, "served", strings.Join(server.Served(), ", "), "generateContent 3, chat/completions 3, responses 3, messages 3, "+
		"batches 4, batch items 12, batch answers 8, batch duplicates 8")
}
