package emulator

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

func itoa(i int) string { return strconv.Itoa(i) }

// messages is the form of Anthropic's Messages API.
type messages struct{}

type messagesRequest struct {
	Model         string          `json:"model"`
	MaxTokens     *integer        `json:"max_tokens"`
	System        json.RawMessage `json:"system"`
	Messages      []blockMessage  `json:"messages"`
	Stream        bool            `json:"stream"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *integer        `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Tools         []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type    string `json:"type"`
		Display string `json:"display"`
	} `json:"thinking"`
}

type blockMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type messageBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Source    blockSource     `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
}

type blockSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

// readMessages requires the limit of the answer, unlike readMessagesPrompt.
func readMessages(body []byte) (*convertedRequest, *problem) {
	q, limit, p := readMessagesPrompt(body)
	if p == nil && limit == nil {
		p = badRequest("max_tokens: Field required")
	}
	return q, p
}

// readMessagesPrompt reads the fields that count as prompt, and the limit of the answer.
func readMessagesPrompt(body []byte) (*convertedRequest, *integer, *problem) {
	var in messagesRequest
	if p := decode(body, &in); p != nil {
		return nil, nil, p
	}
	q := &convertedRequest{request: &request{Model: in.Model}, stream: in.Stream, usage: true}
	q.GenerationConfig = config{
		Temperature: in.Temperature, TopP: in.TopP, TopK: in.TopK, MaxOutputTokens: in.MaxTokens,
		StopSequences: in.StopSequences,
	}
	if t := in.Thinking; t != nil && (t.Type == "disabled" || t.Display == "omitted") {
		q.GenerationConfig.ThinkingConfig = &thinking{IncludeThoughts: new(false)}
	}
	system, p := blocks(in.System)
	if p != nil {
		return nil, nil, p
	}
	for _, b := range system {
		q.instruct(b.Text)
	}
	if p := q.blockMessages(in.Messages); p != nil {
		return nil, nil, p
	}
	for _, t := range in.Tools {
		if t.InputSchema != nil { // other tools are the vendor's own
			q.declare(t.Name, t.Description, t.InputSchema)
		}
	}
	if c := in.ToolChoice; c != nil {
		return q, in.MaxTokens, q.choose(c.Type, c.Name)
	}
	return q, in.MaxTokens, nil
}

// blockMessages requires at least one message.
func (q *convertedRequest) blockMessages(all []blockMessage) *problem {
	for i := range all {
		if p := q.blockMessage(&all[i]); p != nil {
			return p.in("messages", i)
		}
	}
	if len(q.Contents) == 0 {
		return badRequest("messages: at least one message is required")
	}
	return nil
}

func blocks(raw json.RawMessage) ([]messageBlock, *problem) {
	var text string
	switch {
	case !isSet(raw):
		return nil, nil
	case json.Unmarshal(raw, &text) == nil:
		return []messageBlock{{Type: "text", Text: text}}, nil
	}
	var out []messageBlock
	if json.Unmarshal(raw, &out) != nil {
		return nil, badRequest("a text, or a list of blocks, is expected")
	}
	return out, nil
}

func (q *convertedRequest) blockMessage(m *blockMessage) *problem {
	role := eval.RoleUser
	switch m.Role {
	case "user":
	case "assistant":
		role = eval.RoleModel
	default:
		return badRequest("role must be user or assistant, not %q", m.Role)
	}
	all, p := blocks(m.Content)
	if p != nil {
		return p
	}
	for i := range all {
		if p := q.block(role, &all[i]); p != nil {
			return p.in("content", i)
		}
	}
	return nil
}

// block adds a block to the conversation. Returned thoughts must be unchanged.
func (q *convertedRequest) block(role string, b *messageBlock) *problem {
	switch b.Type {
	case "text":
		q.say(role, textPart(b.Text))
	case "image", "document":
		if b.Source.URL != "" {
			q.say(role, filePart(b.Source.URL))
			return nil
		}
		q.say(role, wirePart{InlineData: &blob{MimeType: b.Source.MediaType, Data: b.Source.Data}})
	case "tool_use":
		if !isObject(b.Input) {
			return badRequest("input must be an object")
		}
		return q.call(b.ID, b.Name, b.Input)
	case "tool_result":
		inside, p := blocks(b.Content)
		if p != nil {
			return p
		}
		var text strings.Builder
		for _, one := range inside {
			text.WriteString(one.Text)
		}
		return q.result(b.ToolUseID, text.String(), b.IsError)
	case "thinking":
		if isOwnSignature(b.Signature) && b.Signature != thoughtSignature(b.Thinking) {
			return badRequest("the signature is not the one of this thought: send blocks of the model back as they came")
		}
	case "":
		return badRequest("type: Field required")
	}
	return nil // thoughts, and blocks of the vendor's own tools
}

// thoughtSignature returns the signature with which the emulator recognizes its own thoughts.
func thoughtSignature(thought string) string {
	return signature(&functionCall{Name: "thought", Args: encoded(thought)})
}

func (e *Emulator) countMessages(w http.ResponseWriter, r *http.Request) {
	q, p := e.readOther(r, servedCount, func(body []byte) (*convertedRequest, *problem) {
		q, _, p := readMessagesPrompt(body)
		return q, p
	})
	if p == nil {
		_, _, p = e.modelOf(q.Model)
	}
	if p != nil {
		messages{}.fail(w, p)
		return
	}
	reply(w, map[string]int{"input_tokens": q.tokens()})
}

func (messages) framing(*http.Request) framing { return sse("") }

func (messages) blocksOf(a *outcome, c *wireCandidate) []map[string]any {
	said := spokenBy(c)
	out := []map[string]any{}
	if said.thought != "" {
		out = append(out, map[string]any{
			"type": "thinking", "thinking": said.thought,
			"signature": thoughtSignature(said.thought),
		})
	}
	if said.text != "" {
		out = append(out, map[string]any{"type": "text", "text": said.text})
	}
	for n, call := range said.calls {
		out = append(out, map[string]any{
			"type": "tool_use", "id": a.callID("toolu_", call, n), "name": call.Name, "input": json.RawMessage(arguments(call)),
		})
	}
	return out
}

func (messages) head(a *outcome, content any) map[string]any {
	return map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.query.model.ID(), "content": content,
		"stop_reason": nil, "stop_sequence": nil,
	}
}

// ending returns the stop reason, and the stop sequence if there was one.
func (messages) ending(c *wireCandidate) map[string]any {
	words := endings{stop: "end_turn", called: "tool_use", length: "max_tokens", blocked: "refusal"}
	reason := words.of(c.FinishReason, len(spokenBy(c).calls) > 0)
	if reason == "end_turn" && c.stop != "" {
		return map[string]any{"stop_reason": "stop_sequence", "stop_sequence": c.stop}
	}
	return map[string]any{"stop_reason": reason, "stop_sequence": nil}
}

func (messages) counts(a *outcome) map[string]any {
	u := a.counts
	return map[string]any{
		"input_tokens": u.Prompt + u.ToolUse - u.Cached, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": u.Cached, "output_tokens": u.Candidates + u.Thoughts,
	}
}

func (f messages) usage(a *outcome) map[string]any {
	out := f.counts(a)
	out["service_tier"] = "standard"
	out["cache_creation"] = map[string]int{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
	return out
}

func (f messages) whole(a *outcome) []byte {
	c := a.candidates()[0]
	body := f.head(a, f.blocksOf(a, &c))
	maps.Copy(body, f.ending(&c))
	body["usage"] = f.usage(a)
	return a.wholly(body)
}

// named returns an event whose data repeats its name.
func named(name string, fields map[string]any) string {
	fields["type"] = name
	return event(name, fields)
}

func (f messages) pieces(a *outcome, n int) []string {
	c := a.candidates()[0]
	begun := f.head(a, []any{})
	usage := f.usage(a)
	usage["output_tokens"] = 1
	begun["usage"] = usage
	out := []string{named("message_start", map[string]any{"message": begun}), named("ping", map[string]any{})}
	for i, b := range f.blocksOf(a, &c) {
		out = append(out, f.blockPieces(i, b, n)...)
	}
	return grouped(append(
		out,
		named("message_delta", map[string]any{"delta": f.ending(&c), "usage": f.counts(a)}),
		named("message_stop", map[string]any{}),
	))
}

func (messages) blockPieces(index int, b map[string]any, n int) []string {
	var begun map[string]any
	var deltas []map[string]any
	add := func(kind, field, value string) { deltas = append(deltas, map[string]any{"type": kind, field: value}) }
	switch b["type"] {
	case "thinking":
		begun = map[string]any{"type": "thinking", "thinking": "", "signature": ""}
		for _, text := range cut(b["thinking"].(string), 0) {
			add("thinking_delta", "thinking", text)
		}
		add("signature_delta", "signature", b["signature"].(string))
	case "text":
		begun = map[string]any{"type": "text", "text": ""}
		for _, text := range cut(b["text"].(string), n) {
			add("text_delta", "text", text)
		}
	default:
		begun = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
		add("input_json_delta", "partial_json", "")
		for _, half := range cutEvenly(string(b["input"].(json.RawMessage)), 2) {
			add("input_json_delta", "partial_json", half)
		}
	}
	out := []string{named("content_block_start", map[string]any{"index": index, "content_block": begun})}
	for _, d := range deltas {
		out = append(out, named("content_block_delta", map[string]any{"index": index, "delta": d}))
	}
	return append(out, named("content_block_stop", map[string]any{"index": index}))
}

// raw names the event by the type in its data.
func (messages) raw(text string) string { return namedByType(text) }

func namedByType(text string) string {
	var one struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(text), &one) != nil || one.Type == "" {
		return "data: " + text + "\n\n"
	}
	return "event: " + one.Type + "\ndata: " + text + "\n\n"
}

// anthropicError returns the error body of Anthropic's protocol.
func anthropicError(p *problem) map[string]any {
	kinds := map[int]string{
		http.StatusUnauthorized:          "authentication_error",
		http.StatusForbidden:             "permission_error",
		http.StatusNotFound:              "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests:       "rate_limit_error",
		http.StatusServiceUnavailable:    "overloaded_error",
		529:                              "overloaded_error",
	}
	other := "api_error"
	if p.Status < http.StatusInternalServerError {
		other = "invalid_request_error"
	}
	kind := cmp.Or(kinds[p.Status], other)
	return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": p.Message}}
}

func (messages) fail(w http.ResponseWriter, p *problem) { failWith(w, p.Status, anthropicError(p)) }

func (messages) failure(message string) string {
	return event("error", anthropicError(&problem{Status: http.StatusInternalServerError, Message: message}))
}

func (messages) endless() string {
	return named("content_block_delta", map[string]any{
		"index": 0,
		"delta": map[string]any{"type": "text_delta", "text": "and so on "},
	})
}

func (messages) malformed(how string) string {
	failure := encoded(anthropicError(&problem{Status: http.StatusInternalServerError, Message: scriptedFault}))
	return misshaped(
		how, `{"type": "message", "content": [}`, `{"type": "message", "role": "assistant", "content": 5}`,
		`{"type": "message", "role": "assistant", "content": [], "stop_reason": null}`, string(failure),
	)
}
