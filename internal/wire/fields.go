package wire

import (
	"bytes"
	"encoding/json"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// Fields is a JSON object. Its known members are taken out one by one; what is left is kept as it came.
type Fields map[string]json.RawMessage

// Take decodes a member into v and removes it; absent and null leave v alone.
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

// IsBareError reports whether the object is an error without the member `error` around it, as some servers send it.
// Such an object has the words of an error, and no member of an answer.
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

// Read decodes a value that is valid JSON, or nothing, as json.Unmarshal does. It takes a fraction of its time for
// what answers are made of; objects and lists share the memory of raw.
func Read(raw []byte, v any) error {
	if read(bytes.TrimSpace(raw), v) {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// read decodes what it knows; false leaves the rest, and errors, to encoding/json.
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

// assign sets a text that raw is a JSON string of.
func assign(to *string, raw []byte) bool {
	text, ok := wirejson.Text(raw)
	if ok {
		*to = text
	}
	return ok
}
