package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

const maxCalls = 10_000

type answer struct {
	text   string
	calls  []eval.FunctionCall
	usage  *eval.Usage
	reason string          // the application's own word; "" when it gives none
	raw    json.RawMessage // the whole answer as JSON, nil if it is only a text
}

func (a *answer) response() *eval.Response {
	c := Candidate(a.text, a.calls, a.reason)
	c.Raw = a.raw
	return &eval.Response{Candidates: []eval.Candidate{c}, Usage: a.usage}
}

// Candidate builds a candidate from the parts of an application's answer. word is its own word for why the
// answer ended, "" when it gives none. Calls come before the text, because an application makes them on its
// way to it.
func Candidate(text string, calls []eval.FunctionCall, word string) eval.Candidate {
	c := eval.Candidate{Text: text}
	if word == "" && text == "" && len(calls) > 0 {
		word = "TOOL_CALLS"
	}
	c.FinishReason, c.VendorReason = finish(word)
	for i := range calls {
		c.Pieces = append(c.Pieces, eval.CallPiece{Call: &calls[i]})
	}
	if len(calls) > 0 && text != "" {
		c.Pieces = append(c.Pieces, eval.TextPiece{Text: text})
	}
	return c
}

// reasons maps the words that applications and vendors use to finish reasons.
var reasons = map[string]string{
	"": "STOP", "stop": "STOP", "end_turn": "STOP", "stop_sequence": "STOP", "completed": "STOP", "done": "STOP",
	"length": eval.CutReason, "max_tokens": eval.CutReason, "max_output_tokens": eval.CutReason,
	"tool_calls": "TOOL_CALLS", "tool_use": "TOOL_CALLS", "function_call": "TOOL_CALLS",
	"content_filter": "SAFETY", "refusal": "SAFETY",
}

// finish returns the finish reason for an application's word. vendor is the word itself when it differs.
func finish(word string) (reason, vendor string) {
	reason = reasons[strings.ToLower(word)]
	if upper := strings.ToUpper(word); reason == "" && slices.Contains(eval.BlockReasons, upper) {
		reason = upper
	}
	if reason = cmp.Or(reason, word); reason != word {
		vendor = word
	}
	return reason, vendor
}

// textOf returns a string as it is, nothing for null, and any other value as JSON.
func textOf(raw json.RawMessage) string {
	var text *string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if text == nil {
			return ""
		}
		return *text
	}
	return string(compact(raw))
}

