package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// ParseResponse decodes a message: a complete one, or a recorded stream of server-sent events. It keeps
// fields and blocks that it does not know. The error is an *eval.Error.
func ParseResponse(data []byte) (*eval.Response, error) {
	return wire.ParseKept(data, &assembly{},
		&wire.Whole{Noun: "a message", Field: "content", Other: []string{"role"}, Read: message})
}

func message(f wire.Fields) (*eval.Response, error) {
	var out eval.Response
	var reason wire.Word
	var usage wire.Fields
	if err := cmp.Or(f.Take("model", &out.ModelVersion), f.Take("stop_reason", &reason)); err != nil {
		return nil, err
	}
	blocks, err := takeBlocks(f)
	if err != nil {
		return nil, err
	}
	if f.Take("usage", &usage) == nil && usage != nil {
		out.Usage = readUsage(usage)
	}
	c, err := candidate(blocks, string(reason), f)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"type", "role", "stop_sequence", "stop_details"} {
		delete(f, name)
	}
	out.Candidates, out.Extra = []eval.Candidate{c}, eval.NewExtra(f)
	return &out, nil
}

// takeBlocks reads the content of a message. Some gateways write it as a text instead of a list of blocks.
func takeBlocks(f wire.Fields) ([]json.RawMessage, error) {
	var blocks []json.RawMessage
	content := f["content"]
	if f.Take("content", &blocks) == nil {
		return blocks, nil
	}
	var text string
	if wire.Read(content, &text) != nil {
		return nil, &wire.ShapeError{Field: "content", Found: wire.KindOf(content)}
	}
	return []json.RawMessage{wire.Object("type", wire.Quoted("text"), "text", wire.Quoted(text))}, nil
}

func candidate(blocks []json.RawMessage, reason string, f wire.Fields) (eval.Candidate, error) {
	var out eval.Candidate
	var pieces wire.Pieces
	more := false
	for _, raw := range blocks {
		m, err := block(raw, &pieces)
		if err != nil {
			return out, err
		}
		more = more || m
	}
	pieces.Fill(&out)
	if err := wire.End(&out, reason); err != nil {
		return out, err
	}
	extra := map[string]json.RawMessage{}
	for _, name := range []string{"stop_sequence", "stop_details"} {
		if !wire.IsEmpty(f[name]) {
			extra[name] = f[name]
		}
	}
	out.Extra = eval.NewExtra(extra)
	if more || out.Pieces != nil || len(extra) > 0 {
		raw := append(wirejson.OpenObject(`{"content":`), wire.Compact(wire.Encode(blocks))...)
		raw = append(raw, `,"role":"assistant"`...)
		extra["stop_reason"] = wire.Quoted(reason)
		out.Raw = json.RawMessage(append(wire.AppendMembers(raw, out.Extra), '}'))
	}
	return out, nil
}

// block converts a block to a part of the answer. more reports whether the block has more than text.
func block(raw json.RawMessage, to *wire.Pieces) (more bool, err error) {
	f := wire.Fields{}
	if wire.Read(raw, &f) != nil {
		return false, &wire.ShapeError{Field: "content", Found: wire.KindOf(raw)}
	}
	var kind, text, thinking string
	if err := cmp.Or(f.Take("type", &kind), f.Take("text", &text), f.Take("thinking", &thinking)); err != nil {
		return false, err
	}
	switch kind {
	case "text":
		to.AddText(text)
		for _, value := range f {
			more = more || !wire.IsEmpty(value)
		}
		return more, to.Size()
	case "thinking":
		to.AddThought(thinking)
	case "redacted_thinking": // encrypted thoughts, and no answer
	case "tool_use":
		var id, name wire.Word
		if err := cmp.Or(f.Take("id", &id), f.Take("name", &name)); err != nil {
			return true, err
		}
		if name == "" {
			return true, &wire.ShapeError{Field: "tool_use.name", Found: "nothing"}
		}
		to.AddCall(&eval.FunctionCall{ID: string(id), Name: string(name), Args: wire.Arguments(wire.ArgumentsIn(f["input"]))})
	default:
		to.AddOther(raw)
	}
	return true, to.Size()
}

// readUsage returns nil when the record has no plausible number. The service counts tokens read from or
// written to a cache apart from the input.
func readUsage(f wire.Fields) *eval.Usage {
	var c wire.TokenCounts
	var input wire.LenientInt
	f.TakeCount(&input, "input_tokens")
	f.TakeCount(&c.Written, "cache_creation_input_tokens")
	f.TakeDetails("cache_creation", "ephemeral_1h_input_tokens", &c.Hour)
	f.TakeCount(&c.Cached, "cache_read_input_tokens")
	known := f.TakeCount(&c.Output, "output_tokens")
	f.TakeDetails("output_tokens_details", "thinking_tokens", &c.Reasoning)
	f.DropZeros()
	c.Input = input + c.Written + c.Cached
	return c.Usage(known, f)
}
