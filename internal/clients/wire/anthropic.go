package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// Anthropic returns the protocol of Anthropic's Messages API.
func Anthropic() Protocol { return anthropic() }

var anthropic = sync.OnceValue(func() Protocol {
	return Protocol{
		Name: "anthropic", MaxOutput: defaultMaxToken, check: checkAnthropic, write: writeAnthropic,
		ofPrompt: map[string]string{
			"messages": "write it as a prompt", "system": "use `system` of the prompt", "tool_choice": "use `toolChoice` of the prompt",
		},
		owned: map[string]string{
			"model": "use `model`", "stream": "use `stream` of the target",
			"temperature": "use `generationConfig.temperature`", "top_p": "use `generationConfig.topP`",
			"top_k": "use `generationConfig.topK`", "max_tokens": "use `generationConfig.maxOutputTokens`",
			"stop_sequences": "use `generationConfig.stopSequences`",
		},
		published: []string{
			"cache_control", "container", "context_management", "inference_geo", "mcp_servers", "metadata", "output_config",
			"output_format", "service_tier", "thinking", "tools",
		},
	}
})

// The protocol requires a limit for answers, and a minimum for thinking, in tokens.
const (
	minThinking     = 1024
	defaultMaxToken = 4096 // for a suite that sets no limit
)

func checkAnthropic(c *checking) {
	c.common()
	c.lacks(c.config.seed != nil, "seed", "remove it")
	c.lacks(c.config.presence != nil, "presencePenalty", "remove it")
	c.lacks(c.config.frequency != nil, "frequencyPenalty", "remove it")
	if t := c.config.Temperature; t != nil && *t > 1 {
		c.refuse("generationConfig.temperature", "use a number from 0 to 1",
			"the protocol anthropic has no temperature above 1")
	}
	c.oneCandidate()
	c.format(false)
	c.thinkingByBudget()
	images := []string{"image/png", "image/jpeg", "image/webp", "image/gif"}
	c.parts(acceptedFiles{
		images: func(mime string) bool { return slices.Contains(images, mime) },
		data:   func(mime string) bool { return mime == pdf },
		types:  "images as PNG, JPEG, WebP or GIF, and PDF",
	})
}

func (c *checking) thinkingByBudget() {
	t := c.config.thinking
	if t == nil {
		return
	}
	key := "generationConfig.thinkingConfig.thinkingBudget"
	if t.Budget == nil {
		if t.Include != nil {
			c.refuse(key, "add a `thinkingBudget`, or -1 to leave it to the model",
				"the protocol anthropic shows no thoughts without a budget")
		}
		return
	}
	limit := c.config.maxTokens(defaultMaxToken)
	switch n := *t.Budget; {
	case n > 0 && n < minThinking:
		c.refuse(
			key, "use 0, -1 or a larger number", "the protocol anthropic has no thinkingBudget below %d, but 0 and -1", minThinking,
		)
	case n >= limit:
		c.refuse(key, "raise `maxOutputTokens`, which counts thoughts too",
			"thinkingBudget %d leaves no room in %d tokens of output", n, limit)
	}
}

func writeAnthropic(m *members, r *eval.Request, _ options) {
	m.add("model", Quoted(r.Model))
	m.add("max_tokens", Encode(m.config.maxTokens(defaultMaxToken)))
	promptAnthropic(m, r)
	m.sampling()
	m.add("top_k", optional(m.config.TopK))
	if len(m.config.StopSequences) > 0 {
		m.add("stop_sequences", Encode(m.config.StopSequences))
	}
	if r.Stream {
		m.add("stream", json.RawMessage("true"))
	}
}

// CountBody returns the body of Anthropic's request to count tokens.
func CountBody(r *eval.Request) []byte {
	m := newMembers(r)
	m.extra = nil
	m.add("model", Quoted(r.Model))
	promptAnthropic(m, r)
	return m.body()
}

func promptAnthropic(m *members, r *eval.Request) {
	if r.System != "" {
		m.add("system", Quoted(r.System))
	}
	m.add("messages", list(messagesAnthropic(r)))
	m.add("tools", toolsAnthropic(r.Tools))
	m.add("tool_choice", choiceAnthropic(r.ToolChoice))
	m.add("thinking", thinkingAnthropic(m.config.thinking))
	m.add("output_config", outputAnthropic(&m.config))
}

