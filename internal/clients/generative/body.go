package generative

import (
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// body is the beginning of a JSON object, to which members are appended.
type body []byte

// member appends the name of a member; the caller appends its value.
func (b body) member(name string) body { return body(wirejson.OpenObject(b).Member(name)) }

func requestBody(r *eval.Request) []byte {
	b := body(make([]byte, 0, 512))
	b = append(b, '{')
	b = wire.Append(b.member("contents"), r.Contents)
	b = b.config(r)
	if len(r.SafetySettings) > 0 {
		b = append(b.member("safetySettings"), wire.Encode(r.SafetySettings)...)
	}
	b = b.instructions(r)
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		b = append(b.member(name), r.Extra[name]...)
	}
	return append(b, '}')
}

func (b body) config(r *eval.Request) body {
	if r.GenerationConfig == nil {
		return b
	}
	return append(b.member("generationConfig"), wire.Encode(r.GenerationConfig)...)
}

func (b body) instructions(r *eval.Request) body {
	if r.System != "" {
		b = wire.AppendSystem(b.member("systemInstruction"), r.System)
	}
	if len(r.Tools) > 0 {
		b = wire.AppendTools(b.member("tools"), r.Tools)
	}
	if r.ToolChoice != nil {
		b = wire.AppendToolChoice(b.member("toolConfig"), r.ToolChoice)
	}
	return b
}

// countBody sends the contents alone when they are the whole prompt, and the whole request otherwise.
func countBody(r *eval.Request) []byte {
	if wire.IsPlain(r) {
		return append(wire.Append([]byte(`{"contents":`), r.Contents), '}')
	}
	b := body(`{"generateContentRequest":{`)
	b = wirejson.AppendString(b.member("model"), "models/"+r.Model)
	b = wire.Append(b.member("contents"), r.Contents)
	return append(b.config(r).instructions(r), "}}"...)
}
