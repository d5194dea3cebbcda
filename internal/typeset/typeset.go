// Package typeset gives texts the form in which people read them, whatever they say: cut to a length, with a
// capital letter, in colour, and names as a list.
package typeset

import (
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/eval"
)

// CutText is the beginning of a text that is longer than most bytes.
func CutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// Sentence begins a text with a capital letter.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// SomeNames lists the first of some names, and counts the others.
func SomeNames(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// colors of outcomes can be read on light and dark ground.
var colors = map[eval.Outcome]string{eval.Pass: "32", eval.Fail: "31", eval.Err: "35", eval.Skip: "36"}

// Paint puts a text into the colour of an outcome, where colours are wanted.
func Paint(color bool, outcome eval.Outcome, s string) string {
	if !color || s == "" {
		return s
	}
	return "\x1b[" + colors[outcome] + "m" + s + "\x1b[0m"
}
