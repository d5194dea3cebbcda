package emulator

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

type completions struct {
	usage bool // a stream ends with the usage
}

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Temperature      *float64        `json:"temperature"`
	TopP             *float64        `json:"top_p"`
	MaxTokens        *integer        `json:"max_tokens"`
	MaxCompletion    *integer        `json:"max_completion_tokens"`
	Stop             stringOrList    `json:"stop"`
	N                integer         `json:"n"`
	Seed             *integer        `json:"seed"`
	PresencePenalty  *float64        `json:"presence_penalty"`
	FrequencyPenalty *float64        `json:"frequency_penalty"`
	Tools            []chatTool      `json:"tools"`
	ToolChoice       json.RawMessage `json:"tool_choice"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
	Custom   struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type chatTool struct {
	Type     string        `json:"type"`
	Function *chatFunction `json:"function"`
}

func readChat(body []byte) (*convertedRequest, *problem) {
	var in chatRequest
	if p := decode(body, &in); p != nil {
		return nil, p
	}
	q := &convertedRequest{request: &request{Model: in.Model}, stream: in.Stream, usage: in.StreamOptions.IncludeUsage}
	q.GenerationConfig = config{
		Temperature: in.Temperature, TopP: in.TopP, StopSequences: in.Stop, CandidateCount: in.N, Seed: in.Seed,
		MaxOutputTokens: cmp.Or(in.MaxCompletion, in.MaxTokens), PresencePenalty: in.PresencePenalty, FrequencyPenalty: in.FrequencyPenalty,
	}
	for i := range in.Messages {
		if p := q.chatMessage(&in.Messages[i]); p != nil {
			return nil, p.in("messages", i)
		}
	}
	if len(q.Contents) == 0 {
		return nil, badRequest("messages needs a message of the user")
	}
	for _, t := range in.Tools {
		if t.Function != nil {
			q.declare(t.Function.Name, t.Function.Description, t.Function.Parameters)
		}
	}
	return q, q.chooseOpenAI(in.ToolChoice)
}

// chooseOpenAI reads tool_choice: a word, or an object that names a function.
func (q *convertedRequest) chooseOpenAI(raw json.RawMessage) *problem {
	var word string
	if !isSet(raw) || json.Unmarshal(raw, &word) == nil {
		return q.choose(word, "")
	}
	var one struct {
		Type     string       `json:"type"`
		Name     string       `json:"name"`
		Function chatFunction `json:"function"`
	}
	if json.Unmarshal(raw, &one) != nil {
		return badRequest("tool_choice must be a word or an object")
	}
	return q.choose(one.Type, one.Name+one.Function.Name)
}

func (q *convertedRequest) chatMessage(m *chatMessage) *problem {
	parts, p := chatParts(m.Content)
	if p != nil {
		return p
	}
	text := content{Parts: parts}.text()
	switch m.Role {
	case "system", "developer":
		q.instruct(text)
	case "user":
		q.say(eval.RoleUser, parts...)
	case "tool":
		return q.result(m.ToolCallID, text, false)
	case "assistant":
		if text != "" || len(m.ToolCalls) == 0 {
			q.say(eval.RoleModel, textPart(text))
		}
		for i, c := range m.ToolCalls {
			switch {
			case c.Type == "custom":
				c.Function = chatFunction{Name: c.Custom.Name, Arguments: encoded(map[string]string{"input": c.Custom.Input})}
			case !isText(c.Function.Arguments):
				return badRequest("tool_calls[%d].function.arguments must be a text with JSON", i)
			}
			if p := q.call(c.ID, c.Function.Name, c.Function.Arguments); p != nil {
				return p
			}
		}
	default:
		return badRequest("role must be system, developer, user, assistant or tool, not %q", m.Role)
	}
	return nil
}

// chatParts reads the content of a message: a text, or a list of parts.
func chatParts(raw json.RawMessage) ([]wirePart, *problem) {
	var text string
	if !isSet(raw) {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return []wirePart{textPart(text)}, nil
	}
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
		Audio struct {
			Data, Format string
		} `json:"input_audio"`
		File struct {
			Data string `json:"file_data"`
			ID   string `json:"file_id"`
		} `json:"file"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, badRequest("content must be a text or a list of parts")
	}
	var out []wirePart
	for _, one := range list {
		switch one.Type {
		case "text":
			out = append(out, textPart(one.Text))
		case "image_url":
			out = append(out, filePart(one.ImageURL.URL))
		case "input_audio":
			out = append(out, wirePart{InlineData: &blob{MimeType: "audio/" + one.Audio.Format, Data: one.Audio.Data}})
		case "file":
			out = append(out, filePart(one.File.Data+one.File.ID))
		case "refusal", "thinking":
		default:
			return nil, badRequest("content: the type %q is not known", one.Type)
		}
	}
	return out, nil
}

