package wire

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/internal/wirejson"
)

// members writes the members of a request. `extra` of the suite replaces some; null in it removes them.
type members struct {
	out    wirejson.OpenObject
	config decodedConfig
	extra  eval.Extra
}

func newMembers(r *eval.Request) *members {
	out := make(wirejson.OpenObject, 0, 1024)
	return &members{out: append(out, '{'), config: decodeSettings(r.GenerationConfig), extra: r.Extra}
}

// add writes a member, unless it has no value or is replaced.
func (m *members) add(name string, value json.RawMessage) {
	if _, replaced := m.extra[name]; replaced || value == nil {
		return
	}
	m.out = append(m.out.Member(name), value...)
}

// sampling writes the settings that have the same names in all protocols.
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

func optional[T any](v *T) json.RawMessage {
	if v == nil {
		return nil
	}
	return Encode(*v)
}

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

type field struct {
	name  string
	value json.RawMessage // nil omits the member
}

func object(fields ...field) json.RawMessage {
	out := wirejson.OpenObject("{")
	for _, f := range fields {
		if f.value != nil {
			out = append(out.Member(f.name), f.value...)
		}
	}
	return json.RawMessage(append(out, '}'))
}

// typed writes an object whose first member is its type.
func typed(kind string, fields ...field) json.RawMessage {
	return object(append([]field{{"type", Quoted(kind)}}, fields...)...)
}

func dataURL(file *eval.Image) json.RawMessage {
	out := Quoted("data:" + file.MIMEType + ";base64,")
	out = out[:len(out)-1]
	return append(base64.StdEncoding.AppendEncode(out, file.Data), '"')
}

func inBase64(file *eval.Image) json.RawMessage {
	return append(base64.StdEncoding.AppendEncode([]byte{'"'}, file.Data), '"')
}

// fileName removes the folders, which the service need not learn.
func fileName(file *eval.Image) json.RawMessage {
	name := file.Path[strings.LastIndexByte(file.Path, '/')+1:]
	if name == "" {
		name = "file"
	}
	return Quoted(name)
}

func textOf(c *eval.Content) (string, bool) {
	var out strings.Builder
	for _, p := range c.Parts {
		if !isText(p) {
			return "", false
		}
		out.WriteString(eval.TextOf(p))
	}
	return out.String(), true
}

func isText(p eval.Part) bool {
	_, ok := p.(eval.TextPart)
	return ok
}

func role(c *eval.Content) json.RawMessage {
	if c.Role == eval.RoleModel {
		return Quoted("assistant")
	}
	return Quoted("user")
}

func typeOf(raw json.RawMessage) string {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.Type
}
