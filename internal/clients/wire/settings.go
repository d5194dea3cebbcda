package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"

	"github.com/evalrun/evalrun/eval"
)

// decodedConfig has the further keys decoded. A value of the wrong type counts as an unknown key.
type decodedConfig struct {
	eval.GenerationConfig
	candidates          *int
	seed                json.RawMessage
	presence, frequency json.RawMessage
	mimeType            string
	schema              json.RawMessage
	thinking            *decodedThinking
	unknown             eval.Extra
}

type decodedThinking struct {
	Budget  *int    `json:"thinkingBudget"`
	Include *bool   `json:"includeThoughts"`
	Level   *string `json:"thinkingLevel"`

	unknown eval.Extra
}

func decodeSettings(c *eval.GenerationConfig) decodedConfig {
	if c == nil {
		return decodedConfig{}
	}
	out := decodedConfig{GenerationConfig: *c, unknown: maps.Clone(c.Extra)}
	take(&out, "candidateCount", &out.candidates)
	take(&out, "seed", &out.seed)
	take(&out, "presencePenalty", &out.presence)
	take(&out, "frequencyPenalty", &out.frequency)
	take(&out, "responseMimeType", &out.mimeType)
	take(&out, "responseSchema", &out.schema)
	take(&out, "thinkingConfig", &out.thinking)
	if out.thinking == nil {
		return out
	}
	var all eval.Extra
	if json.Unmarshal(c.Extra["thinkingConfig"], &all) == nil {
		for _, name := range []string{"thinkingBudget", "includeThoughts", "thinkingLevel"} {
			delete(all, name)
		}
		out.thinking.unknown = all
	}
	return out
}

func take[T any](s *decodedConfig, name string, to *T) {
	var value T
	if raw, ok := s.unknown[name]; ok && json.Unmarshal(raw, &value) == nil {
		*to = value
		delete(s.unknown, name)
	}
}

func (s *decodedConfig) wantsJSON() bool { return s.mimeType == "application/json" || s.schema != nil }

// closed reports whether every object in a schema requires all its properties and allows no others. Only
// then can the vendor enforce the schema.
func closed(schema json.RawMessage) bool {
	var s struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
		Items                json.RawMessage            `json:"items"`
		AnyOf                []json.RawMessage          `json:"anyOf"`
		Defs                 map[string]json.RawMessage `json:"$defs"`
		Type                 json.RawMessage            `json:"type"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	object := bytes.Contains(s.Type, []byte(`"object"`)) || s.Properties != nil
	if object && (string(s.AdditionalProperties) != "false" || len(s.Required) != len(s.Properties)) {
		return false
	}
	inner := append([]json.RawMessage{}, s.AnyOf...)
	for _, of := range []map[string]json.RawMessage{s.Properties, s.Defs} {
		for _, one := range of {
			inner = append(inner, one)
		}
	}
	if s.Items != nil {
		inner = append(inner, s.Items)
	}
	for _, one := range inner {
		if !closed(one) {
			return false
		}
	}
	return true
}

// emptySchema is for functions without arguments.
var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// parametersOr returns a schema even for a function without arguments, for protocols that require one.
func parametersOr(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return emptySchema
	}
	return schema
}

func (s *decodedConfig) maxTokens(otherwise int) int {
	if s.MaxOutputTokens == nil {
		return otherwise
	}
	return cmp.Or(*s.MaxOutputTokens, otherwise)
}
