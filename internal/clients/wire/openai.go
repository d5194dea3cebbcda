package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// OpenAI returns the protocol of chat completions, which many servers speak.
func OpenAI() Protocol { return openai() }

var openai = sync.OnceValue(func() Protocol {
	return Protocol{
		Name: "openai", check: checkOpenAI, write: writeOpenAI,
		ofPrompt: map[string]string{
			"messages": "write it as a prompt", "tools": "use `tools` of the prompt", "tool_choice": "use `toolChoice` of the prompt",
		},
		owned: map[string]string{
			"model": "use `model`", "stream": "use `stream` of the target",
			"temperature": "use `generationConfig.temperature`", "top_p": "use `generationConfig.topP`",
			"max_tokens":            "use `generationConfig.maxOutputTokens`, with `maxTokensField: max_tokens` at the service",
			"max_completion_tokens": "use `generationConfig.maxOutputTokens`", "stop": "use `generationConfig.stopSequences`",
			"n": "use `generationConfig.candidateCount`", "seed": "use `generationConfig.seed`",
			"presence_penalty":  "use `generationConfig.presencePenalty`",
			"frequency_penalty": "use `generationConfig.frequencyPenalty`",
		},
		published: []string{
			"audio", "logit_bias", "logprobs", "metadata", "modalities", "parallel_tool_calls", "prediction", "prompt_cache_key",
			"prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "service_tier", "store",
			"stream_options", "top_logprobs", "user", "verbosity", "web_search_options",
			// extensions of other servers
			"chat_template_kwargs", "enable_thinking", "guided_json", "include_reasoning", "keep_alive", "min_p", "models",
			"plugins", "provider", "reasoning", "reasoning_format", "repetition_penalty", "route", "safe_prompt", "thinking",
			"top_a", "top_k", "transforms",
		},
	}
})

func checkOpenAI(c *checking) {
	c.common()
	c.lacks(c.config.TopK != nil, "topK", "write `top_k` in `extra` of the target if the server knows it")
	c.format(true)
	c.thinkingByLevel(false)
	c.parts(acceptedFiles{
		images: func(string) bool { return true },
		data:   func(mime string) bool { return mime == pdf || audioFormat(mime) != "" },
		types:  "images, PDF, and audio as wav or mp3",
	})
}

const pdf = "application/pdf"

