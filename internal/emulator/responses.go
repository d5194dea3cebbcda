package emulator

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

// responses is the form of OpenAI's Responses API.
type responses struct{}

type responsesRequest struct {
	Model           string          `json:"model"`
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	Stream          bool            `json:"stream"`
	Temperature     *float64        `json:"temperature"`
	TopP            *float64        `json:"top_p"`
	MaxOutputTokens *integer        `json:"max_output_tokens"`
	Tools           []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
}

type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// itemPart is a part of a message, or of a function's output.
type itemPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL string          `json:"image_url"`
	FileData string          `json:"file_data"`
	FileURL  string          `json:"file_url"`
	FileID   string          `json:"file_id"`
	Refusal  json.RawMessage `json:"refusal"`
}

func readResponses(body []byte) (*convertedRequest, *problem) {
	var in responsesRequest
	if p := decode(body, &in); p != nil {
		return nil, p
	}
	q := &convertedRequest{request: &request{Model: in.Model}, stream: in.Stream, usage: true}
	q.GenerationConfig = config{Temperature: in.Temperature, TopP: in.TopP, MaxOutputTokens: in.MaxOutputTokens}
	q.instruct(in.Instructions)
	var text string
	var items []item
	switch {
	case json.Unmarshal(in.Input, &text) == nil && isSet(in.Input):
		q.say(eval.RoleUser, textPart(text))
	case json.Unmarshal(in.Input, &items) != nil:
		return nil, badRequest("input must be a text or a list of items")
	}
	for i := range items {
		if p := q.item(&items[i]); p != nil {
			return nil, p.in("input", i)
		}
	}
	if len(q.Contents) == 0 {
		return nil, badRequest("input needs a message of the user")
	}
	for _, t := range in.Tools {
		if t.Type == "function" {
			q.declare(t.Name, t.Description, t.Parameters)
		}
	}
	return q, q.chooseOpenAI(in.ToolChoice)
}

func (q *convertedRequest) item(one *item) *problem {
	switch one.Type {
	case "item_reference":
		return badRequest("item_reference is not emulated: this server keeps no state between requests")
	case "function_call":
		if !isText(one.Arguments) {
			return badRequest("arguments must be a text with JSON")
		}
		return q.call(one.CallID, one.Name, one.Arguments)
	case "function_call_output":
		parts, p := itemParts(one.Output)
		if p != nil {
			return p
		}
		return q.result(one.CallID, content{Parts: parts}.text(), false)
	case "", "message":
	default: // thoughts, and items of the vendor's own tools
		return nil
	}
	parts, p := itemParts(one.Content)
	if p != nil {
		return p
	}
	switch one.Role {
	case "system", "developer":
		q.instruct(content{Parts: parts}.text())
	case "user":
		q.say(eval.RoleUser, parts...)
	case "assistant":
		q.say(eval.RoleModel, parts...)
	default:
		return badRequest("role must be system, developer, user or assistant, not %q", one.Role)
	}
	return nil
}

func itemParts(raw json.RawMessage) ([]wirePart, *problem) {
	var text string
	var list []itemPart
	switch {
	case !isSet(raw):
		return nil, nil
	case json.Unmarshal(raw, &text) == nil:
		return []wirePart{textPart(text)}, nil
	case json.Unmarshal(raw, &list) != nil:
		return nil, badRequest("a text, or a list of parts, is expected")
	}
	var out []wirePart
	for _, one := range list {
		switch one.Type {
		case "input_text", "output_text":
			out = append(out, textPart(one.Text))
		case "input_image":
			out = append(out, filePart(one.ImageURL+one.FileID))
		case "input_file":
			out = append(out, filePart(one.FileData+one.FileURL+one.FileID))
		case "refusal":
		default:
			return nil, badRequest("content: the type %q is not known", one.Type)
		}
	}
	return out, nil
}

func (responses) framing(*http.Request) framing { return sse("") }

