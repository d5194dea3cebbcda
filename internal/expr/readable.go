package expr

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of an input: its depth, the digits of its numbers, and how much of a number a message shows.
const (
	maxQueryNesting = 500
	maxNumber       = 400
	maxShown        = 120
)

// Unreadable names the part of a JSON value that cannot be computed with, or would take too long, "" if there is none.
// Numbers are exact fractions or floats, and nested values need recursion.
func Unreadable(v any) string { return unreadable(v, 0) }

func unreadable(v any, depth int) string {
	if depth > maxQueryNesting {
		return fmt.Sprintf("values nested deeper than %d", maxQueryNesting)
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
		if text := string(v); longNumber(text) {
			if len(text) > maxShown {
				text = text[:maxShown] + "..."
			}
			return "the number " + text
		}
	}
	return ""
}

// longNumber reports whether a number has more than maxNumber digits when it is written out, or is too large for a float.
func longNumber(text string) bool {
	_, exponent, float := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if float && err == nil {
		_, err = strconv.ParseFloat(text, 64)
	}
	return err != nil || n > maxNumber || n < -maxNumber || len(text) > maxNumber
}
