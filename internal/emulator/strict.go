package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// shape is what the vendors of a protocol require of a field of a request: a type of JSON, and a range for numbers.
type shape struct {
	kind   string
	lo, hi float64 // no range when both are 0
}

// Fields of several protocols.
var (
	share   = shape{kind: "number", hi: 1}
	penalty = shape{kind: "number", lo: -2, hi: 2}
	anyText = shape{kind: "string"}
	anyBool = shape{kind: "boolean"}
	anyList = shape{kind: "array"}
	aMap    = shape{kind: "object"}
)

const many = 1 << 31

func integers(lo, hi float64) shape { return shape{"integer", lo, hi} }

// shapesOf returns the shapes of the fields that a protocol's vendors check, by name.
func shapesOf(method string) map[string]shape {
	out := map[string]shape{"model": anyText, "stream": anyBool, "top_p": share, "tools": anyList}
	switch method {
	case servedChat:
		maps.Copy(out, map[string]shape{
			"messages": anyList, "temperature": {kind: "number", hi: 2}, "max_tokens": integers(1, many),
			"max_completion_tokens": integers(1, many), "n": integers(1, 128), "seed": integers(-1<<63, 1<<63),
			"presence_penalty": penalty, "frequency_penalty": penalty, "logprobs": anyBool, "top_logprobs": integers(0, 20),
			"logit_bias": aMap, "metadata": aMap, "parallel_tool_calls": anyBool, "reasoning_effort": anyText,
			"response_format": aMap, "service_tier": anyText, "store": anyBool, "stream_options": aMap, "user": anyText,
		})
	case servedResponses:
		maps.Copy(out, map[string]shape{
			"instructions": anyText, "temperature": {kind: "number", hi: 2}, "max_output_tokens": integers(16, many),
			"max_tool_calls": integers(1, many), "include": anyList, "metadata": aMap, "parallel_tool_calls": anyBool,
			"reasoning": aMap, "service_tier": anyText, "store": anyBool, "text": aMap, "top_logprobs": integers(0, 20),
			"truncation": anyText, "user": anyText, "stream_options": aMap,
		})
	case servedMessages, servedCount:
		maps.Copy(out, map[string]shape{
			"messages": anyList, "temperature": share, "max_tokens": integers(1, many), "top_k": integers(0, many),
			"stop_sequences": anyList, "metadata": aMap, "thinking": aMap, "tool_choice": aMap, "service_tier": anyText,
		})
	}
	return out
}

// checkShapes compares the fields of a body with what vendors require. null counts as a missing field.
func checkShapes(method string, body []byte) *problem {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil // reported when the body is decoded
	}
	for _, name := range []string{"previous_response_id", "conversation", "prompt", "thread", "thread_id", "background", "container"} {
		if raw := fields[name]; isSet(raw) && string(raw) != "false" {
			return badRequest("%s is not emulated: this server keeps no state between requests", name)
		}
	}
	shapes := shapesOf(method)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		if raw := fields[name]; isSet(raw) {
			if p := shapes[name].check(name, raw); p != nil {
				return p
			}
		}
	}
	return nil
}

func (s shape) check(name string, raw json.RawMessage) *problem {
	var v any
	_ = json.Unmarshal(raw, &v) // a part of a valid body
	kind := kindOf(v)
	n, isNumber := v.(float64)
	switch {
	case s.kind == "integer" && isNumber && n != float64(int64(n)):
		return badRequest("%s must be a whole number", name)
	case kind != s.kind && (s.kind != "integer" || !isNumber):
		return badRequest("%s must be of the type %s, not %s", name, s.kind, kind)
	case isNumber && s.lo < s.hi && (n < s.lo || n > s.hi):
		return badRequest("%s must be %s", name, s.bounds())
	}
	return nil
}

func (s shape) bounds() string {
	if s.hi >= many {
		return fmt.Sprintf("at least %g", s.lo)
	}
	return fmt.Sprintf("from %g to %g", s.lo, s.hi)
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// isText reports whether a value is a JSON string, as arguments of calls are in OpenAI's protocols.
func isText(raw json.RawMessage) bool { return json.Unmarshal(raw, new(string)) == nil }

// checkAnswered requires a result for each call of the model.
func (q *convertedRequest) checkAnswered() *problem {
	for _, id := range slices.Sorted(maps.Keys(q.names)) {
		if !slices.Contains(q.answered, id) {
			return badRequest("the call %q of the model has no result after it", id)
		}
	}
	return nil
}

var ownPlace = regexp.MustCompile(`\bcontents\[\d+\](\.parts\[\d+\])?`)

// inWordsOf returns a problem with the names that a protocol's fields have.
func (p *problem) inWordsOf(method string) *problem {
	if p == nil {
		return nil
	}
	names := map[string][]string{
		servedChat: {
			"generationConfig.maxOutputTokens", "max_completion_tokens", "generationConfig.candidateCount", "n",
			"generationConfig.presencePenalty", "presence_penalty", "generationConfig.frequencyPenalty", "frequency_penalty",
			"toolConfig.functionCallingConfig", "tool_choice", ".functionDeclarations[0]", ".function", "contents", "messages",
		},
		servedResponses: {
			"generationConfig.maxOutputTokens", "max_output_tokens", "toolConfig.functionCallingConfig", "tool_choice",
			".functionDeclarations[0]", "", "contents", "input",
		},
		servedMessages: {
			"generationConfig.maxOutputTokens", "max_tokens", "toolConfig.functionCallingConfig", "tool_choice",
			".functionDeclarations[0].parameters", ".input_schema", ".functionDeclarations[0]", "", "contents", "messages",
		},
	}
	more := []string{"generationConfig.", "", "systemInstruction", "system", "functionResponse", "result", "functionCall", "call"}
	out := *p
	of := names[method]
	if method == servedCount {
		of = names[servedMessages]
	}
	out.Message = ownPlace.ReplaceAllString(out.Message, "contents")
	out.Message = strings.NewReplacer(append(slices.Clone(of), more...)...).Replace(out.Message)
	return &out
}
