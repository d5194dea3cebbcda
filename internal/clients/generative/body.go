package generative

import (
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/clients/wire"
	"github.com/evalrun/evalrun/internal/wirejson"
)

func requestBody(r *eval.Request) []byte {
	b := append(make(wirejson.OpenObject, 0, 512), '{')
	b = wire.Append(b.Member("contents"), r.Contents)
	b = addConfig(b, r)
	if len(r.SafetySettings) > 0 {
		b = append(b.Member("safetySettings"), wire.Encode(r.SafetySettings)...)
	}
	b = wire.AppendInstructions(b, r)
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		b = append(b.Member(name), r.Extra[name]...)
	}
	return append(b, '}')
}

func addConfig(b wirejson.OpenObject, r *eval.Request) wirejson.OpenObject {
	if r.GenerationConfig == nil {
		return b
	}
	return append(b.Member("generationConfig"), wire.Encode(r.GenerationConfig)...)
}

// countBody sends the contents alone when they are the whole prompt, and the whole request otherwise.
func countBody(r *eval.Request) []byte {
	if wire.IsPlain(r) {
		return append(wire.Append([]byte(`{"contents":`), r.Contents), '}')
	}
	b := wirejson.OpenObject(`{"generateContentRequest":{`)
	b = wirejson.AppendString(b.Member("model"), "models/"+r.Model)
	b = wire.Append(b.Member("contents"), r.Contents)
	return append(wire.AppendInstructions(addConfig(b, r), r), "}}"...)
}