// in adds the index in a list to the message of a problem.
func (p *problem) in(list string, i int) *problem {
	p.Message = list + "[" + itoa(i) + "]: " + p.Message
	return p
}

func (completions) framing(*http.Request) framing { return sse("data: [DONE]\n\n") }

// spoken has the parts of a candidate that other protocols separate.
type spoken struct {
	text, thought string
	calls         []*functionCall
}

func spokenBy(c *wireCandidate) spoken {
	var out spoken
	if c.Content == nil {
		return out
	}
	for i := range c.Content.Parts {
		switch p := &c.Content.Parts[i]; {
		case p.FunctionCall != nil:
			out.calls = append(out.calls, p.FunctionCall)
		case p.Thought:
			out.thought += *p.Text
		case p.Text != nil:
			out.text += *p.Text
		}
	}
	return out
}

// candidates returns the candidates of the answer. A blocked prompt has one without content.
func (a *outcome) candidates() []wireCandidate {
	if a.PromptFeedback != nil && a.PromptFeedback.BlockReason != "" {
		return []wireCandidate{{FinishReason: a.PromptFeedback.BlockReason}}
	}
	return a.Candidates
}

// endings are the finish reasons of another protocol.
type endings struct{ stop, called, length, blocked string }

// of returns the protocol's word for a reason, or the reason itself if there is none.
func (e endings) of(reason string, calls bool) string {
	switch {
	case reason == "STOP" && calls:
		return e.called
	case reason == "STOP":
		return e.stop
	case reason == eval.CutReason:
		return e.length
	case eval.IsBlock(reason):
		return e.blocked
	}
	return reason
}

func chatEnding(c *wireCandidate) string {
	words := endings{stop: "stop", called: "tool_calls", length: "length", blocked: "content_filter"}
	return words.of(c.FinishReason, len(spokenBy(c).calls) > 0)
}

func (completions) head(a *outcome, object string) map[string]any {
	return map[string]any{
		"id": "chatcmpl-" + a.id, "object": object, "created": created, "model": a.query.model.ID(),
		"system_fingerprint": "evalrun-emulator",
	}
}

func (f completions) whole(a *outcome) []byte {
	var choices []any
	calls := 0
	for _, c := range a.candidates() {
		said := spokenBy(&c)
		message := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
		if said.text != "" || len(said.calls) == 0 && c.Content != nil {
			message["content"] = said.text
		}
		if said.thought != "" {
			message["reasoning_content"] = said.thought
		}
		var all []any
		for _, call := range said.calls {
			all = append(all, map[string]any{
				"id": a.callID("call_", call, calls), "type": "function",
				"function": map[string]string{"name": call.Name, "arguments": arguments(call)},
			})
			calls++
		}
		if all != nil {
			message["tool_calls"] = all
		}
		choices = append(choices, map[string]any{
			"index": c.Index, "message": message, "logprobs": nil, "finish_reason": chatEnding(&c),
		})
	}
	body := f.head(a, "chat.completion")
	body["choices"], body["usage"] = choices, f.counts(a)
	return a.wholly(body)
}

func arguments(c *functionCall) string {
	if len(c.Args) == 0 {
		return "{}"
	}
	return string(c.Args)
}

