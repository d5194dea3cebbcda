package scorers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxNesting bounds the depth of structured answers.
const maxNesting = 500

// wordLetter is a letter of a script that separates words from numbers.
func wordLetter(r rune) bool {
	return unicode.IsLetter(r) && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

// pointer is a JSON Pointer for showing.
func pointer(path []string) string {
	if len(path) == 0 {
		return "(root)"
	}
	out := ""
	for _, s := range path {
		out += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
	}
	return visibleText(out)
}

// unreadable names what a validation would take too long over: the library counts with exact
// fractions, and goes down by recursion.
func unreadable(v any, depth int) string {
	if depth > maxNesting {
		return fmt.Sprintf("values nested deeper than %d", maxNesting)
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if why := unreadable(item, depth+1); why != "" {
				return why
			}
		}
	case map[string]any:
		for _, item := range v {
			if why := unreadable(item, depth+1); why != "" {
				return why
			}
		}
	case json.Number:
		if longNumber(string(v)) {
			return "the number " + cutText(string(v))
		}
	}
	return ""
}

// longNumber reports whether a number has more digits, written out, than are worth computing with.
func longNumber(text string) bool {
	if len(text) > 400 {
		return true
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(cmp.Or(exponent, "0"))
	return err != nil || n > 400 || n < -400
}
