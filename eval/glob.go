// Matches names with patterns in which only the star is special.

package eval

import (
	"slices"
	"strings"
)

// Pattern matches names. `*` matches any characters, including `/`; no other character is special.
type Pattern string

// Match reports whether the pattern matches the whole of s.
func (p Pattern) Match(s string) bool {
	head, rest, star := strings.Cut(string(p), "*")
	if !star {
		return s == head
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], after
	}
}

// Patterns are alternatives; an empty list matches everything.
type Patterns []Pattern

// NewPatterns converts texts to patterns.
func NewPatterns(texts []string) Patterns {
	var out Patterns
	for _, t := range texts {
		out = append(out, Pattern(t))
	}
	return out
}

// Match reports whether any pattern matches, or the list is empty.
func (ps Patterns) Match(s string) bool {
	return len(ps) == 0 || slices.ContainsFunc(ps, func(p Pattern) bool { return p.Match(s) })
}