func (responses) items(a *outcome, c *wireCandidate, status string) []map[string]any {
	said := spokenBy(c)
	out := []map[string]any{}
	if said.thought != "" {
		out = append(out, map[string]any{
			"type": "reasoning", "id": "rs_" + a.id,
			"summary": []any{map[string]any{"type": "summary_text", "text": said.thought}},
		})
	}
	if said.text != "" {
		out = append(out, map[string]any{
			"type": "message", "id": "msg_" + a.id, "status": status, "role": "assistant",
			"content": []any{map[string]any{
				"type": "output_text", "text": said.text, "annotations": []any{},
				"logprobs": []any{},
			}},
		})
	}
	for n, call := range said.calls {
		out = append(out, map[string]any{
			"type": "function_call", "id": "fc_" + a.id + itoa(n), "call_id": a.callID("call_", call, n), "name": call.Name,
			"arguments": arguments(call), "status": status,
		})
	}
	return out
}

// status returns the status of a response; details say why it is incomplete.
func (responses) status(c *wireCandidate) (status string, details any) {
	words := endings{stop: "completed", length: "max_output_tokens", blocked: "content_filter"}
	reason := words.of(c.FinishReason, false)
	if reason == "completed" {
		return reason, nil
	}
	return "incomplete", map[string]any{"reason": reason}
}

func (responses) counts(a *outcome) map[string]any {
	u := a.counts
	return map[string]any{
		"input_tokens": u.Prompt + u.ToolUse, "input_tokens_details": map[string]int{"cached_tokens": u.Cached, "cache_write_tokens": 0},
		"output_tokens": u.Candidates + u.Thoughts, "output_tokens_details": map[string]int{"reasoning_tokens": u.Thoughts},
		"total_tokens": u.Total,
	}
}

// body returns the fields of a response, except its output.
func (responses) body(a *outcome) map[string]any {
	return map[string]any{
		"id": "resp_" + a.id, "object": "response", "created_at": created, "model": a.query.model.ID(),
		"status": "in_progress",
		"output": []any{},
		"error":  nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{},
		"parallel_tool_calls": true, "temperature": a.query.GenerationConfig.Temperature,
		"top_p": a.query.GenerationConfig.TopP, "tool_choice": "auto", "tools": []any{},
		"usage": nil, "text": map[string]any{"format": map[string]any{"type": "text"}},
	}
}

func (f responses) finished(a *outcome) map[string]any {
	c := a.candidates()[0]
	status, details := f.status(&c)
	out := f.body(a)
	out["status"] = status
	out["incomplete_details"] = details
	out["output"] = f.items(a, &c, status)
	out["usage"] = f.counts(a)
	return out
}

func (f responses) whole(a *outcome) []byte { return a.wholly(f.finished(a)) }

// numbered collects events with sequence numbers.
type numbered []string

func (n *numbered) add(name string, fields map[string]any) {
	fields["sequence_number"] = len(*n)
	*n = append(*n, named(name, fields))
}

func (f responses) pieces(a *outcome, n int) []string {
	var out numbered
	whole := f.finished(a)
	out.add("response.created", map[string]any{"response": f.body(a)})
	out.add("response.in_progress", map[string]any{"response": f.body(a)})
	for i, one := range whole["output"].([]map[string]any) {
		f.itemPieces(&out, i, one, n)
	}
	out.add("response."+whole["status"].(string), map[string]any{"response": whole})
	return grouped(out)
}

