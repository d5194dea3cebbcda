package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
)

// Responses returns the protocol of OpenAI's Responses API.
func Responses() Protocol { return responses() }

var responses = sync.OnceValue(func() Protocol {
	return Protocol{
		Name: "responses", check: checkResponses, write: writeResponses,
		ofPrompt: map[string]string{
			"input": "write it as a prompt", "instructions": "use `system` of the prompt",
			"tool_choice": "use `toolChoice` of the prompt",
		},
		owned: map[string]string{
			"model": "use `model`", "stream": "use `stream` of the target",
			"temperature": "use `generationConfig.temperature`", "top_p": "use `generationConfig.topP`",
			"max_output_tokens": "use `generationConfig.maxOutputTokens`",
			"background":        "remove it: evalrun wants the answer to a call right away",
		},
		published: []string{
			"context_management", "conversation", "include", "max_tool_calls", "metadata", "parallel_tool_calls",
			"previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier",
			"service_tier", "store", "stream_options", "text", "tools", "top_logprobs", "truncation", "user",
			// extensions of other servers
			"frequency_penalty", "models", "plugins", "presence_penalty", "provider", "top_k",
		},
	}
})

func checkResponses(c *checking) {
	c.common()
	c.lacks(c.config.TopK != nil, "topK", "remove it")
	c.lacks(len(c.config.StopSequences) > 0, "stopSequences", "remove them, or use the protocol openai")
	c.lacks(c.config.seed != nil, "seed", "remove it, or use the protocol openai")
	c.lacks(c.config.presence != nil, "presencePenalty", "remove it, or use the protocol openai")
	c.lacks(c.config.frequency != nil, "frequencyPenalty", "remove it, or use the protocol openai")
	c.oneCandidate()
	c.format(true)
	c.thinkingByLevel(true)
	c.parts(acceptedFiles{
		images: func(string) bool { return true },
		data:   func(mime string) bool { return mime == pdf },
		types:  "images and PDF",
	})
}

func writeResponses(m *members, r *eval.Request, _ options) {
	m.add("model", Quoted(r.Model))
	if r.System != "" {
		m.add("instructions", Quoted(r.System))
	}
	m.add("input", list(itemsResponses(r)))
	m.sampling()
	m.add("max_output_tokens", optional(m.config.MaxOutputTokens))
	m.add("text", formatResponses(&m.config))
	m.add("reasoning", reasoningResponses(m.config.thinking))
	m.add("tools", toolsResponses(r.Tools))
	m.add("tool_choice", choice(r.ToolChoice,
		func(name string) json.RawMessage { return typed("function", field{"name", Quoted(name)}) }))
	if r.Stream {
		m.add("stream", json.RawMessage("true"))
	}
}

func formatResponses(s *decodedConfig) json.RawMessage {
	switch {
	case s.schema != nil:
		return object(field{"format", typed("json_schema", schemaFields(s)...)})
	case s.wantsJSON():
		return object(field{"format", typed("json_object")})
	}
	return nil
}

func reasoningResponses(t *decodedThinking) json.RawMessage {
	if t == nil {
		return nil
	}
	fields := []field{{"effort", optional(t.Level)}}
	if t.Include != nil && *t.Include {
		fields = append(fields, field{"summary", Quoted("auto")})
	}
	if out := object(fields...); string(out) != "{}" {
		return out
	}
	return nil
}

// toolsResponses sets strict to false, because the protocol requires closed schemas by default.
func toolsResponses(tools []eval.Declaration) json.RawMessage {
	return declared(tools, func(t *eval.Declaration) json.RawMessage {
		return typed("function", append(named(t), field{"parameters", parametersOr(t.Parameters)},
			field{"strict", json.RawMessage("false")})...)
	})
}

func itemsResponses(r *eval.Request) []json.RawMessage {
	var out []json.RawMessage
	custom := customCalls(r.Contents)
	for i := range r.Contents {
		out = append(out, turnResponses(&r.Contents[i], custom)...)
	}
	return out
}

// customCalls returns the ids of calls of custom tools, whose results have a type of their own.
func customCalls(contents []eval.Content) []string {
	var ids []string
	for i := range contents {
		for _, p := range contents[i].Parts {
			raw, ok := p.(eval.RawPart)
			if !ok || typeOf(raw.Raw) != "custom_tool_call" {
				continue
			}
			var call struct {
				ID string `json:"call_id"`
			}
			_ = json.Unmarshal(raw.Raw, &call) // the service checks it
			ids = append(ids, call.ID)
		}
	}
	return ids
}

// turnResponses writes a turn as items, one for each result of a call. Recorded items stay unchanged.
func turnResponses(c *eval.Content, custom []string) []json.RawMessage {
	result := func(r *eval.CallResult) json.RawMessage {
		kind := "function_call_output"
		if slices.Contains(custom, r.ID) {
			kind = "custom_tool_call_output"
		}
		return typed(kind, field{"call_id", Quoted(r.ID)}, field{"output", resultText(r)})
	}
	return turn(c, func(raw json.RawMessage) bool { return !isContent(typeOf(raw)) }, result,
		func(p eval.Part) json.RawMessage { return partResponses(p, c.Role == eval.RoleModel) })
}

// isContent distinguishes the types inside a message from types of items.
func isContent(kind string) bool {
	return strings.HasPrefix(kind, "input_") || kind == "output_text" || kind == "refusal"
}

func partResponses(p eval.Part, ofModel bool) json.RawMessage {
	switch p := p.(type) {
	case eval.RawPart:
		return p.Raw
	case eval.ImagePart:
		return typed("input_image", field{"image_url", dataURL(p.Image)})
	case eval.DataPart:
		return typed("input_file", field{"filename", fileName(p.Data)}, field{"file_data", dataURL(p.Data)})
	case eval.TextPart:
		if ofModel {
			return typed("output_text", field{"text", Quoted(p.Text)})
		}
		return typed("input_text", field{"text", Quoted(p.Text)})
	case eval.ResultPart: // an item, and not content
	}
	return nil
}
