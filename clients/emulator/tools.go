package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tool is an entry of tools. The others that the service has, such as a search, are taken and not looked at.
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
	modeAuto = "AUTO" // the model chooses
	modeAny  = "ANY"  // the answer has a call
	modeNone = "NONE" // the answer has none
)

// mode is the mode's name; clients may send its number.
func (r *request) mode() string {
	switch m := r.ToolConfig.FunctionCallingConfig.Mode; m {
	case "", "null", "0", "MODE_UNSPECIFIED", "1":
		return modeAuto
	case "2":
		return modeAny
	case "3":
		return modeNone
	default:
		return string(m)
	}
}

// allowed are the functions that an answer may call under ANY: the named ones, or all.
func (r *request) allowed() []string {
	if names := r.ToolConfig.FunctionCallingConfig.AllowedFunctionNames; len(names) > 0 {
		return names
	}
	return r.declared
}

// checkTools says what is wrong with the declarations of functions and with how they may be called. It notes their names.
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
	case !functionName.Matches(d.Name):
		return "", badRequest("%s.name: %q is not a name: letters, digits and _ . : - after a letter or _, at most 64", at, d.Name)
	case !isSet(d.Parameters):
		return d.Name, nil
	}
	return d.Name, checkParameters(at+".parameters", d.Parameters)
}

// checkParameters wants the schema of an object.
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

// misshapen is the problem of a value that has another type than it should.
func misshapen(at string, err error) *problem {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			at += "." + wrong.Field
		}
		return badRequest("%s cannot be a %s", at, wrong.Value)
	}
	return badRequest("%s: %s", at, err)
}

// schema is what is looked at of a schema, the service's own or JSON Schema.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
	Required   []string                   `json:"required"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
}

// maxSchemaDepth bounds how deeply schemas are nested.
const maxSchemaDepth = 32

// checkSchema says what is wrong with a schema and those within it.
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

// inner are the schemas right below this one.
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

// wrongType is a type, or the one of several, that does not exist; "" when all do. The service's own schemas say STRING, or its
// number, and JSON Schema says string.
func wrongType(raw json.RawMessage) string {
	// numberedTypes are the types as clients may send them instead.
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
