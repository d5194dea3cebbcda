package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestFinishReasonsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][2]string{
		"": {"STOP", ""}, "STOP": {"STOP", ""}, "stop": {"STOP", "stop"}, "end_turn": {"STOP", "end_turn"},
		"length": {"MAX_TOKENS", "length"}, "MAX_TOKENS": {"MAX_TOKENS", ""}, "tool_use": {"TOOL_CALLS", "tool_use"},
		"TOOL_CALLS": {"TOOL_CALLS", ""}, "safety": {"SAFETY", "safety"}, "RECITATION": {"RECITATION", ""},
		"content_filter": {"SAFETY", "content_filter"}, "handed over": {"handed over", ""},
	} {
		reason, vendor := finish(word)
		expect.Same(t, word, [2]string{reason, vendor}, want)
	}
}

func TestTextsAndErrorsOfAnyShapeAreRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		``: {"", ""}, `null`: {"", ""}, `""`: {"", ""}, `"a\nb"`: {"a\nb", "a\nb"}, `3.50`: {"3.50", "3.50"},
		`false`: {"false", ""}, `{}`: {"{}", ""}, `[]`: {"[]", ""}, `{"a": [1, 2]}`: {`{"a":[1,2]}`, `{"a":[1,2]}`},
		`{"message": "down", "code": 3}`: {`{"message":"down","code":3}`, "down"}, `" "`: {" ", ""},
		`{"message": {"deep": 1}}`: {`{"message":{"deep":1}}`, `{"deep":1}`}, `true`: {"true", "true"},
	} {
		expect.Same(t, raw, [2]string{textOf(json.RawMessage(raw)), errorOf(json.RawMessage(raw))}, want)
	}
}

func TestCallsAreRead(t *testing.T) {
	t.Parallel()
	got, err := readCalls(json.RawMessage(`[
		{"name": "search", "args": {"q": "a  b", "top_p": 1}, "id": 7}, {"name": "stop"}, {"name": "n", "args": null, "more": 1}
	]`))
	expect.OK(t, err)
	expect.Same(t, "calls", got, []eval.FunctionCall{
		{ID: "7", Name: "search", Args: json.RawMessage(`{"q":"a  b","top_p":1}`)}, {Name: "stop"}, {Name: "n"},
	})
	for _, raw := range []string{``, `null`, `[]`} {
		got, err := readCalls(json.RawMessage(raw))
		expect.OK(t, err)
		expect.Same(t, raw, len(got), 0)
	}
	many := "[" + strings.Repeat(`{"name":"a"},`, maxCalls) + `{"name":"a"}]`
	for raw, want := range map[string]string{
		`{"name": "a"}`:     "`toolCalls` in the answer has to be a list of {name, args}: {\"name\": \"a\"}",
		`["a"]`:             "`toolCalls[0]` in the answer has to be {name, args}, with a text as name: \"a\"",
		`[{"name":"a"},{}]`: "`toolCalls[1]` in the answer has to be {name, args}, and it has no name: {}",
		`[{"name":""}]`:     "`toolCalls[0]` in the answer has to be {name, args}, and it has no name: {\"name\":\"\"}",
		`[null]`:            "`toolCalls[0]` in the answer has to be {name, args}, and it has no name: null",
		`[{"name":"a","arguments":{}}]`: "`toolCalls[0]` in the answer has to be {name, args}, and it has `arguments` " +
			"instead of `args`: {\"name\":\"a\",\"arguments\":{}}",
		`[{"name":"a","input":{"b":1}}]`: "`toolCalls[0]` in the answer has to be {name, args}, and it has `input` instead " +
			"of `args`: {\"name\":\"a\",\"input\":{\"b\":1}}",
		`[{"name":"a","args":[1]}]`: "`toolCalls[0].args` in the answer has to be an object: [1]",
		many:                        "`toolCalls` in the answer has 10001 entries; at most 10000 are read",
	} {
		_, err := readCalls(json.RawMessage(raw))
		if err == nil || err.Error() != want {
			t.Errorf("%.60s: got %v, want %s", raw, err, want)
		}
	}
}

func TestUsageIsRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]*eval.Usage{
		``: nil, `null`: nil, `{}`: nil, `{"inputTokens": null}`: nil, `{"steps": 4}`: nil,
		`{"inputTokens": 12, "outputTokens": 3}`: {PromptTokens: 12, OutputTokens: 3, TotalTokens: 15, Source: eval.UsageService},
		`{"prompt_tokens": "12", "completion_tokens": 3.0, "total_tokens": 20, "steps": 4}`: {
			PromptTokens: 12, OutputTokens: 3, TotalTokens: 20, Source: eval.UsageService, Extra: eval.Extra{"steps": json.RawMessage("4")},
		},
		`{"inputTokens": 5, "outputTokens": 0, "cachedTokens": 4, "reasoningTokens": 2}`: {
			PromptTokens: 5, TotalTokens: 5, CachedTokens: 4, ReasoningTokens: 2, Source: eval.UsageService,
		},
		`{"inputTokens": 5, "totalTokens": 9}`: {PromptTokens: 5, OutputTokens: 4, TotalTokens: 9, Source: eval.UsageService},
		`{"inputTokens": 5}`:                   {PromptTokens: 5, TotalTokens: 5},
		`{"totalTokens": 9}`:                   {TotalTokens: 9},
	} {
		got, err := readUsage(json.RawMessage(raw))
		expect.OK(t, err)
		expect.Same(t, raw, got, want)
	}
	for raw, want := range map[string]string{
		`[]`:                     "`usage` in the answer has to be an object such as {inputTokens: 12, outputTokens: 3}: []",
		`{"inputTokens": -1}`:    "`usage.inputTokens` in the answer has to be a number of tokens, from 0: -1",
		`{"totalTokens": 1.5}`:   "`usage.totalTokens` in the answer has to be a number of tokens, from 0: 1.5",
		`{"outputTokens": {}}`:   "`usage.outputTokens` in the answer has to be a number of tokens, from 0: {}",
		`{"cachedTokens": 1e30}`: "`usage.cachedTokens` in the answer has to be a number of tokens, from 0: 1e30",
	} {
		_, err := readUsage(json.RawMessage(raw))
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}

// An answer of calls alone is an answer; calls that were made on the way to a text come before it.
func TestAnswersBecomeCandidates(t *testing.T) {
	t.Parallel()
	call := []eval.FunctionCall{{Name: "look"}}
	for name, test := range map[string]struct {
		answer answer
		want   eval.Candidate
	}{
		"a text": {answer{text: "a"}, eval.Candidate{Text: "a", FinishReason: "STOP"}},
		"calls": {
			answer{calls: call}, eval.Candidate{FinishReason: "TOOL_CALLS", Pieces: []eval.Piece{eval.CallPiece{Call: &call[0]}}},
		},
		"both": {
			answer{text: "a", calls: call, reason: "length", raw: json.RawMessage(`{}`)},
			eval.Candidate{
				Text: "a", FinishReason: "MAX_TOKENS", VendorReason: "length", Pieces: []eval.Piece{
					eval.CallPiece{Call: &call[0]}, eval.TextPiece{Text: "a"},
				},
				Raw: json.RawMessage(`{}`),
			},
		},
	} {
		expect.Same(t, name, test.answer.response().Candidates, []eval.Candidate{test.want})
	}
}

// A secret that only shows once an answer is put together, or read a second time, shows nowhere.
func TestSecretsInsideAnswersAreHidden(t *testing.T) {
	t.Parallel()
	const key = `canary"of/the+key`
	hidden := wire.NewSecrets(key)
	read := NewReader(eval.Reading{Answer: ".t", ToolCalls: ".c // []", Error: ".e"})
	quoted := `"{\"a\": \"canary\\\"of/the+key\"}"` // JSON in a text of JSON
	for _, body := range []string{
		`{"t": ` + quoted + `, "c": [{"name": "f", "args": {"a": "canary\"of\/the+key"}}]}`,
		`{"t": "x", "c": [{"name": ` + quoted + `, "id": ` + quoted + `}]}`,
		`{"e": ` + quoted + `}`,
	} {
		resp, err := read.body([]byte(body), "application/json")
		var shown []byte
		if err != nil {
			shown = []byte(unshownError(err, hidden).Error())
		} else {
			for i := range resp.Candidates {
				resp.Candidates[i].Raw = nil // it is cleaned as it comes
			}
			shown, err = json.Marshal(unshown(resp, hidden))
			expect.OK(t, err)
		}
		if strings.Contains(string(shown), "the+key") || !strings.Contains(string(shown), "[key]") {
			t.Errorf("%s, want [key] instead of the key\nshows %s", body, shown)
		}
	}
	out := &assembly{Reader: NewReader(eval.Reading{Answer: ".t", ToolCalls: ".c", Stream: true})}
	for _, event := range []string{`{"t": "canary\"of"}`, `{"t": "/the+key"}`, `{"c": [{"name": "f"}]}`} {
		_, err := out.Add([]byte(event))
		expect.OK(t, err)
	}
	resp, err := out.response()
	expect.OK(t, err)
	c := unshown(resp, hidden).Candidates[0]
	expect.Same(t, "kept as it came", string(c.Raw), "")
	expect.Same(t, "text of the parts", c.Pieces[len(c.Pieces)-1], eval.Piece(eval.TextPiece{Text: "[key]"}))
}

// An expression that gives no number JSON has finds nothing: an empty text would be an answer.
func TestNaNIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, reading := range []eval.Reading{{Answer: "nan"}, {Answer: ".t", ToolCalls: "nan"}, {Answer: ".t", FinishReason: "nan"}} {
		_, err := NewReader(reading).body([]byte(`{"t": "x"}`), "application/json")
		expect.Contains(t, fmt.Sprintf("%+v", reading), fmt.Sprint(err), "finds nothing")
		if e := eval.AsError(err); e == nil || e.Kind != eval.KindMalformed {
			t.Errorf("%+v: got %v, want an error of the kind %s", reading, err, eval.KindMalformed)
		}
	}
}
