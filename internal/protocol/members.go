package protocol

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// members are those of a request that is being written. What the suite adds at the top level replaces a member of the
// same name, and null removes it.
type members struct {
	out    wirejson.OpenObject
	config settings
	extra  eval.Extra
}

func newMembers(r *eval.Request) *members {
	out := make(wirejson.OpenObject, 0, 1024)
	return &members{out: append(out, '{'), config: read(r.GenerationConfig), extra: r.Extra}
}

// add writes a member, if it has a value and is not replaced.
func (m *members) add(name string, value json.RawMessage) {
	if _, replaced := m.extra[name]; replaced || value == nil {
		return
	}
	m.out = append(m.out.Member(name), value...)
}

// sampling writes the settings that all protocols call by the same names.
func (m *members) sampling() {
	m.add("temperature", optional(m.config.Temperature))
	m.add("top_p", optional(m.config.TopP))
}

func (m *members) body() []byte {
	for _, name := range slices.Sorted(maps.Keys(m.extra)) {
		if value := m.extra[name]; string(value) != "null" {
			m.out = append(m.out.Member(name), value...)
		}
	}
	return append(m.out, '}')
}

// optional is a value as JSON, nil where there is none.
func optional[T any](v *T) json.RawMessage {
	if v == nil {
		return nil
	}
	return encode(*v)
}

// encode is for values that always encode.
func encode(v any) json.RawMessage {
	data, err := wirejson.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return data
}

func quote(text string) json.RawMessage { return wirejson.AppendString(nil, text) }

// list is a JSON list of values.
func list(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}

// field is a member of an object.
type field struct {
	name  string
	value json.RawMessage // nil: the member is left out
}

// object is a JSON object of fields in their order.
func object(fields ...field) json.RawMessage {
	out := wirejson.OpenObject("{")
	for _, f := range fields {
		if f.value != nil {
			out = append(out.Member(f.name), f.value...)
		}
	}
	return json.RawMessage(append(out, '}'))
}

// typed is an object with its type first.
func typed(kind string, fields ...field) json.RawMessage {
	return object(append([]field{{"type", quote(kind)}}, fields...)...)
}

// dataURL is a file as an address that holds it.
func dataURL(file *eval.Image) json.RawMessage {
	out := quote("data:" + file.MIMEType + ";base64,")
	out = out[:len(out)-1]
	return append(base64.StdEncoding.AppendEncode(out, file.Data), '"')
}

// inBase64 is the bytes of a file.
func inBase64(file *eval.Image) json.RawMessage {
	return append(base64.StdEncoding.AppendEncode([]byte{'"'}, file.Data), '"')
}

// fileName is the name of a file without its folders.
func fileName(file *eval.Image) json.RawMessage {
	name := file.Path[strings.LastIndexByte(file.Path, '/')+1:]
	if name == "" {
		name = "file"
	}
	return quote(name)
}

// text joins the parts of a turn that is nothing but text; false where there is another part.
func text(c *eval.Content) (string, bool) {
	var out strings.Builder
	for i := range c.Parts {
		p := &c.Parts[i]
		if !isText(p) {
			return "", false
		}
		out.WriteString(p.Text)
	}
	return out.String(), true
}

func isText(p *eval.Part) bool {
	return p.Image == nil && p.Data == nil && p.Raw == nil && p.Result == nil
}

// role is who speaks in a turn, in the words of these protocols.
func role(c *eval.Content) json.RawMessage {
	if c.Role == eval.RoleModel {
		return quote("assistant")
	}
	return quote("user")
}

// typeOf is the member `type` of a raw part.
func typeOf(raw json.RawMessage) string {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.Type
}
