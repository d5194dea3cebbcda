package eval

import (
	"slices"
	"strings"
)

// Glob is a pattern in which `*` matches any characters, `/` included, and
// nothing else is special.
type Glob string

// Match reports whether the whole of s fits the pattern.
func (g Glob) Match(s string) bool {
	head, rest, star := strings.Cut(string(g), "*")
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

// Globs are alternatives; none at all match everything.
type Globs []Glob

// NewGlobs makes patterns of texts.
func NewGlobs(texts []string) Globs {
	var out Globs
	for _, t := range texts {
		out = append(out, Glob(t))
	}
	return out
}

// Match reports whether any pattern fits, or there is none.
func (gs Globs) Match(s string) bool {
	return len(gs) == 0 || slices.ContainsFunc(gs, func(g Glob) bool { return g.Match(s) })
}
