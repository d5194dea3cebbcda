package eval

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

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
