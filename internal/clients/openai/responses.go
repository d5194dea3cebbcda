package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// ResponsesClient calls a service that has OpenAI's Responses API. It is safe for concurrent use.
type ResponsesClient struct{ common }

// NewResponses returns a client without opening a connection.
func NewResponses(s wire.Server) *ResponsesClient {
	return &ResponsesClient{newCommon(s, wire.Responses(), "responses")}
}

// Generate sends the call once, as a stream if it wants one. call.Timing gets the times of the attempt.
func (c *ResponsesClient) Generate(ctx context.Context, call *eval.Call) (*eval.Response, error) {
	return c.Caller.Generate(ctx, call, c.protocol, responsesFormat)
}

// Read reads the reply to a call in a batch.
func (c *ResponsesClient) Read(call *eval.Call, reply *wire.BatchReply) (*eval.Response, error) {
	return c.ReadReply(reply, c.URL(c.Server.Path, call.Model), responsesFormat)
}

var responsesFormat = wire.AnswerFormat{
	Parse: ParseResponses, Stream: func() wire.Assembly { return &responsesAssembly{} }, Explain: explain,
}

// explain adds advice to an error of the service. A prompt that the service blocks is an answer.
func explain(e *eval.Error) *eval.Response {
	if blocked := wire.BlockedPrompt(e); blocked != nil {
		return blocked
	}
	if e.Status >= 400 && e.Status < 500 && strings.Contains(e.Message, "v1/chat/completions") {
		e.Message += "; set `protocol: openai` at the service"
	}
	return nil
}

// ParseResponses decodes a response: a complete one, or a recorded stream of server-sent events. It keeps
// fields and items that it does not know. The error is an *eval.Error.
func ParseResponses(data []byte) (*eval.Response, error) {
	return wire.ParseKept(data, &responsesAssembly{},
		&wire.Whole{Noun: "a response", Field: "output", Other: []string{"status"}, Read: response, Lacks: unfinished})
}

