package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/testing/expect"
	"github.com/evalrun/evalrun/internal/testing/replies"
)

func TestAnswersKeepTheirToolCalls(t *testing.T) {
	t.Parallel()
	call := eval.CallPiece{Call: &eval.FunctionCall{Name: "get_order", Args: json.RawMessage(`{"id":"7"}`)}}
	named := eval.CallPiece{Call: &eval.FunctionCall{ID: "c1", Name: "close"}}
	for line, want := range map[string]eval.Candidate{
		`"toolCalls":[{"name":"get_order","args":{"id":"7"}},{"id":"c1","name":"close"}]`: {
			FinishReason: "TOOL_CALLS", Pieces: []eval.Piece{call, named},
		},
		`"text":"It is shipped.","toolCalls":[{"name":"get_order","args":{"id":"7"}}]`: {
			Text: "It is shipped.", FinishReason: "STOP", Pieces: []eval.Piece{call, eval.TextPiece{Text: "It is shipped."}},
		},
		`"toolCalls":[{"id":"c1","name":"close","args":null}],"finishReason":"tool_use"`: {
			FinishReason: "TOOL_CALLS", VendorReason: "tool_use", Pieces: []eval.Piece{named},
		},
		`"text":"none","toolCalls":[]`:   {Text: "none", FinishReason: "STOP"},
		`"text":"none","toolCalls":null`: {Text: "none", FinishReason: "STOP"},
	} {
		a, err := readLines(t, `{"case":"one",`+line+`}`)
		if err != nil {
			t.Errorf("%s: %v, want no error", line, err)
			continue
		}
		expect.Same(t, line, a.lines[0].result().Response.Candidates, []eval.Candidate{want})
	}
}

// A run file keeps the pieces of an answer, and so does a line with its response.
func TestAnswersOfARunFileKeepTheirToolCalls(t *testing.T) {
	t.Parallel()
	a, err := readLines(t, `{"case":"one","response":{"candidates":[{"text":"","finishReason":"TOOL_CALLS","vendorReason":"STOP",`+
		`"parts":[{"reasoning":"hm"},{"call":{"name":"get_order","args":{"id":"7"}}}],"raw":{"content":{}}}]}}`)
	expect.OK(t, err)
	c := a.lines[0].result().Response.Candidates[0]
	expect.Same(t, "calls", c.FunctionCalls(), []eval.FunctionCall{{Name: "get_order", Args: json.RawMessage(`{"id":"7"}`)}})
	expect.Same(t, "reasons", []string{c.FinishReason, c.VendorReason, string(c.Raw)}, []string{"TOOL_CALLS", "STOP", `{"content":{}}`})
}

func TestUsageOfAnswersIsRead(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]eval.Usage{
		`{"inputTokens":3,"outputTokens":4}`:                    {PromptTokens: 3, OutputTokens: 4, TotalTokens: 7, Source: eval.UsageService},
		`{"promptTokens":3,"outputTokens":4,"totalTokens":9}`:   {PromptTokens: 3, OutputTokens: 4, TotalTokens: 9, Source: eval.UsageService},
		`{"inputTokens":3,"promptTokens":3,"source":"counted"}`: {PromptTokens: 3, TotalTokens: 3, Source: eval.UsageCounted},
		`{"totalTokens":3}`: {TotalTokens: 3, Source: eval.UsageService},
		`{"inputTokens":3,"cachedTokens":1,"reasoningTokens":2,"toolUseTokens":5}`: {
			PromptTokens: 3, TotalTokens: 8, CachedTokens: 1, ReasoningTokens: 2, ToolUseTokens: 5, Source: eval.UsageService,
		},
	} {
		a, err := readLines(t, `{"case":"one","text":"x","usage":`+line+`}`)
		if err != nil {
			t.Errorf("%s: %v, want no error", line, err)
			continue
		}
		expect.Same(t, line, *a.lines[0].result().Usage, want)
	}
}

func TestFormsThatAreNoAnswersAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 6000) + strings.Repeat("]", 6000)
	for line, want := range map[string]string{
		`"toolCalls":[{"args":{}}]`:                             "`toolCalls[0]` has no `name`",
		`"toolCalls":[{"name":"a"},{"name":"b","args":[1]}]`:    "`toolCalls[1].args` is not a JSON object",
		`"toolCalls":[{"name":"a","args":"{}"}]`:                "`toolCalls[0].args` is not a JSON object",
		`"toolCalls":[{"name":"a","arguments":{}}]`:             `unknown field "arguments"`,
		`"toolCalls":{"name":"a"}`:                              "wrong type: object",
		`"toolCalls":[{"name":"a"}],"turns":["x"]`:              "an answer has one of",
		`"toolCalls":[],"response":{"candidates":[]}`:           "an answer has one of",
		`"text":"x","usage":{"inputToken":3}`:                   `unknown field "inputToken"`,
		`"text":"x","usage":{"inputTokens":3,"promptTokens":4}`: "which mean the same",
		`"text":"x","usage":{"outputTokens":-1}`:                "-1 of tokens, which is negative",
		`"text":"x","usage":{"outputTokens":"4"}`:               "wrong type: string",
		`"text":"x","usage":{"source":"me"}`:                    "`usage.source` is service, counted or estimated",
		`"repeat":-1,"text":"x"`:                                "`repeat` counts from 1",
		`"response":{"candidates":[]},"finishReason":"STOP"`:    "`finishReason` goes with `text` or `toolCalls`",
		`"toolCalls":[{"name":"a","args":{"a":` + deep + "}}]":  "not an answer: nested deeper than 5000 levels",
	} {
		_, err := readLines(t, `{"case":"one",`+line+`}`)
		if err == nil || eval.CodeOf(err) != eval.CodeBadInput {
			t.Errorf("%.80s: exit %d with %v, want bad input", line, eval.CodeOf(err), err)
		} else if said := err.Error(); !strings.Contains(said, want) || !strings.Contains(said, "a.jsonl:1: ") {
			t.Errorf("%s: %v, want bad input in line 1 that says %s", line, err, want)
		}
	}
}

// A reply of any protocol is read as it came.
func TestAnswersMayHaveTheFormOfAnyProtocol(t *testing.T) {
	t.Parallel()
	all, err := replies.In("openai", "compatible", "anthropic", "responses")
	expect.OK(t, err)
	n := 0
	for _, r := range all {
		if r.Stream || r.Status != 200 {
			continue
		}
		n++
		var line bytes.Buffer
		expect.OK(t, json.Compact(&line, r.Body))
		a, err := readLines(t, `{"case":"one","response":`+line.String()+`}`)
		if err != nil {
			r.Check(t, nil, err)
			continue
		}
		if failed := a.lines[0].Response.failed; failed != nil {
			r.Check(t, nil, failed)
			continue
		}
		got := a.lines[0].result()
		got.Response.Usage = got.Usage
		r.Check(t, got.Response, nil)
	}
	expect.Same(t, "the number of replies", n, 33)
}
