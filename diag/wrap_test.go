package diag_test

import (
	"strings"
	"testing"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/testing/expect"
)

// Lines break between words, by columns and not by bytes; a narrow width leaves the text whole.
func TestWrapBreaksBetweenWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		width int
		want  []string
	}{
		"it fits":       {"one two", 20, []string{"one two"}},
		"at the width":  {"one two three four five", 23, []string{"one two three four five"}},
		"one too long":  {"one two three four five", 22, []string{"one two three four", "five"}},
		"a long word":   {"a " + strings.Repeat("x", 30) + " b", 20, []string{"a", strings.Repeat("x", 30), "b"}},
		"wide letters":  {"日本語日本語 日本語日", 20, []string{"日本語日本語", "日本語日"}},
		"spaces":        {"  one \n\t two  ", 20, []string{"one two"}},
		"nothing":       {"", 20, []string{""}},
		"a narrow room": {"one  two three", 19, []string{"one  two three"}},
	} {
		expect.Same(t, name, diag.Wrap(test.text, test.width), test.want)
	}
}
