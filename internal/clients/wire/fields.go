package wire

import (
	"bytes"
	"encoding/json"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Fields is a JSON object. Readers take out the members that they know; the rest is kept.
type Fields map[string]json.RawMessage

// Take decodes a member into v and removes it. Missing and null members leave v unchanged.
func (f Fields) Take(name string, v any) error {
	raw, ok := f[name]
	delete(f, name)
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := Read(raw, v); err != nil {
		return &ShapeError{name, KindOf(raw)}
	}
	return nil
}

// IsBareError reports whether the object is an error without an `error` member around it, as some servers
// send it. Such an object has members of an error, and none of answer.
func (f Fields) IsBareError(answer ...string) bool {
	for _, name := range answer {
		if _, ok := f[name]; ok {
			return false
		}
	}
	var text Word
	_, coded := f["code"]
	_, named := f["status"]
	return (coded || named) && Read(f["message"], &text) == nil && text != ""
}

// Read is json.Unmarshal for valid or empty JSON. It is several times faster for the types in answers.
// Objects and lists share the memory of raw.
func Read(raw []byte, v any) error {
	if read(bytes.TrimSpace(raw), v) {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// read decodes the common types. It returns false to leave others, and errors, to encoding/json.
func read(raw []byte, v any) (ok bool) {
	if len(raw) == 0 {
		return false
	}
	switch v := v.(type) {
	case *string:
		return assign(v, raw)
	case **string:
		var text string
		if ok = assign(&text, raw); ok {
			*v = &text
		}
	case *Word:
		return assign((*string)(v), raw)
	case *LenientInt:
		return v.UnmarshalJSON(raw) == nil
	case *[]json.RawMessage:
		if ok = raw[0] == '['; ok {
			*v = []json.RawMessage{}
			for item := range wirejson.Items(raw) {
				*v = append(*v, item)
			}
		}
	case *Fields:
		if ok = raw[0] == '{'; ok {
			*v = Fields{}
			for name, value := range wirejson.Members(raw) {
				(*v)[name] = value
			}
		}
	}
	return ok
}

// assign decodes a JSON string.
func assign(to *string, raw []byte) bool {
	text, ok := wirejson.Text(raw)
	if ok {
		*to = text
	}
	return ok
}