func (completions) counts(a *outcome) map[string]any {
	u := a.counts
	return map[string]any{
		"prompt_tokens": u.Prompt + u.ToolUse, "completion_tokens": u.Candidates + u.Thoughts, "total_tokens": u.Total,
		"prompt_tokens_details":     map[string]int{"cached_tokens": u.Cached, "audio_tokens": 0},
		"completion_tokens_details": map[string]int{"reasoning_tokens": u.Thoughts, "audio_tokens": 0},
	}
}

func (f completions) chunk(a *outcome, choices ...any) string {
	body := f.head(a, "chat.completion.chunk")
	body["choices"] = slices.Concat([]any{}, choices)
	if f.usage {
		body["usage"] = nil
	}
	return event("", body)
}

func chatDelta(index int, delta map[string]any, reason any) map[string]any {
	return map[string]any{"index": index, "delta": delta, "logprobs": nil, "finish_reason": reason}
}

func (f completions) pieces(a *outcome, n int) []string {
	all := a.candidates()
	var out []string
	begin, end := "", ""
	for i := range all {
		begin += f.chunk(a, chatDelta(all[i].Index, map[string]any{"role": "assistant", "content": ""}, nil))
		end += f.chunk(a, chatDelta(all[i].Index, map[string]any{}, chatEnding(&all[i])))
	}
	calls := make([]int, len(all))
	for _, piece := range split(wireResponse{Candidates: all}, n) {
		for i := range piece.Candidates {
			for _, delta := range f.deltas(a, &piece.Candidates[i], &calls[i]) {
				out = append(out, begin+f.chunk(a, chatDelta(piece.Candidates[i].Index, delta, nil)))
				begin = ""
			}
		}
	}
	if f.usage {
		body := f.head(a, "chat.completion.chunk")
		body["choices"], body["usage"] = []any{}, f.counts(a)
		end += event("", body)
	}
	return append(out, begin+end)
}

// deltas returns the deltas for a piece of a candidate. A call has its name first, and then its arguments
// in two halves.
func (completions) deltas(a *outcome, c *wireCandidate, calls *int) []map[string]any {
	said := spokenBy(c)
	var out []map[string]any
	if said.thought != "" {
		out = append(out, map[string]any{"reasoning_content": said.thought})
	}
	if said.text != "" {
		out = append(out, map[string]any{"content": said.text})
	}
	for _, call := range said.calls {
		n := *calls
		*calls++
		args := arguments(call)
		out = append(out, map[string]any{"tool_calls": []any{map[string]any{
			"index": n, "id": a.callID("call_", call, 10*c.Index+n), "type": "function",
			"function": map[string]string{"name": call.Name, "arguments": ""},
		}}})
		for _, half := range cutEvenly(args, 2) {
			out = append(
				out,
				map[string]any{"tool_calls": []any{map[string]any{"index": n, "function": map[string]string{"arguments": half}}}},
			)
		}
	}
	return out
}

func (completions) raw(text string) string { return "data: " + text + "\n\n" }

func openAIError(p *problem) map[string]any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case p.Status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case p.Status == http.StatusNotFound:
		code = "model_not_found"
	case p.Status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case p.Status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return map[string]any{"message": p.Message, "type": kind, "param": nil, "code": code}
}

func (completions) fail(w http.ResponseWriter, p *problem) {
	failWith(w, p.Status, map[string]any{"error": openAIError(p)})
}

func (f completions) failure(message string) string {
	return event("", map[string]any{"error": openAIError(
		&problem{Status: http.StatusInternalServerError, Message: message})})
}

func (completions) endless() string {
	return event("", map[string]any{
		"id": "chatcmpl-endless", "object": "chat.completion.chunk",
		"choices": []any{chatDelta(0, map[string]any{"content": "and so on "}, nil)},
	})
}

func (completions) malformed(how string) string {
	failure := encoded(map[string]any{"error": openAIError(&problem{Status: 500, Message: scriptedFault})})
	return misshaped(how, `{"choices": [}`, `{"choices": "none"}`, `{"choices": []}`, strings.TrimSpace(string(failure)))
}
