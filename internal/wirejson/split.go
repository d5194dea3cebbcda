package wirejson

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// Members yields the names and values of a valid JSON object in order. The values share its memory, and so do names without escapes.
func Members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		i := skipSpace(object, bytes.IndexByte(object, '{')+1)
		for object[i] != '}' {
			end := valueEnd(object, i)
			name := unquoted(object[i:end])
			i = skipSpace(object, skipSpace(object, end)+1) // after the colon
			end = valueEnd(object, i)
			if !yield(name, object[i:end:end]) {
				return
			}
			i = skipComma(object, end)
		}
	}
}

// Items yields the items of a JSON list, which must be valid JSON; they share its memory.
func Items(list []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(list, bytes.IndexByte(list, '[')+1)
		for list[i] != ']' {
			end := valueEnd(list, i)
			if !yield(list[i:end:end]) {
				return
			}
			i = skipComma(list, end)
		}
	}
}

// Text is the text of a JSON string, which must be valid JSON; false where it is something else.
func Text(raw []byte) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return string(unquoted(raw)), true
}

func unquoted(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1]
	}
	var out string
	_ = json.Unmarshal(raw, &out) // it is valid
	return []byte(out)
}

func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t' {
		i++
	}
	return i
}

func skipComma(data []byte, i int) int {
	if i = skipSpace(data, i); data[i] == ',' {
		return skipSpace(data, i+1)
	}
	return i
}

// valueEnd is where the value ends that begins at i.
func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return endOfString(data, i+1) + 1
	case '{', '[':
		return endOfValue(data, i) + 1
	}
	if n := bytes.IndexAny(data[i:], ",]} \t\r\n"); n >= 0 {
		return i + n
	}
	return len(data)
}
