package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"

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

// ReadObject decodes the members of the object in a field whose names are among the pairs of names and targets, and returns the others,
// nil where there are none. Missing and null members leave their targets unchanged. raw is valid JSON or empty. The error is a
// *ShapeError: of the first such member that has another type than its target, or of the field, if it is not an object.
func ReadObject(field string, raw []byte, pairs ...any) (rest Fields, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] != '{':
		return nil, &ShapeError{field, KindOf(raw)}
	}
	for name, value := range wirejson.Members(raw) {
		to := target(pairs, name)
		switch {
		case to == nil && rest == nil:
			rest = Fields{string(name): value}
		case to == nil:
			rest[string(name)] = value
		case string(value) != "null" && Read(value, to) != nil && err == nil:
			err = &ShapeError{string(name), KindOf(value)}
		}
	}
	return rest, err
}

func target(pairs []any, name []byte) any {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(string) == string(name) {
			return pairs[i+1]
		}
	}
	return nil
}

// isBareError reports whether the object is an error without an `error` member around it, as some servers
// send it. Such an object has members of an error, and none of answer, or a list of errors.
func (f Fields) isBareError(answer ...string) bool {
	if f.minimaxWord() != "" && IsEmpty(f["choices"]) {
		return true
	}
	if f.hasAny(answer...) {
		return false
	}
	said := slices.ContainsFunc([]string{"message", "msg", "error_msg", "title"}, func(name string) bool {
		var text Word
		return Read(f[name], &text) == nil && text != ""
	})
	return said && f.hasAny("code", "status", "error_code") || !IsEmpty(f["errors"]) || len(f) == 1 && !IsEmpty(f["detail"])
}

// hasError reports whether the object has an error. An empty one beside members of answer says that there is none.
func (f Fields) hasError(answer ...string) bool {
	raw := f["error"]
	return HasError(raw) && (!IsEmpty(raw) && string(raw) != "false" || !f.hasAny(answer...))
}

func (f Fields) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := f[name]; return ok })
}

// Read is a faster json.Unmarshal for valid or empty JSON. Objects and lists share the memory of raw.
func Read(raw []byte, v any) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case read(raw, v):
		return nil
	case isOther(raw, v):
		return errOther
	}
	return json.Unmarshal(raw, v)
}

var errOther = errors.New("the value has another type")

// isOther reports whether a value, which is neither null nor empty, has another type than one that read decodes, which encoding/json would
// take long to find.
func isOther(raw []byte, v any) bool {
	if len(raw) == 0 || raw[0] == 'n' {
		return false
	}
	switch v.(type) {
	case *string, **string:
		return raw[0] != '"'
	case *Fields:
		return raw[0] != '{'
	case *[]json.RawMessage:
		return raw[0] != '['
	}
	return false
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
		return readNew(raw, v)
	case *Word:
		return assign((*string)(v), raw)
	case *LenientInt:
		return v.UnmarshalJSON(raw) == nil
	case **LenientInt:
		return readNew(raw, v)
	case *json.RawMessage:
		*v, ok = raw, true
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
				(*v)[string(name)] = value
			}
		}
	}
	return ok
}

func readNew[T any](raw []byte, v **T) bool {
	var value T
	ok := read(raw, &value)
	if ok {
		*v = &value
	}
	return ok
}

func assign(to *string, raw []byte) bool {
	text, ok := wirejson.Text(raw)
	if ok {
		*to = text
	}
	return ok
}

// MergedValue is a JSON value in pieces: lists grow, objects merge, other values replace earlier ones.
type MergedValue struct {
	last    json.RawMessage
	list    []json.RawMessage
	members map[string]*MergedValue
}

// Add adds a piece. null changes nothing.
func (m *MergedValue) Add(raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	var list []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		m.list = append(m.list, list...)
	case raw[0] == '{' && json.Unmarshal(raw, &members) == nil:
		for name, value := range members {
			m.Member(name).Add(value)
		}
	default:
		m.last = raw
	}
}

// Set replaces the value. null changes nothing.
func (m *MergedValue) Set(raw json.RawMessage) {
	if string(raw) != "null" {
		m.last = raw
	}
}

// Member returns the value of a member; a new one is empty.
func (m *MergedValue) Member(name string) *MergedValue {
	if m.members == nil {
		m.members = map[string]*MergedValue{}
	}
	if m.members[name] == nil {
		m.members[name] = &MergedValue{}
	}
	return m.members[name]
}

// JSON returns the value, nil if all pieces were null or empty.
func (m *MergedValue) JSON() json.RawMessage {
	switch {
	case m.last != nil:
		return Compact(m.last)
	case len(m.list) > 0:
		items := make([]json.RawMessage, len(m.list))
		for i, raw := range m.list {
			items[i] = Compact(raw)
		}
		return list(items)
	}
	out := wirejson.OpenObject("{")
	for _, name := range slices.Sorted(maps.Keys(m.members)) {
		if value := m.members[name].JSON(); value != nil {
			out = append(out.Member(name), value...)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return json.RawMessage(append(out, '}'))
}

// Members returns the members of an object that are not empty.
func (m *MergedValue) Members() map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(m.members))
	for name, member := range m.members {
		if value := member.JSON(); !IsEmpty(value) {
			out[name] = value
		}
	}
	return out
}

// IsEmpty reports whether a value is null, or an empty text, list or object.
func IsEmpty(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case "", "null", `""`:
		return true
	}
	return (raw[0] == '[' || raw[0] == '{') && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

// Quoted returns a text as a JSON string.
func Quoted(text string) json.RawMessage { return wirejson.AppendString(nil, text) }

// Encode panics on an error: its values always encode.
func Encode(v any) json.RawMessage {
	data, err := wirejson.Append(nil, v)
	if err != nil {
		panic(err)
	}
	return data
}

// Object returns an object. more continues with pairs of names and values.
func Object(name string, value json.RawMessage, more ...any) json.RawMessage {
	out := append(wirejson.OpenObject("{").Member(name), value...)
	for i := 0; i+1 < len(more); i += 2 {
		out = append(out.Member(more[i].(string)), more[i+1].(json.RawMessage)...)
	}
	return json.RawMessage(append(out, '}'))
}

// AppendMembers appends members, sorted by name.
func AppendMembers(out wirejson.OpenObject, members map[string]json.RawMessage) wirejson.OpenObject {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out = append(out.Member(name), members[name]...)
	}
	return out
}
