package eval

import (
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

func TestGlobMatchesWholeTexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, text string
		want       bool
	}{
		{"pro", "pro", true},
		{"pro", "pro2", false},
		{"pro*", "pro", true},
		{"pro*", "pro-warm/direct", true},
		{"*/direct", "a/b/direct", true},
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"*a", "aa", true},
		{"a*a", "a", false},
		{"[x]", "[x]", true},
		{"?", "x", false},
		{"**", "anything", true},
		{"*France*", "the France of", true},
	} {
		expect.Same(t, test.glob+" on "+test.text, Pattern(test.glob).Match(test.text), test.want)
	}
	if !(Patterns{}).Match("x") || !(Patterns{"a", "x"}).Match("x") || (Patterns{"a"}).Match("x") {
		t.Error("got no match of an empty list or of the second glob, or one of neither; want globs as alternatives")
	}
}
