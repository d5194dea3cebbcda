package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/hostile"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

// oddAnswer is an answer that few servers give, and what it says.
type oddAnswer struct {
	body string
	want candidate
}

func oddAnswers() map[string]oddAnswer {
	two := calls(call("1", "f", `{"a":1.0}`), call("2", "g", `{"b":2}`))
	done := candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: two}
	spoken := candidate{Text: "Hi", Reason: "STOP", Vendor: "stop", Parts: []eval.Piece{
		eval.TextPiece{Text: "Hi"}, eval.OtherPiece{Other: json.RawMessage(`{"id":"a","transcript":"Hi","type":"audio"}`)},
	}}
	end := "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
	delta := func(text string) string {
		return "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[" + text + "]}}]}\n\n"
	}
	return map[string]oddAnswer{
		"no index, with ids": {
			delta(`{"id":"1","function":{"name":"f","arguments":"{\"a\":"}}`) + delta(`{"function":{"arguments":" 1.0}"}}`) +
				delta(`{"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}`) + end, done,
		},
		"one index for all": {
			delta(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1.0}"}}`) +
				delta(`{"index":0,"id":"2","function":{"name":"g","arguments":"{\"b\":"}}`) +
				delta(`{"index":0,"function":{"arguments":"2}"}}`) + end, done,
		},
		"one index for all, without ids": {
			delta(`{"index":0,"id":"","function":{"name":"f","arguments":"{\"a\":"}}`) +
				delta(`{"index":0,"function":{"name":"f","arguments":"1.0}"}}`) +
				delta(`{"index":0,"id":"","function":{"name":"g","arguments":"{\"b\":"}}`) +
				delta(`{"index":0,"function":{"arguments":"2}"}}`) + end,
			candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: calls(call("", "f", `{"a":1.0}`), call("", "g", `{"b":2}`))},
		},
		"ids and names again and again": {
			delta(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":"}}`) +
				delta(`{"index":1,"id":"2","function":{"name":"g","arguments":"{\"b\""}}`) +
				delta(`{"index":0,"id":"1","function":{"name":"f","arguments":"1.0}"}}`) +
				delta(`{"index":1,"id":"2","function":{"name":"g","arguments":":2}"}}`) + end, done,
		},
		"an id for each chunk": { // as Foundry Local, and llama.cpp of old
			`data: {"id":"x","choices":[{"delta":{"role":"assistant"}}]}` + "\n\n" +
				`data: {"id":"y","choices":[{"delta":{"content":"a"}}]}` + "\n\n" +
				`data: {"id":"z","choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}` + "\n\n",
			candidate{Text: "ab", Reason: "STOP", Vendor: "stop"},
		},
		"arguments as an object": {
			`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a": 1.0}}},` +
				`{"id":"2","function":{"name":"g","arguments":{"b":2}}}]},"finish_reason":"tool_calls"}]}`, done,
		},
		"one id and one index for all calls of an answer": {
			`{"choices":[{"message":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1.0}"}},` +
				`{"index":0,"id":"1","function":{"name":"g","arguments":"{\"b\":2}"}}]},"finish_reason":"tool_calls"}]}`,
			candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: calls(call("1", "f", `{"a":1.0}`), call("1", "g", `{"b":2}`))},
		},
		"stop after calls": {
			`{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":""}}]},"finish_reason":"stop"}]}`,
			candidate{Reason: "TOOL_CALLS", Vendor: "stop", Parts: calls(call("", "f", ""))},
		},
		"the call of old": {
			`{"choices":[{"message":{"content":"","function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}`,
			candidate{Reason: "TOOL_CALLS", Vendor: "function_call", Parts: calls(call("", "f", "{}"))},
		},
		"arguments that are no JSON": {
			`{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]},"finish_reason":"length"}]}`,
			candidate{Reason: "MAX_TOKENS", Vendor: "length", Parts: calls(call("", "f", `"{\"a\""`))},
		},
		"an empty call of old": { // as Snowflake
			`{"choices":[{"message":{"content":"a","function_call":{"name":"","arguments":null}},"finish_reason":"stop"}]}`,
			candidate{Text: "a", Reason: "STOP", Vendor: "stop"},
		},
		"a delta next to the message": { // as Perplexity
			`{"choices":[{"delta":{"content":"","role":"assistant"},"message":{"content":"a","role":"assistant"},"finish_reason":"stop"}]}`,
			candidate{Text: "a", Reason: "STOP", Vendor: "stop"},
		},
		"a delta next to an empty message": {
			`{"choices":[{"delta":{"content":"a"},"message":{"content":"","role":"assistant"},"finish_reason":"stop"}]}`,
			candidate{Text: "a", Reason: "STOP", Vendor: "stop"},
		},
		"a stream that ends with all of the answer": { // as MiniMax
			`data: {"choices":[{"delta":{"reasoning":"so"}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"b"}}]}` + "\n\n" +
				`data: {"object":"chat.completion","choices":[{"message":{"content":"ab","reasoning":"so"},"finish_reason":"stop"}]}` + "\n\n",
			candidate{Text: "ab", Reason: "STOP", Vendor: "stop", Parts: []eval.Piece{
				eval.ReasoningPiece{Reasoning: "so"}, eval.TextPiece{Text: "ab"},
			}},
		},
		"a stream of calls that ends with all of them": {
			delta(`{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1.0}"}}`) +
				delta(`{"index":1,"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}`) +
				`data: {"choices":[{"message":{"content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1.0}"}},` +
				`{"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
			done,
		},
		"a stream of thoughts that ends with all of the answer": {
			`data: {"choices":[{"delta":{"reasoning":"so"}}]}` + "\n\n" +
				`data: {"choices":[{"message":{"reasoning":"so","content":"ab"},"finish_reason":"stop"}]}` + "\n\n",
			candidate{Text: "ab", Reason: "STOP", Vendor: "stop", Parts: []eval.Piece{
				eval.ReasoningPiece{Reasoning: "so"}, eval.TextPiece{Text: "ab"},
			}},
		},
		"a stream of calls that ends with a text": {
			delta(`{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}`) +
				`data: {"choices":[{"message":{"content":"a","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},` +
				`"finish_reason":"tool_calls"}]}` + "\n\n",
			candidate{Text: "a", Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: append(
				calls(call("1", "f", "{}")), eval.TextPiece{Text: "a"},
			)},
		},
		"a call under both names": { // as llama-cpp-python
			`{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"},` +
				`"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: calls(call("1", "f", "{}"))},
		},
		"a delta alone": {`{"choices":[{"message":null,"delta":{"content":"a"}}]}`, candidate{Text: "a"}},
		"an object as content": { // as Cloudflare, of a model that had to write JSON
			`{"choices":[{"message":{"content":{"a": [1.0, "b"]}},"finish_reason":"stop"}]}`,
			candidate{Text: `{"a":[1.0,"b"]}`, Reason: "STOP", Vendor: "stop"},
		},
		"an object with a type as content": {
			`{"choices":[{"message":{"content":{"type":"city","name":"a"}}}]}`, candidate{Text: `{"type":"city","name":"a"}`},
		},
		"an object with a text as content": {
			`{"choices":[{"message":{"content":{"text":"a","at":1}}}]}`, candidate{Text: `{"text":"a","at":1}`},
		},
		"thoughts in parts": { // as Databricks, and others
			`{"choices":[{"message":{"content":[{"type":"reasoning","summary":[{"type":"summary_text","text":"so"}]},` +
				`{"type":"reasoning","text":" on"},{"type":"text","text":"a"}]}}]}`,
			candidate{Text: "a", Parts: []eval.Piece{eval.ReasoningPiece{Reasoning: "so on"}, eval.TextPiece{Text: "a"}}},
		},
		"a thought as content": {
			`{"choices":[{"message":{"content":{"type":"reasoning","summary":[{"type":"summary_text","text":"so"}]}}}]}`,
			candidate{Parts: []eval.Piece{eval.ReasoningPiece{Reasoning: "so"}}},
		},
		"a list as content":   {`{"choices":[{"message":{"content":[{"a":1},2]}}]}`, candidate{Text: `[{"a":1},2]`}},
		"one part as content": {`{"choices":[{"message":{"content":{"type":"text","text":"a"}}}]}`, candidate{Text: "a"}},
		"a custom tool": {
			`{"choices":[{"message":{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"{\"a\":1} + 4"}}]},` +
				`"finish_reason":"tool_calls"}]}`,
			candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: calls(call("1", "f", `"{\"a\":1} + 4"`))},
		},
		"a custom tool in pieces": {
			delta(`{"index":0,"id":"1","type":"custom","custom":{"name":"f","input":"{}"}}`) +
				delta(`{"index":0,"custom":{"input":" "}}`) + end,
			candidate{Reason: "TOOL_CALLS", Vendor: "tool_calls", Parts: calls(call("1", "f", `"{} "`))},
		},
		"speech": {
			`{"choices":[{"message":{"content":null,"audio":{"id":"a","data":"AAAA","transcript":"Hi"}},"finish_reason":"stop"}]}`,
			spoken,
		},
		"speech and the same text": {
			`{"choices":[{"message":{"content":"Hi","audio":{"id":"a","data":"AAAA","transcript":"Hi"}},"finish_reason":"stop"}]}`, spoken,
		},
		"speech after another text": {
			`{"choices":[{"message":{"content":"Sure:","audio":{"transcript":"Hi there"}}}]}`, candidate{Text: "Sure:Hi there", Parts: []eval.Piece{
				eval.TextPiece{Text: "Sure:Hi there"}, eval.OtherPiece{Other: json.RawMessage(`{"transcript":"Hi there","type":"audio"}`)},
			}},
		},
		"speech that goes on after the text": {
			`{"choices":[{"message":{"content":"Hi","audio":{"transcript":"Hi there"}}}]}`, candidate{Text: "Hi there", Parts: []eval.Piece{
				eval.TextPiece{Text: "Hi there"}, eval.OtherPiece{Other: json.RawMessage(`{"transcript":"Hi there","type":"audio"}`)},
			}},
		},
		"speech in pieces after a text that begins like it": {
			`data: {"choices":[{"delta":{"content":"Hi"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"audio":{"transcript":"H"}}}]}` + "\n\n" +
				`data: {"choices":[{"delta":{"audio":{"transcript":"o"}},"finish_reason":"stop"}]}` + "\n\n",
			candidate{Text: "HiHo", Reason: "STOP", Vendor: "stop", Parts: []eval.Piece{
				eval.TextPiece{Text: "HiHo"}, eval.OtherPiece{Other: json.RawMessage(`{"transcript":"Ho","type":"audio"}`)},
			}},
		},
		"speech in another form": {`{"choices":[{"message":{"content":"Hi","audio":"AAAA"}}]}`, candidate{Text: "Hi"}},
		"speech in pieces": {
			`data: {"choices":[{"index":0,"delta":{"audio":{"id":"a","transcript":"H"}}}]}` + "\n\n" +
				`data: {"choices":[{"index":0,"delta":{"audio":{"data":"AA","transcript":"i"}}}]}` + "\n\n" +
				`data: {"choices":[{"index":0,"delta":{"audio":{"data":"AA"}},"finish_reason":"stop"}]}` + "\n\n",
			spoken,
		},
		"no index, no reason": {`{"choices":[{"message":{"content":"a"}}]}`, candidate{Text: "a"}},
		"reasons in capitals": {`{"choices":[{"message":{"content":"a"},"finish_reason":"STOP"}]}`, candidate{Text: "a", Reason: "STOP"}},
		"a block": {
			`{"choices":[{"message":{},"finish_reason":"recitation"}]}`, candidate{Reason: "RECITATION", Vendor: "recitation"},
		},
		"a new reason": {
			`{"choices":[{"message":{"content":"a"},"finish_reason":"pause"}]}`, candidate{Text: "a", Reason: "OTHER", Vendor: "pause"},
		},
		"texts in a list": {
			`{"choices":[{"message":{"content":[{"type":"text","text":"a"},"b",{"type":"output_text","text":"c"}]},"finish_reason":"stop"}]}`,
			candidate{Text: "abc", Reason: "STOP", Vendor: "stop"},
		},
		"thoughts under two names": {
			`{"choices":[{"message":{"content":"a","reasoning":"so","reasoning_content":"so"},"finish_reason":"stop"}]}`,
			candidate{Text: "a", Reason: "STOP", Vendor: "stop", Parts: []eval.Piece{
				eval.ReasoningPiece{Reasoning: "so"}, eval.TextPiece{Text: "a"},
			}},
		},
		"one piece instead of a stream": {
			`{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`, candidate{Text: "a", Reason: "STOP", Vendor: "stop"},
		},
		"an error of nothing": {
			`data: {"choices":[{"delta":{"content":"a"}}],"error":{}}` + "\n\n" +
				`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"error":false}` + "\n\n",
			candidate{Text: "a", Reason: "STOP", Vendor: "stop"},
		},
		"an error of no words": {`{"choices":[{"message":{"content":"a"}}],"error":""}`, candidate{Text: "a"}},
		"a byte order mark":    {"\xEF\xBB\xBF" + `{"choices":[{"message":{"content":"a"}}]}`, candidate{Text: "a"}},
		"null": {
			`{"id":null,"model":null,"usage":null,"choices":[` +
				`{"index":null,"message":{"content":"a","tool_calls":null,"refusal":null},"finish_reason":null}]}`,
			candidate{Text: "a"},
		},
	}
}

// Servers differ, and all of these are answers.
func TestOddAnswersAreRead(t *testing.T) {
	t.Parallel()
	for name, test := range oddAnswers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ask(
				t,
				&replies.Canned{Body: []byte(test.body)},
				strings.HasPrefix(test.body, "data:") || strings.HasPrefix(name, "one piece"),
			)
			expect.OK(t, err)
			c := got.Candidates[0]
			expect.Same(t, "the candidate", candidate{c.Text, c.FinishReason, c.VendorReason, c.Pieces}, test.want)
		})
	}
}

// The audio of an answer is not lost, nor is a call that is no function, when they go back to the server.
func TestOddAnswersGoBackAsTheyCame(t *testing.T) {
	t.Parallel()
	odd := oddAnswers()
	for name, want := range map[string]string{
		"speech in pieces":        `"audio":{"data":"AAAA","id":"a","transcript":"Hi"}`,
		"a custom tool in pieces": `"tool_calls":[{"custom":{"name":"f","input":"{} "},"id":"1","type":"custom"}]`,
		"an object as content":    `"content":{"a":[1.0,"b"]}`,
	} {
		got, err := ask(t, &replies.Canned{Body: []byte(odd[name].body)}, strings.HasPrefix(odd[name].body, "data:"))
		expect.OK(t, err)
		if raw := string(got.Candidates[0].Raw); !strings.Contains(raw, want) {
			t.Errorf("%s: got %s, want %s in it", name, raw, want)
		}
	}
}

func TestUsageOfAStreamIsItsLast(t *testing.T) {
	t.Parallel()
	last := `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],`
	usage := `"usage":{"prompt_tokens":14,"completion_tokens":2,"total_tokens":16}`
	for name, end := range map[string]string{
		"of its own": last + `"usage":{"prompt_tokens":15,"completion_tokens":2,"total_tokens":17}}` + "\n\n" +
			`data: {"choices":[],` + usage + "}\n\n",
		"in the vendor's member": last + `"x_groq":{"id":"r",` + usage + "}}\n\n",
	} {
		got, err := ask(t, &replies.Canned{Body: []byte(end)}, true)
		expect.OK(t, err)
		if u := got.Usage; u == nil || u.PromptTokens != 14 || u.TotalTokens != 16 {
			t.Errorf("%s: got the usage %+v, want 14 of 16 tokens", name, u)
		}
	}
}

// A chunk that differs from the one before by its text alone is read like any other: one with other blanks never is alike.
func TestChunksThatAreAlikeReadLikeOthers(t *testing.T) {
	t.Parallel()
	const end = `data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":9}}` + "\n\n"
	texts := []string{`Hello`, ` wor`, `ld\n`, `\u00e4 \"quoted\" \ud83d\ude00`, ``, `ü`, `Hello`, `\\`, `{\"choices\"}`, `end`}
	for _, delta := range []string{
		`{"content":"TEXT"}`, `{"role":"assistant","content":"TEXT","refusal":null}`, `{"content":"TEXT","own":"x"}`,
		`{"content":"TEXT","content":"TEXT"}`, `{"reasoning_content":"t","content":"TEXT"}`, `{"content":"TEXT","tool_calls":[]}`,
	} {
		for _, rest := range []string{``, `,"finish_reason":null,"logprobs":null`, `,"finish_reason":"stop"`, `,"logprobs":{"content":[]}`} {
			var plain, padded strings.Builder
			for i, text := range texts {
				said := strings.ReplaceAll(delta, "TEXT", text)
				fmt.Fprintf(&plain, "data: {%s\n\n", `"id":"a","choices":[{"index":0,"delta":`+said+rest+`}]}`)
				fmt.Fprintf(&padded, "data: {%*s%s\n\n", i+1, "", `"id":"a","choices":[{"index":0,"delta":`+said+rest+`}]}`)
			}
			got, err := ParseResponse([]byte(plain.String() + end))
			want, wantErr := ParseResponse([]byte(padded.String() + end))
			expect.Same(t, delta+rest+": the error", fmt.Sprint(err), fmt.Sprint(wantErr))
			expect.Same(t, delta+rest, got, want)
		}
	}
}

// What a service put into a cache is billed at its own price, by each of the two protocols.
func TestUsageHasWhatWasPutIntoACache(t *testing.T) {
	t.Parallel()
	details := `_tokens_details":{"cached_tokens":3,"cache_write_tokens":4}`
	chat, err := ParseResponse([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt` +
		details + `}}`))
	expect.OK(t, err)
	response, err := ParseResponses([]byte(`{"status":"completed","output":[{"type":"message",` +
		`"content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":10,"output_tokens":1,"input` + details + `}}`))
	expect.OK(t, err)
	for name, u := range map[string]*eval.Usage{"chat completions": chat.Usage, "Responses": response.Usage} {
		expect.Same(t, name, []int{u.PromptTokens, u.CachedTokens, u.WrittenTokens}, []int{10, 3, 4})
	}
}

func refusesChoice(t *testing.T, choice string) {
	t.Helper()
	_, err := ParseResponse([]byte(`{"choices":[` + choice + `]}`))
	if e := eval.AsError(err); e == nil || e.Kind != eval.KindMalformed {
		t.Errorf("%s: got %v, want a malformed answer", choice, err)
	}
}

// A choice that ended without a message is no empty answer: the text may stand where no chat completion has it.
func TestAChoiceWithoutAMessageIsMalformed(t *testing.T) {
	for _, choice := range []string{`"text":"a"`, `"message":null`, `"delta":null`} {
		refusesChoice(t, `{"index":0,`+choice+`,"finish_reason":"stop"}`)
	}
	for _, reason := range []string{`null`, `"length"`, `"other"`} { // as a stream has it too
		refusesChoice(t, `{"index":0,"text":"a","finish_reason":`+reason+`}`)
	}
}

// A prompt without a usable number of tokens is not free: the total has it.
func TestAPromptThatIsNotCountedHasTheRestOfTheTotal(t *testing.T) {
	for _, prompt := range []string{``, `"prompt_tokens":5.7,`, `"prompt_tokens":1e400,`} {
		usage := `{` + prompt + `"completion_tokens":1,"total_tokens":7}`
		r, err := ParseResponse([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":` + usage + `}`))
		expect.OK(t, err)
		expect.Same(t, "prompt tokens with "+prompt, r.Usage.PromptTokens, 6)
		r, err = ParseResponses([]byte(`{"object":"response","status":"completed","output":[],"usage":` + usage + `}`))
		expect.OK(t, err)
		expect.Same(t, "a response with "+prompt, []int{r.Usage.PromptTokens, r.Usage.OutputTokens}, []int{6, 1})
		usage = strings.NewReplacer("prompt", "input", "completion", "output").Replace(usage)
		r, err = ParseResponses([]byte(`{"object":"response","status":"completed","output":[],"usage":` + usage + `}`))
		expect.OK(t, err)
		expect.Same(t, "input tokens with "+prompt, r.Usage.PromptTokens, 6)
		r, err = ParseResponse([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":` + usage + `}`)) // as some gateways have it
		expect.OK(t, err)
		expect.Same(t, "chat with "+prompt, []int{r.Usage.PromptTokens, r.Usage.OutputTokens}, []int{6, 1})
	}
}

const canary = "sk-canary-0123456789"

func ask(t *testing.T, transport *replies.Canned, stream bool) (*eval.Response, error) {
	t.Helper()
	c := New(wire.Server{BaseURL: "http://service.invalid/v1", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

// Every recorded reply of OpenAI and of eighteen compatible servers is read as its index says.
func TestRecordedRepliesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 47, ask, ParseResponse, "openai", "compatible")
}

func TestDamagedStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, ask, "openai", "compatible")
}

// FuzzParseResponse checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponse(f *testing.F) {
	replies.Fuzz(f, ParseResponse, hostile.Strings(), "openai", "compatible")
}

func fetch(t *testing.T, transport *replies.Canned, stream bool) (*eval.Response, error) {
	t.Helper()
	c := NewResponses(wire.Server{BaseURL: "http://service.invalid/v1", Key: canary, Transport: transport})
	return c.Generate(t.Context(), &eval.Call{Request: eval.Request{Model: "m", Stream: stream}})
}

func TestRecordedResponsesReadAsIndexed(t *testing.T) {
	t.Parallel()
	replies.HoldAll(t, 24, fetch, ParseResponses, "responses")
}

func TestDamagedResponsesStreamsAreErrors(t *testing.T) {
	t.Parallel()
	replies.HoldFaults(t, fetch, "responses")
}

// FuzzParseResponses checks that whatever comes is an error of some kind, or an answer.
func FuzzParseResponses(f *testing.F) {
	replies.Fuzz(f, ParseResponses, hostile.Strings(), "responses")
}
