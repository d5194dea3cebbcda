package emulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// A literal reply fits the request: whole, or as chunks of either framing.
func TestRawRepliesFitTheRequest(t *testing.T) {
	t.Parallel()
	const whole = `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":1.0}}}]}}]}`
	server := serve(t, `
rules:
  - {match: {text: text}, raw: ' {"as": "it is"}'}
  - {match: {text: mapping}, raw: `+whole+`}
  - {match: {text: chunks}, raw: [{a: 1}, {b: "two\nlines"}, '{"broken'], stream: {gap: 1ms}}
  - {match: {text: cut}, raw: [{a: 1}, {b: 2}], faults: [{cut: true, after: 1}]}
  - {match: {text: busy}, raw: {a: 1}, faults: [{status: 429}]}
`, nil)
	sse := proStream + "?alt=sse"
	for _, test := range []struct{ question, path, want string }{
		{"text", pro, ` {"as": "it is"}`},
		{"text", proStream, ` {"as": "it is"}`},
		{"text", sse, ` {"as": "it is"}`},
		{"mapping", pro, whole},
		{"mapping", proStream, "[" + whole + "\n]\n"},
		{"mapping", sse, "data: " + whole + "\r\n\r\n"},
		{"chunks", proStream, "[{\"a\":1}\n,\r\n{\"b\":\"two\\nlines\"}\n,\r\n{\"broken\n]\n"},
		{"chunks", sse, "data: {\"a\":1}\r\n\r\ndata: {\"b\":\"two\\nlines\"}\r\n\r\ndata: {\"broken\r\n\r\n"},
		{"chunks", pro, "[{\"a\":1}\n,\r\n{\"b\":\"two\\nlines\"}\n,\r\n{\"broken\n]\n"},
		{"cut", proStream, "[{\"a\":1}\n,\r\n{\"b"},
	} {
		_, got, _ := post(t, server, test.path, text(test.question))
		expect.Same(t, test.question+" "+test.path, got, test.want)
	}
	if status, got, _ := post(t, server, sse, text("busy")); status != 429 {
		t.Errorf("got %d %s, want 429", status, got)
	}
}

// Counts that only a script knows, empty finish reasons, and fields that no client knows in calls.
func TestScriptedUsageAndUnknownFieldsAreSent(t *testing.T) {
	t.Parallel()
	server := serve(t, `
rules:
  - {match: {text: used}, usage: {toolUsePromptTokenCount: 5, cachedContentTokenCount: 3}, reply: "1234"}
  - {match: {text: bad}, finishReason: MALFORMED_FUNCTION_CALL, toolCalls: [{name: f}]}
  - {match: {text: odd}, unknownFields: 1, toolCalls: [{name: f, args: {a: [null]}}]}
`, nil)
	expect.Same(t, "usage", *answered(t, server, text("used")).UsageMetadata, wireUsage{
		Prompt: 1, Candidates: 1, Cached: 3, ToolUse: 5, Total: 7,
	})
	if got := answered(t, server, text("bad")); got.Candidates[0].Content != nil || got.UsageMetadata != nil {
		t.Errorf("got %+v, want neither content nor usage", got)
	}
	_, got, _ := post(t, server, pro, text("odd"))
	if !strings.Contains(got, `"partMetadata"`) || !strings.Contains(got, `"citationMetadata"`) || !json.Valid([]byte(got)) {
		t.Errorf("got %s, want unknown fields in the call and around it", got)
	}
}

func TestProblemsInScriptedCallsAreReported(t *testing.T) {
	t.Parallel()
	var diags diag.List
	LoadScript("s.yaml", []byte(`
requestFields: {a: 1}
rules:
  - {toolCalls: [{args: {a: 1}}]}
  - {toolCalls: [{name: f, args: [1]}]}
  - {toolCalls: [{name: f, args: {a: {b: "{{.promt}}"}}}]}
  - {reasoning: "{{.x", replies: [{weight: 2}]}
  - {raw: {a: 1}, toolCalls: [{name: f}]}
  - {match: {step: 0, resultText: [x]}}
  - {usage: {thoughtsTokenCount: 1}}
`), &diags)
	var got []string
	for _, d := range diags.Sorted() {
		got = append(got, fmt.Sprintf("%d: %s", d.Pos.Line, d.Message))
	}
	expect.Same(t, "problems", got, []string{
		"2: expected a text, found a mapping",
		"4: the key `name` is missing",
		"5: expected a mapping, found a list",
		"6: there is no variable `promt`",
		"7: in the template: unclosed action",
		"7: a rule with replies has no reply, toolCalls or reasoning outside the list",
		"7: an answer has text, toolCalls or both",
		"8: a rule with raw has no reply, replies, toolCalls or reasoning",
		"9: 0 is out of range: between 1 and 32767",
		"9: expected a text, found a list",
		"10: unknown key `thoughtsTokenCount`",
	})
}
