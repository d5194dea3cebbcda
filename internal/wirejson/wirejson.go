// Package wirejson writes JSON without the escapes for HTML and reads the service's spellings of keys. It knows no noun of evalrun.
package wirejson

import (
	"bytes"
	"encoding/json"

	fastjson "github.com/segmentio/encoding/json"
)

// AppendString appends s as a JSON string without the HTML escapes that only
// make a prompt longer. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if plainASCII(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	quoted, err := Marshal(s)
	if err != nil { // a string always encodes
		panic(err)
	}
	return append(dst, quoted...)
}

// Marshal is json.Marshal without the escapes for HTML, which make run files and
// prompts longer and harder to read.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Append appends what Marshal gives in a third of the time, for what is written a million times. It takes no
// time.Duration, which it would spell otherwise; the records of a run have none.
func Append(dst []byte, v any) ([]byte, error) {
	return fastjson.Append(dst, v, fastjson.SortMapKeys)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
