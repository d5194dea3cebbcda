package eval

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/internal/textmetric"
)

// Fold normalizes a text for comparison with classes: Unicode form NFC, case folded, white space trimmed and collapsed
// to single spaces.
func Fold(text string) string {
	return norm.NFC.String(textmetric.FoldCase(norm.NFC.String(strings.Join(strings.Fields(text), " "))))
}

// Find returns the index of the class that equals the text after Fold; -1 if there is none.
func Find(classes []string, text string) int {
	folded := Fold(text)
	return slices.IndexFunc(classes, func(class string) bool { return Fold(class) == folded })
}