// errorOf returns the text of the `error` of an answer, for an object its message. It returns "" for null,
// false, an empty text or an empty object, which applications send when nothing failed.
func errorOf(raw json.RawMessage) string {
	var object struct {
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(raw, &object) // anything but an object leaves it empty
	switch text := strings.TrimSpace(cmp.Or(textOf(object.Message), textOf(raw))); text {
	case "false", "{}", "[]":
		return ""
	default:
		return text
	}
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // raw is always JSON here
		return raw
	}
	return b.Bytes()
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// readCalls reads a list of {name, args, id}. null is an empty list; `args` are optional.
func readCalls(raw json.RawMessage) ([]eval.FunctionCall, error) {
	if isNull(raw) {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, misshapen("toolCalls", "a list of {name, args}", raw)
	}
	if len(list) > maxCalls {
		return nil, eval.Errorf(eval.KindTooLarge, "`toolCalls` in the answer has %d entries; at most %d are read", len(list), maxCalls)
	}
	out := make([]eval.FunctionCall, 0, len(list))
	for i, one := range list {
		c, err := readCall(one, fmt.Sprintf("toolCalls[%d]", i))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// readCall names the position `at` in its errors.
func readCall(raw json.RawMessage, at string) (eval.FunctionCall, error) {
	var w struct {
		ID   wire.Word       `json:"id"`
		Name *string         `json:"name"`
		Args json.RawMessage `json:"args"`

		Arguments json.RawMessage `json:"arguments"` // other formats name Args so; without this field a call would silently lose its arguments
		Input     json.RawMessage `json:"input"`
	}
	err := json.Unmarshal(raw, &w)
	switch {
	case err != nil:
		return eval.FunctionCall{}, misshapen(at, "{name, args}, with a text as name", raw)
	case w.Name == nil || *w.Name == "":
		return eval.FunctionCall{}, misshapen(at, "{name, args}, and it has no name", raw)
	case isNull(w.Args) && !isNull(w.Arguments):
		return eval.FunctionCall{}, misshapen(at, "{name, args}, and it has `arguments` instead of `args`", raw)
	case isNull(w.Args) && !isNull(w.Input):
		return eval.FunctionCall{}, misshapen(at, "{name, args}, and it has `input` instead of `args`", raw)
	}
	out := eval.FunctionCall{ID: string(w.ID), Name: *w.Name}
	if !isNull(w.Args) {
		if bytes.TrimSpace(w.Args)[0] != '{' {
			return eval.FunctionCall{}, misshapen(at+".args", "an object", w.Args)
		}
		out.Args = compact(w.Args)
	}
	return out, nil
}

func misshapen(at, want string, raw json.RawMessage) error {
	return eval.Errorf(eval.KindMalformed, "`%s` in the answer has to be %s: %s", at, want, wire.Excerpt(raw))
}

// usageKeys has the names of each number: in camelCase, in snake_case, and as the service spells it.
var usageKeys = [][]string{
	{"inputTokens", "promptTokens", "input_tokens", "prompt_tokens", "promptTokenCount"},
	{"outputTokens", "completionTokens", "output_tokens", "completion_tokens", "candidatesTokenCount"},
	{"totalTokens", "total_tokens", "totalTokenCount"},
	{"cachedTokens", "cached_tokens", "cachedContentTokenCount"},
	{"reasoningTokens", "reasoning_tokens", "thoughtsTokenCount"},
}

// readUsage reads the numbers of usageKeys. It returns nil when all are missing. The source of the usage is
// "" when the number of output tokens is missing.
func readUsage(raw json.RawMessage) (*eval.Usage, error) {
	if isNull(raw) {
		return nil, nil
	}
	f := wire.Fields{}
	if json.Unmarshal(raw, &f) != nil {
		return nil, misshapen("usage", "an object such as {inputTokens: 12, outputTokens: 3}", raw)
	}
	var n [5]*int
	for i, names := range usageKeys {
		for _, name := range names {
			if err := takeTokens(f, name, &n[i]); err != nil {
				return nil, err
			}
		}
	}
	if n == [5]*int{} {
		return nil, nil
	}
	return usageOf(n, eval.NewExtra(f)), nil
}

// takeTokens moves a number of tokens from f to `to`, if f has it.
func takeTokens(f wire.Fields, name string, to **int) error {
	raw := f[name]
	if isNull(raw) {
		delete(f, name)
		return nil
	}
	var n wire.LenientInt
	if f.Take(name, &n) != nil || !wire.ArePossible(int(n)) {
		return misshapen("usage."+name, "a number of tokens, from 0", raw)
	}
	*to = new(int(n))
	return nil
}

// usageOf makes a usage of the numbers, in the order of usageKeys.
func usageOf(n [5]*int, extra eval.Extra) *eval.Usage {
	at := func(i int) int {
		if n[i] == nil {
			return 0
		}
		return *n[i]
	}
	u := &eval.Usage{
		PromptTokens: at(0), OutputTokens: at(1), TotalTokens: at(2), CachedTokens: at(3), ReasoningTokens: at(4), Extra: extra,
	}
	switch {
	case n[1] != nil:
		u.Source = eval.UsageService
	case n[0] != nil && u.TotalTokens > u.PromptTokens:
		u.OutputTokens, u.Source = u.TotalTokens-u.PromptTokens, eval.UsageService
	}
	u.TotalTokens = max(u.TotalTokens, u.PromptTokens+u.OutputTokens)
	return u
}
