package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tool is an entry of tools. The emulator accepts and ignores the service's own tools, such as a search.
type tool struct {
	FunctionDeclarations []json.RawMessage `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type toolConfig struct {
	FunctionCallingConfig struct {
		Mode                 enum     `json:"mode"`
		AllowedFunctionNames []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

// Modes of function calling.
const (
	modeAuto = "AUTO" // the model decides
	modeAny  = "ANY"  // the answer must have a call
	modeNone = "NONE" // the answer must not have a call
)

// mode returns the name of the mode. Clients may send its number.
func (r *request) mode() string {
	return r.ToolConfig.FunctionCallingConfig.Mode.named(map[enum]string{
		"": modeAuto, "null": modeAuto, "0": modeAuto, "MODE_UNSPECIFIED": modeAuto, "1": modeAuto, "2": modeAny, "3": modeNone,
	})
}

// allowed returns the functions that an answer may call under ANY: the named ones, or all.
func (r *request) allowed() []string {
	if names := r.ToolConfig.FunctionCallingConfig.AllowedFunctionNames; len(names) > 0 {
		return names
	}
	return r.declared
}

// checkTools validates the declarations of functions and the mode. It records the names of the functions.
func (r *request) checkTools() *problem {
	for i, t := range r.Tools {
		for j, raw := range t.FunctionDeclarations {
			at := fmt.Sprintf("tools[%d].functionDeclarations[%d]", i, j)
			name, p := checkDeclaration(at, raw)
			if p == nil && slices.Contains(r.declared, name) {
				p = badRequest("%s.name: %q is declared twice", at, name)
			}
			if p != nil {
				return p
			}
			r.declared = append(r.declared, name)
		}
	}
	return r.checkMode()
}

func (r *request) checkMode() *problem {
	const at = "toolConfig.functionCallingConfig"
	mode, names := r.mode(), r.ToolConfig.FunctionCallingConfig.AllowedFunctionNames
	switch {
	case !slices.Contains([]string{modeAuto, modeAny, modeNone}, mode):
		return badRequest("%s.mode must be AUTO, ANY or NONE, not %q", at, mode)
	case mode == modeAny && len(r.declared) == 0:
		return badRequest("%s.mode is ANY, and tools declares no function", at)
	case mode != modeAny && len(names) > 0:
		return badRequest("%s.allowedFunctionNames needs the mode ANY", at)
	}
	for i, name := range names {
		if !slices.Contains(r.declared, name) {
			return badRequest("%s.allowedFunctionNames[%d]: tools declares no function %q", at, i, name)
		}
	}
	return nil
}

func checkDeclaration(at string, raw json.RawMessage) (name string, p *problem) {
	var d declaration
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", misshapen(at, err)
	}
	switch {
	case d.Name == "":
		return "", badRequest("%s.name is required", at)
	case !functionName().MatchString(d.Name):
		return "", badRequest("%s.name: %q is not a name: letters, digits and _ . : - after a letter or _, at most 64", at, d.Name)
	case !isSet(d.Parameters):
		return d.Name, nil
	}
	return d.Name, checkParameters(at+".parameters", d.Parameters)
}

// checkParameters requires the schema of an object.
func checkParameters(at string, raw json.RawMessage) *problem {
	if p := checkSchema(at, raw, 0); p != nil {
		return p
	}
	var top struct {
		Type enum `json:"type"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return misshapen(at, err)
	}
	if t := strings.ToLower(string(top.Type)); t != "" && t != "object" && t != "6" {
		return badRequest("%s.type must be object, not %q", at, t)
	}
	return nil
}

// misshapen returns the problem for a value of the wrong type.
func misshapen(at string, err error) *problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			at += "." + wrong.Field
		}
		return badRequest("%s cannot be a %s", at, wrong.Value)
	}
	return badRequest("%s: %s", at, err)
}

// schema has the fields that the emulator checks in a schema of the service or a JSON Schema.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
	Required   []string                   `json:"required"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
}

const maxSchemaDepth = 32

// checkSchema validates a schema and those inside it.
func checkSchema(at string, raw json.RawMessage, depth int) *problem {
	if depth > maxSchemaDepth {
		return badRequest("%.200s… is nested more than %d deep", at, maxSchemaDepth)
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return misshapen(at, err)
	}
	if wrong := wrongType(s.Type); wrong != "" {
		return badRequest("%s.type: %s is not a type", at, wrong)
	}
	for i, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return badRequest("%s.required[%d]: there is no property %q", at, i, name)
		}
	}
	for _, inner := range s.inner() {
		if p := checkSchema(at+"."+inner.at, inner.raw, depth+1); p != nil {
			return p
		}
	}
	return nil
}

type innerSchema struct {
	at  string
	raw json.RawMessage
}

// inner returns the schemas directly inside this one.
func (s *schema) inner() []innerSchema {
	var out []innerSchema
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, innerSchema{"properties." + name, s.Properties[name]})
	}
	if isSet(s.Items) {
		out = append(out, innerSchema{"items", s.Items})
	}
	for i, raw := range s.AnyOf {
		out = append(out, innerSchema{fmt.Sprintf("anyOf[%d]", i), raw})
	}
	return out
}

// wrongType returns an unknown type, "" if all types are known. The service's own schemas have STRING, or
// its number, and JSON Schema has string.
func wrongType(raw json.RawMessage) string {
	// Clients may send the number of a type.
	numberedTypes := []string{"0", "1", "2", "3", "4", "5", "6", "7"}

	schemaTypes := []string{"string", "number", "integer", "boolean", "array", "object", "null"}

	if !isSet(raw) {
		return ""
	}
	var types []string
	if one := new(string); json.Unmarshal(raw, one) == nil {
		types = append(types, *one)
	} else if json.Unmarshal(raw, &types) != nil && !slices.Contains(numberedTypes, string(raw)) {
		return string(raw)
	}
	for _, t := range types {
		if !slices.Contains(schemaTypes, strings.ToLower(t)) && t != "TYPE_UNSPECIFIED" {
			return fmt.Sprintf("%q", t)
		}
	}
	return ""
}
