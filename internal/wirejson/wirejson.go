// Package wirejson has JSON as services send and expect it. Marshal, Append and OpenObject write it without the
// escapes for HTML. DecodeAnyCase reads keys in any of the service's spellings. Members, Items and Text walk
// through a value without decoding the whole. The package knows no noun of evalrun.
package wirejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	fastjson "github.com/segmentio/encoding/json"
)

// AppendString appends s as a JSON string without the HTML escapes that only
// make a prompt longer. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		n := plainBytes(s)
		dst, s = append(dst, s[:n]...), s[n:]
		if len(s) > 0 {
			r, size := utf8.DecodeRuneInString(s)
			dst, s = appendRune(dst, r, size), s[size:]
		}
	}
	return append(dst, '"')
}

// appendRune appends a character that is not plain. size is its number of bytes in the source.
func appendRune(dst []byte, r rune, size int) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == utf8.RuneError && size == 1:
		return append(dst, `\ufffd`...)
	case r == '\u2028' || r == '\u2029': // which end a line in JavaScript
		return append(dst, '\\', 'u', '2', '0', '2', hex[r&15])
	case r > '~':
		return utf8.AppendRune(dst, r)
	}
	if i := strings.IndexByte("\"\\\b\f\n\r\t", byte(r)); i >= 0 { //nolint:gosec // r is ASCII here
		return append(dst, '\\', `"\bfnrt`[i])
	}
	return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}

// Marshal is json.Marshal without the escapes for HTML, which are hard to read.
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
// time.Duration, which it would spell otherwise; the records of a run have none. A value that has AppendJSON writes
// itself, which saves the copy that MarshalJSON makes.
func Append(dst []byte, v any) ([]byte, error) {
	if v, ok := v.(interface {
		AppendJSON(dst []byte) ([]byte, error)
	}); ok {
		return v.AppendJSON(dst)
	}
	return fastjson.Append(dst, v, fastjson.SortMapKeys)
}

// Decode is json.Unmarshal in a quarter of the time, for texts whose keys are known. It has fewer words for what is wrong, which
// encoding/json has to say. What it takes is checked against encoding/json by fuzzing.
func Decode(data []byte, v any) error {
	return decode(data, v, fastjson.DontMatchCaseInsensitiveStructFields)
}

// Scan is Decode for texts that are needed no longer than data, whose memory they share.
func Scan(data []byte, v any) error {
	return decode(data, v, fastjson.DontMatchCaseInsensitiveStructFields|fastjson.ZeroCopy)
}

// DecodeAnyCase is Decode with keys in any case, as json.Unmarshal takes them.
func DecodeAnyCase(data []byte, v any) error { return decode(data, v, 0) }

func decode(data []byte, v any, flags fastjson.ParseFlags) error {
	if err := CheckDepth(data, MaxDepth); err != nil {
		return err
	}
	rest, err := fastjson.Parse(data, v, flags)
	if err == nil && len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("more than one value")
	}
	return err
}

// Valid is json.Valid in a tenth of the time.
func Valid(data []byte) bool { return !Deeper(data, MaxDepth) && fastjson.Valid(data) }

// plainBytes returns the length of the beginning of a text that JSON needs no escapes for.
func plainBytes(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// OpenObject is a JSON object that is being written: it begins as "{".
type OpenObject []byte

// Member begins a member of the object, whose value follows.
func (o OpenObject) Member(name string) OpenObject {
	if o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	return append(AppendString(o, name), ':')
}

const (
	// MaxDepth is the deepest nesting that is decoded, as in encoding/json. The fast decoders recurse without a bound, and a
	// stack that overflows ends the process.
	MaxDepth = 10_000
	// MaxPartDepth is the deepest nesting of what becomes a part of a line of a run file, which must be readable again.
	MaxPartDepth = MaxDepth / 2
)

// CheckDepth returns an error for a text that nests deeper than a number of levels.
func CheckDepth(data []byte, levels int) error {
	if Deeper(data, levels) {
		return fmt.Errorf("nested deeper than %d levels", levels)
	}
	return nil
}

// Deeper reports whether lists and objects nest deeper than a number of levels. In a text that is not JSON it counts
// at least as far as a decoder reads.
func Deeper(data []byte, levels int) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= levels { // as in most texts
		return false
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = endOfString(data, i+1); i < 0 {
				return false
			}
		case '{', '[':
			if depth++; depth > levels {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
