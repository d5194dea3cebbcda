package openai

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
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
		"a byte order mark": {"\xEF\xBB\xBF" + `{"choices":[{"message":{"content":"a"}}]}`, candidate{Text: "a"}},
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