func (responses) itemPieces(out *numbered, index int, one map[string]any, n int) {
	begun := maps.Clone(one)
	at := func(fields map[string]any) map[string]any {
		fields["output_index"], fields["item_id"] = index, one["id"]
		return fields
	}
	switch one["type"] {
	case "message":
		begun["content"], begun["status"] = []any{}, "in_progress"
		out.add("response.output_item.added", map[string]any{"output_index": index, "item": begun})
		whole := one["content"].([]any)[0].(map[string]any)
		empty := maps.Clone(whole)
		empty["text"] = ""
		out.add("response.content_part.added", at(map[string]any{"content_index": 0, "part": empty}))
		for _, text := range cut(whole["text"].(string), n) {
			out.add("response.output_text.delta", at(map[string]any{"content_index": 0, "delta": text, "logprobs": []any{}}))
		}
		out.add("response.output_text.done", at(map[string]any{
			"content_index": 0, "text": whole["text"],
			"logprobs": []any{},
		}))
		out.add("response.content_part.done", at(map[string]any{"content_index": 0, "part": whole}))
	case "function_call":
		begun["arguments"], begun["status"] = "", "in_progress"
		out.add("response.output_item.added", map[string]any{"output_index": index, "item": begun})
		for _, half := range cutEvenly(one["arguments"].(string), 2) {
			out.add("response.function_call_arguments.delta", at(map[string]any{"delta": half}))
		}
		out.add("response.function_call_arguments.done",
			at(map[string]any{"arguments": one["arguments"], "name": one["name"]}))
	default:
		begun["summary"] = []any{}
		out.add("response.output_item.added", map[string]any{"output_index": index, "item": begun})
		whole := one["summary"].([]any)[0].(map[string]any)
		out.add(
			"response.reasoning_summary_part.added",
			at(map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": ""}}),
		)
		for _, text := range cut(whole["text"].(string), 0) {
			out.add("response.reasoning_summary_text.delta", at(map[string]any{"summary_index": 0, "delta": text}))
		}
		out.add("response.reasoning_summary_text.done", at(map[string]any{"summary_index": 0, "text": whole["text"]}))
		out.add("response.reasoning_summary_part.done", at(map[string]any{"summary_index": 0, "part": whole}))
	}
	out.add("response.output_item.done", map[string]any{"output_index": index, "item": one})
}

func (responses) raw(text string) string { return namedByType(text) }

func (responses) fail(w http.ResponseWriter, p *problem) { completions{}.fail(w, p) }

func (responses) failure(message string) string {
	return named("error", map[string]any{"error": openAIError(
		&problem{Status: http.StatusInternalServerError, Message: message})})
}

func (responses) endless() string {
	return named(
		"response.output_text.delta",
		map[string]any{"output_index": 0, "content_index": 0, "item_id": "msg", "delta": "and so on "},
	)
}

func (responses) malformed(how string) string {
	return misshaped(how, `{"object": "response", "output": [}`,
		`{"object": "response", "status": "completed", "output": 5}`,
		`{"object": "response", "status": null, "output": []}`, completions{}.malformed("error"))
}

// embeddings answers OpenAI's embeddings request.
func (e *Emulator) embeddings(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model      string       `json:"model"`
		Input      stringOrList `json:"input"`
		Format     string       `json:"encoding_format"`
		Dimensions integer      `json:"dimensions"`
	}
	p := e.checkOtherKey(r)
	var body []byte
	if p == nil {
		if body, p = readBody(r); p == nil {
			p = decode(body, &in)
		}
	}
	m := e.model(in.Model)
	switch {
	case p != nil:
	case m == nil || !supports(m, wire.MethodEmbed):
		p = notFound("the model %q does not exist, or makes no embeddings", in.Model)
	case len(in.Input) == 0 || len(in.Input) > 2048:
		p = badRequest("input needs 1 to 2048 texts")
	}
	var data []any
	for i := 0; p == nil && i < len(in.Input); i++ {
		var v wireEmbedding
		v, p = embed(&embedRequest{Content: &content{Parts: []wirePart{textPart(in.Input[i])}}, Dimensions: in.Dimensions}, m)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": inFormat(v.Values, in.Format)})
	}
	if p != nil {
		completions{}.fail(w, p)
		return
	}
	e.count(r, servedEmbeddings)
	e.bill(r, m, body)
	n := (len(strings.Join(in.Input, "")) + 3) / 4
	reply(w, map[string]any{
		"object": "list", "model": m.ID(), "data": data, "usage": map[string]int{"prompt_tokens": n, "total_tokens": n},
	})
}

// inFormat returns a vector as numbers, or as the base64 of 32-bit floats, which OpenAI's libraries
// request.
func inFormat(values []float64, format string) any {
	if format != "base64" {
		return values
	}
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.EncodeToString(out)
}
