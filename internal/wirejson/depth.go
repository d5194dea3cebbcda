package wirejson

import (
	"bytes"
	"fmt"
)

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
