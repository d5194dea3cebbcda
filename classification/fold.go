package classification

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/evalrun/evalrun/internal/textmetric"
)

// Fold brings a text into the form in which classes are compared: Unicode form NFC, without differences of case, and
// with white space around it taken away and other white space as single spaces.
func Fold(text string) string {
	return norm.NFC.String(textmetric.FoldCase(norm.NFC.String(strings.Join(strings.Fields(text), " "))))
}

// Find is the place of the class that a text names as a whole, -1 when it names none.
func Find(classes []string, text string) int {
	folded := Fold(text)
	return slices.IndexFunc(classes, func(class string) bool { return Fold(class) == folded })
}
