package scorers

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

// maxSearched bounds the bytes that are read in search of JSON: unterminated values are read repeatedly.
const maxSearched = 16 * maxSelect

// jsonSelector picks JSON objects and arrays in a text.
func jsonSelector(n yaml.Node) *selector {
	which := n.Word("first", "last", "all")
	if which == "" {
		return nil
	}
	name := which + " JSON value"
	if which == "all" {
		name = "all JSON values"
	}
	return &selector{name, func(text string) (string, *Finding) {
		if len(text) > maxSelect {
			return unscoredText("%s: the text has %d bytes, at most %d are read", name, len(text), maxSelect)
		}
		found, complete := jsonIn(text, which == "first")
		switch {
		case !complete:
			return unscoredText("%s: the text begins too many values that do not end", name)
		case len(found) == 0:
			return missing("the answer has no JSON object or array: %s", quote(text))
		case which == "all":
			return "[" + strings.Join(found, ",") + "]", nil
		}
		return found[len(found)-1], nil
	}}
}

// jsonIn finds the outermost objects and arrays in a text, or only the first. complete is false when the search
// took too long.
func jsonIn(text string, first bool) (found []string, complete bool) {
	room := maxSearched
	for at := 0; at < len(text); {
		begin := strings.IndexAny(text[at:], "{[")
		if begin < 0 {
			break
		}
		at += begin
		length, read := jsonLength(text[at:])
		if room -= read; room < 0 {
			return nil, false
		}
		value := text[at : at+length]
		at += max(1, length)
		if length == 0 || value[0] == '[' && strings.HasPrefix(text[at:], "(") { // [1](https://example.com)
			continue
		}
		found = append(found, value)
		if first {
			break
		}
	}
	return found, true
}

// jsonLength is the length of the JSON value at the beginning of a text, 0 when there is none, and the number of
// bytes that were read.
func jsonLength(text string) (length, read int) {
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	err := dec.Decode(&value)
	var wrong *json.SyntaxError
	switch {
	case err == nil:
		return len(value), len(value)
	case errors.As(err, &wrong):
		return 0, int(wrong.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, len(text)
	}
	return 0, len(text)
}
