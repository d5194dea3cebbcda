package eval

import (
	"fmt"
	"testing"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

// What other shells treat as special is itself.
func TestOnlyTheStarIsSpecial(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[a-z]`, `{a,b}`, `\d`, `a?c`, `!x`, `^a$`, `(a|b)`, `a.c`, `~`, "a\nb", "日本"} {
		if !Pattern(text).Match(text) {
			t.Errorf("%q: got no match with itself, want one", text)
		}
		for _, other := range []string{text + "x", "x" + text, "abc", "b", ""} {
			if Pattern(text).Match(other) {
				t.Errorf("%q: got a match with %q, want none", text, other)
			}
		}
	}
	expect.Same(t, "a backslash before a star", Pattern(`\*`).Match(`\anything`), true)
}

// Matching covers the whole name, and lines and slashes are like any other character.
func TestAStarMatchesAnything(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a/b/c", "a\nb", "a\x00b", "aéb", "a**b", "ab"} {
		last := Pattern(text[len(text)-1:])
		for _, p := range []Pattern{"a*", "*" + last, "a*" + Pattern(text[1:]), Pattern(text) + "*", "*", "a**" + last} {
			if !p.Match(text) {
				t.Errorf("%q: got no match with %q, want one", p, text)
			}
		}
	}
	for p, text := range map[Pattern]string{"a*": "ba", "*a": "ab", "a*b*": "ba", "*aa*aa*": "aaa", "ab*ba": "aba"} {
		if p.Match(text) {
			t.Errorf("%q: got a match with %q, want none", p, text)
		}
	}
}

// Patterns are alternatives in the order in which they were given.
func TestPatternsAreAlternatives(t *testing.T) {
	t.Parallel()
	expect.Same(t, "patterns", NewPatterns([]string{"a*", "b"}), Patterns{"a*", "b"})
	expect.Same(t, "no patterns", NewPatterns(nil), nil)
	for _, test := range []struct {
		patterns []string
		text     string
		want     bool
	}{
		{nil, "x", true},
		{nil, "", true},
		{[]string{""}, "x", false},
		{[]string{""}, "", true},
		{[]string{"a*", "b"}, "apple", true},
		{[]string{"a*", "b"}, "b", true},
		{[]string{"a*", "b"}, "bb", false},
	} {
		expect.Same(t, fmt.Sprintf("%q on %q", test.patterns, test.text), NewPatterns(test.patterns).Match(test.text), test.want)
	}
}