func audioFormat(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

func writeOpenAI(m *members, r *eval.Request, o options) {
	m.add("model", Quoted(r.Model))
	m.add("messages", list(messagesOpenAI(r, o.Resend)))
	m.sampling()
	m.add(cmp.Or(o.MaxTokensField, "max_completion_tokens"), optional(m.config.MaxOutputTokens))
	if len(m.config.StopSequences) > 0 {
		m.add("stop", Encode(m.config.StopSequences))
	}
	if n := m.config.candidates; n != nil && *n > 1 {
		m.add("n", Encode(*n))
	}
	m.add("seed", m.config.seed)
	m.add("presence_penalty", m.config.presence)
	m.add("frequency_penalty", m.config.frequency)
	m.add("response_format", formatOpenAI(&m.config))
	if t := m.config.thinking; t != nil {
		m.add("reasoning_effort", optional(t.Level))
	}
	m.add("tools", toolsOpenAI(r.Tools))
	m.add("tool_choice", choice(r.ToolChoice, func(name string) json.RawMessage {
		return typed("function", field{"function", object(field{"name", Quoted(name)})})
	}))
	if r.Stream {
		m.add("stream", json.RawMessage("true"))
		m.add("stream_options", json.RawMessage(`{"include_usage":true}`))
	}
}

// choice writes a tool choice in OpenAI's form. named writes the choice of one function.
func choice(c *eval.Choice, named func(name string) json.RawMessage) json.RawMessage {
	switch {
	case c == nil:
		return nil
	case c.Name != "":
		return named(c.Name)
	}
	return Quoted(string(c.Mode))
}

func formatOpenAI(s *decodedConfig) json.RawMessage {
	switch {
	case s.schema != nil:
		return typed("json_schema", field{"json_schema", object(schemaFields(s)...)})
	case s.wantsJSON():
		return typed("json_object")
	}
	return nil
}

// schemaFields writes the schema. Only a closed one is strict, since the vendor can enforce no other.
func schemaFields(s *decodedConfig) []field {
	out := []field{{"name", Quoted("response")}, {"schema", s.schema}}
	if closed(s.schema) {
		out = append(out, field{"strict", json.RawMessage("true")})
	}
	return out
}

func toolsOpenAI(tools []eval.Declaration) json.RawMessage {
	return declared(tools, func(t *eval.Declaration) json.RawMessage { return typed("function", field{"function", Encode(t)}) })
}

func messagesOpenAI(r *eval.Request, thoughts string) []json.RawMessage {
	var out []json.RawMessage
	if r.System != "" {
		out = append(out, object(field{"role", Quoted("system")}, field{"content", Quoted(r.System)}))
	}
	asked := lastQuestion(r.Contents)
	for i := range r.Contents {
		messages := turnOpenAI(&r.Contents[i])
		if thoughts == ResendNever || thoughts == resendInLoop && i < asked {
			for k := range messages {
				messages[k] = withoutThoughts(messages[k])
			}
		}
		out = append(out, messages...)
	}
	return out
}

// lastQuestion returns the index of the last turn of the user that is not results of calls, -1 if there is none.
func lastQuestion(contents []eval.Content) int {
	for i := range slices.Backward(contents) {
		isResult := func(p eval.Part) bool { _, ok := p.(eval.ResultPart); return ok }
		if contents[i].Role == eval.RoleUser && !slices.ContainsFunc(contents[i].Parts, isResult) {
			return i
		}
	}
	return -1
}

// withoutThoughts returns a message without the members in which servers send what the model thought.
func withoutThoughts(message json.RawMessage) json.RawMessage {
	thoughts := []string{"reasoning", "reasoning_content", "reasoning_text", "reasoning_details"}
	out := wirejson.OpenObject("{")
	for name, value := range wirejson.Members(message) {
		if !slices.Contains(thoughts, string(name)) {
			out = append(out.Member(string(name)), value...)
		}
	}
	return json.RawMessage(append(out, '}'))
}

// turnOpenAI writes a turn as messages, one for each result of a call. Recorded messages stay unchanged.
func turnOpenAI(c *eval.Content) []json.RawMessage {
	return turn(c, isMessage, resultOpenAI, partOpenAI)
}

// turn writes a turn as messages or items, one for each result of a call. What isWhole recognizes was recorded as one, and stays
// unchanged; part writes the others, which are in one message.
func turn(
	c *eval.Content, isWhole func(json.RawMessage) bool, result func(*eval.CallResult) json.RawMessage,
	part func(eval.Part) json.RawMessage,
) []json.RawMessage {
	if joined, ok := textOf(c); ok {
		return []json.RawMessage{object(field{"role", role(c)}, field{"content", Quoted(joined)})}
	}
	var out, content []json.RawMessage
	for _, p := range c.Parts {
		if raw, ok := p.(eval.RawPart); ok && isWhole(raw.Raw) {
			out = append(out, raw.Raw)
			continue
		}
		if back, ok := p.(eval.ResultPart); ok {
			out = append(out, result(back.Result))
			continue
		}
		content = append(content, part(p))
	}
	if content != nil {
		out = append(out, object(field{"role", role(c)}, field{"content", list(content)}))
	}
	return out
}

func isMessage(raw json.RawMessage) bool {
	var m struct {
		Role string `json:"role"`
	}
	return json.Unmarshal(raw, &m) == nil && m.Role != ""
}

func resultOpenAI(r *eval.CallResult) json.RawMessage {
	fields := []field{{"role", Quoted("tool")}, {"tool_call_id", Quoted(r.ID)}}
	if r.ID == "" {
		fields = append(fields, field{"name", Quoted(r.Name)})
	}
	return object(append(fields, field{"content", resultText(r)})...)
}

// resultText returns a result as text. For a failed call it is a JSON object with the error.
func resultText(r *eval.CallResult) json.RawMessage {
	if r.Failed {
		return Quoted(string(r.Response()))
	}
	return Quoted(r.Text)
}

func partOpenAI(p eval.Part) json.RawMessage {
	switch p := p.(type) {
	case eval.RawPart:
		return p.Raw
	case eval.ImagePart:
		return typed("image_url", field{"image_url", object(field{"url", dataURL(p.Image)})})
	case eval.DataPart:
		if strings.HasPrefix(p.Data.MIMEType, "audio/") {
			return typed("input_audio", field{"input_audio", object(
				field{"data", inBase64(p.Data)}, field{"format", Quoted(audioFormat(p.Data.MIMEType))},
			)})
		}
		return typed("file", field{"file", object(field{"filename", fileName(p.Data)}, field{"file_data", dataURL(p.Data)})})
	case eval.TextPart:
		return typed("text", field{"text", Quoted(p.Text)})
	case eval.ResultPart: // a message, and not content
	}
	return nil
}

// EmbedBody returns the body of a request for embeddings.
func EmbedBody(call *eval.EmbedCall) []byte {
	return object(field{"model", Quoted(call.Model)}, field{"input", Encode(call.Texts)},
		field{"encoding_format", Quoted("float")})
}