// echoed lists members that repeat the request, or that every response has. They are not recorded.
var echoed = []string{
	"object", "created_at", "completed_at", "background", "error", "frequency_penalty", "instructions",
	"max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "presence_penalty", "previous_response_id",
	"prompt_cache_key", "prompt_cache_retention", "reasoning", "safety_identifier", "store", "temperature", "text",
	"tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

func response(f wire.Fields) (*eval.Response, error) {
	var out eval.Response
	var items []json.RawMessage
	var usage wire.Fields
	var end ending
	if err := cmp.Or(
		f.Take("model", &out.ModelVersion), f.Take("output", &items), f.Take("status", &end.status),
		f.Take("incomplete_details", &end.details),
	); err != nil {
		return nil, err
	}
	if f.Take("usage", &usage) == nil && usage != nil {
		out.Usage = responsesUsage(usage)
	}
	c, err := responsesCandidate(items, end)
	if err != nil {
		return nil, err
	}
	for _, name := range echoed {
		delete(f, name)
	}
	maps.DeleteFunc(f, func(_ string, value json.RawMessage) bool { return wire.IsEmpty(value) })
	out.Candidates, out.Extra = []eval.Candidate{c}, eval.NewExtra(f)
	return &out, nil
}

type ending struct {
	status  string
	details wire.Fields
}

// reason returns the reason in the details of an incomplete response, and otherwise the status.
func (e *ending) reason() string {
	var reason wire.Word
	if e.status == "incomplete" && wire.Read(e.details["reason"], &reason) == nil {
		return string(reason)
	}
	return e.status
}

func (e *ending) check() error {
	switch e.status {
	case "failed":
		return eval.Errorf(eval.KindStatus, "the response failed, and the service does not say why")
	case "queued", "in_progress":
		return &eval.Error{
			Kind: eval.KindTruncated, Retry: eval.RetryNever, // the same request would be put off again
			Message: fmt.Sprintf("the response is not complete: its status is %q, and evalrun does not wait for it", e.status),
		}
	}
	return nil
}

// unfinished returns the error of a response without output that is not complete.
func unfinished(f wire.Fields) error {
	var end ending
	_ = wire.Read(f["status"], &end.status) // another type is none
	return end.check()
}

// around returns the raw form of the answer, without the members that are not part of it.
func (e *ending) around(items []json.RawMessage) json.RawMessage {
	raw := append(wirejson.OpenObject(`{"output":`), wire.Compact(wire.Encode(items))...)
	raw = append(raw.Member("status"), wire.Quoted(e.status)...)
	if e.details != nil {
		raw = append(raw.Member("incomplete_details"), wire.Compact(wire.Encode(e.details))...)
	}
	return json.RawMessage(append(raw, '}'))
}

func responsesCandidate(items []json.RawMessage, end ending) (eval.Candidate, error) {
	var out eval.Candidate
	var r itemReader
	for _, raw := range items {
		if err := r.item(raw); err != nil {
			return out, err
		}
	}
	r.pieces.Fill(&out)
	if err := end.check(); err != nil {
		return out, err
	}
	if err := wire.End(&out, end.reason()); err != nil {
		return out, err
	}
	if end.status != "" {
		out.VendorReason = end.status
	}
	if r.refused {
		wire.Refuse(&out)
	}
	if out.Pieces != nil || r.more || end.details != nil {
		out.Raw = end.around(items)
	}
	return out, nil
}

type itemReader struct {
	pieces  wire.Pieces
	refused bool
	more    bool // more than text
}

func (r *itemReader) item(raw json.RawMessage) error {
	f := wire.Fields{}
	var kind string
	if wire.Read(raw, &f) != nil || f.Take("type", &kind) != nil {
		return &wire.ShapeError{Field: "output", Found: wire.KindOf(raw)}
	}
	switch kind {
	case "message":
		return r.parts(f)
	case "reasoning":
		r.more = true
		r.think(f)
	case "function_call", "custom_tool_call":
		if err := r.call(f, kind == "custom_tool_call"); err != nil {
			return err
		}
	default:
		r.pieces.AddOther(raw)
	}
	return r.pieces.Size()
}

// think reads thoughts, or else their summary.
func (r *itemReader) think(f wire.Fields) {
	text := texts(f["content"], "")
	if text == "" {
		text = texts(f["summary"], "\n\n")
	}
	r.pieces.AddThought(text)
}

// call reads a call. That of a custom tool has a text as input, and no arguments.
func (r *itemReader) call(f wire.Fields, custom bool) error {
	var id, item, name, input string
	if err := cmp.Or(f.Take("call_id", &id), f.Take("id", &item), f.Take("name", &name), f.Take("input", &input)); err != nil {
		return err
	}
	if name == "" {
		return &wire.ShapeError{Field: "function_call.name", Found: "nothing"}
	}
	args := wire.Arguments(wire.ArgumentsIn(f["arguments"]))
	if custom {
		args = wire.Quoted(input)
	}
	r.pieces.AddCall(&eval.FunctionCall{ID: cmp.Or(id, item), Name: name, Args: args})
	return nil
}

func (r *itemReader) parts(message wire.Fields) error {
	var all []json.RawMessage
	var plain string
	if wire.Read(message["content"], &plain) == nil { // some servers write a text instead of parts
		r.pieces.AddText(plain)
		return r.pieces.Size()
	}
	if err := message.Take("content", &all); err != nil {
		return err
	}
	for _, raw := range all {
		f := wire.Fields{}
		if wire.Read(raw, &f) != nil {
			return &wire.ShapeError{Field: "content", Found: wire.KindOf(raw)}
		}
		var kind string
		var text *string
		if err := cmp.Or(f.Take("type", &kind), f.Take("text", &text)); err != nil {
			return err
		}
		switch {
		case kind == "refusal":
			r.refused = true
			r.pieces.AddOther(raw)
		case text == nil:
			r.pieces.AddOther(raw)
		default:
			r.pieces.AddText(*text)
			for _, value := range f {
				r.more = r.more || !wire.IsEmpty(value)
			}
		}
	}
	return r.pieces.Size()
}

func texts(raw json.RawMessage, between string) string {
	var list []wire.Fields
	_ = wire.Read(raw, &list)
	var out []string
	for _, one := range list {
		var text string
		if one.Take("text", &text) == nil && text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, between)
}

func responsesUsage(f wire.Fields) *eval.Usage {
	var c wire.TokenCounts
	counted := f.TakeCount(&c.Input, "input_tokens", "prompt_tokens")
	known := f.TakeCount(&c.Output, "output_tokens", "completion_tokens")
	f.TakeCount(&c.Total, "total_tokens")
	if !counted { // as in chat completions
		c.Input = max(0, c.Total-c.Output)
	}
	f.TakeDetails("input_tokens_details", "cached_tokens", &c.Cached, "cache_write_tokens", &c.Written)
	f.TakeDetails("output_tokens_details", "reasoning_tokens", &c.Reasoning)
	f.DropZeros()
	return c.Usage(known, f)
}
