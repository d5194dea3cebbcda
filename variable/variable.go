// Package variable is what the variables of cases and templates hold.
package variable

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// Value is what a variable holds: a string, a List or a Dict.
type Value any

// List is a variable that holds several values. It prints as JSON.
type List []Value

// Dict is a variable with named values. It prints as JSON with sorted keys.
type Dict map[string]Value

// Plain are the values in Go's own types, as expressions compare them.
func (d Dict) Plain() map[string]any {
	out := make(map[string]any, len(d))
	for name, v := range d {
		out[name] = plainValue(v)
	}
	return out
}

func plainValue(v Value) any {
	switch v := v.(type) {
	case Dict:
		return v.Plain()
	case List:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plainValue(item)
		}
		return out
	}
	return v
}

func (l List) String() string { return JSON(l) }
func (d Dict) String() string { return JSON(d) }

// JSON is a value as JSON, with sorted keys.
func JSON(v Value) string { return string(appendValue(nil, v)) }

// appendValue writes JSON as encoding/json does, without escapes for HTML. Cases are told apart by it, a hundred thousand
// at a time, for which reflection is slow.
func appendValue(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case string:
		return appendText(dst, v)
	case Dict:
		if v == nil {
			return append(dst, "null"...)
		}
		dst = append(dst, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, key), ':')
			dst = appendValue(dst, v[key])
		}
		return append(dst, '}')
	case List:
		if v == nil {
			return append(dst, "null"...)
		}
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, item)
		}
		return append(dst, ']')
	}
	return appendAny(dst, v)
}

func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return appendAny(dst, s)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

func appendAny(dst []byte, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // strings always encode
		return append(dst, err.Error()...)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