func outputAnthropic(s *decodedConfig) json.RawMessage {
	var fields []field
	if s.schema != nil {
		fields = append(fields, field{"format", typed("json_schema", field{"schema", s.schema})})
	}
	if s.thinking != nil && s.thinking.Level != nil {
		fields = append(fields, field{"effort", Quoted(*s.thinking.Level)})
	}
	if fields == nil {
		return nil
	}
	return object(fields...)
}

func thinkingAnthropic(t *decodedThinking) json.RawMessage {
	if t == nil || t.Budget == nil {
		return nil
	}
	var display []field
	if t.Include != nil && !*t.Include {
		display = []field{{"display", Quoted("omitted")}}
	}
	switch n := *t.Budget; {
	case n == 0:
		return typed("disabled")
	case n < 0:
		return typed("adaptive", display...)
	default:
		return typed("enabled", append([]field{{"budget_tokens", Encode(n)}}, display...)...)
	}
}

func toolsAnthropic(tools []eval.Declaration) json.RawMessage {
	return declared(tools, func(t *eval.Declaration) json.RawMessage {
		return object(append(named(t), field{"input_schema", parametersOr(t.Parameters)})...)
	})
}

// declared writes a list of functions, each by one; nil for none.
func declared(tools []eval.Declaration, one func(*eval.Declaration) json.RawMessage) json.RawMessage {
	if len(tools) == 0 {
		return nil
	}
	out := make([]json.RawMessage, len(tools))
	for i := range tools {
		out[i] = one(&tools[i])
	}
	return list(out)
}

func named(t *eval.Declaration) []field {
	out := []field{{"name", Quoted(t.Name)}}
	if t.Description != "" {
		out = append(out, field{"description", Quoted(t.Description)})
	}
	return out
}

func choiceAnthropic(c *eval.Choice) json.RawMessage {
	switch {
	case c == nil:
		return nil
	case c.Name != "":
		return typed("tool", field{"name", Quoted(c.Name)})
	case c.Mode == eval.Required:
		return typed("any")
	}
	return typed(string(c.Mode))
}

func messagesAnthropic(r *eval.Request) []json.RawMessage {
	out := make([]json.RawMessage, len(r.Contents))
	for i := range r.Contents {
		c := &r.Contents[i]
		content, ok := textOf(c)
		if ok {
			out[i] = object(field{"role", role(c)}, field{"content", Quoted(content)})
			continue
		}
		out[i] = object(field{"role", role(c)}, field{"content", list(blocksAnthropic(c))})
	}
	return out
}

// blocksAnthropic omits empty texts, which the protocol refuses. A template may produce one.
func blocksAnthropic(c *eval.Content) []json.RawMessage {
	var out []json.RawMessage
	for _, p := range c.Parts {
		if !isText(p) || eval.TextOf(p) != "" {
			out = append(out, blockAnthropic(p))
		}
	}
	return out
}

func blockAnthropic(p eval.Part) json.RawMessage {
	switch p := p.(type) {
	case eval.RawPart:
		return sendable(p.Raw)
	case eval.ImagePart:
		return typed("image", field{"source", sourceAnthropic(p.Image)})
	case eval.DataPart:
		return typed("document", field{"source", sourceAnthropic(p.Data)})
	case eval.ResultPart:
		fields := []field{{"tool_use_id", Quoted(p.Result.ID)}, {"content", Quoted(p.Result.Text)}}
		if p.Result.Failed {
			fields = append(fields, field{"is_error", json.RawMessage("true")})
		}
		return typed("tool_result", fields...)
	case eval.TextPart:
		return typed("text", field{"text", Quoted(p.Text)})
	}
	return nil
}

// sendable returns a block as it came, unless it is a call whose arguments the model did not write as JSON. The vendor refuses
// those, so that they go back as a text in an object.
func sendable(raw json.RawMessage) json.RawMessage {
	var f Fields
	if typeOf(raw) != "tool_use" || Read(raw, &f) != nil || f["input"] == nil || bytes.HasPrefix(f["input"], []byte("{")) {
		return raw
	}
	f["input"] = object(field{"invalidJSON", f["input"]})
	return json.RawMessage(append(AppendMembers(wirejson.OpenObject("{"), f), '}'))
}

func sourceAnthropic(file *eval.Image) json.RawMessage {
	return typed("base64", field{"media_type", Quoted(file.MIMEType)}, field{"data", inBase64(file)})
}
