package scorers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readJSON parses an answer as JSON. Invalid JSON fails, and `not:` does not turn that into a pass.
func readJSON(text string) (value any, failed *Finding) {
	value, problem := parseJSON(text)
	switch problem {
	case "":
		return value, nil
	case tooDeepJSON:
		return nil, new(Unscored("%s", problem))
	}
	return nil, new(Uncheckable("%s", problem))
}

// tooDeepJSON is the problem of a text that is nested too deep for encoding/json.
const tooDeepJSON = "the answer holds values nested deeper than 10000, which are not read"

// parseJSON parses the whole text as one JSON value, keeping numbers as written.
func parseJSON(text string) (value any, problem string) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	err := dec.Decode(&value)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return value, ""
		}
		return nil, fmt.Sprintf("not valid JSON: something follows the value: %s", quote(text))
	}
	hint := ""
	if strings.HasPrefix(strings.TrimSpace(text), "```") {
		hint = " (the answer is fenced with ```)"
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if strings.HasSuffix(syntax.Error(), " exceeded max depth") && balanced(text) { // encoding/json has no type for it
			return nil, tooDeepJSON
		}
		return nil, fmt.Sprintf("not valid JSON at byte %d%s: %s", syntax.Offset, hint, quote(text))
	}
	return nil, fmt.Sprintf("not valid JSON: it ends too early%s: %s", hint, quote(text))
}

// balanced reports whether brackets outside of strings are closed as often as opened. Otherwise the JSON is
// invalid at any depth.
func balanced(text string) bool {
	depth, within := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case within:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return depth == 0 && !within
}
