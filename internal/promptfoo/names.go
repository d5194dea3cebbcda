package promptfoo

import (
	"strconv"
	"strings"
)

// names gives each name once. The zero value is ready.
type names struct {
	taken map[string]bool
	last  map[string]int // the highest number behind a name, so that thousands of equal names are not counted again and again
	outer *names         // names that are taken too
}

func (n *names) has(name string) bool { return n != nil && (n.taken[name] || n.outer.has(name)) }

func (n *names) take(name string) {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	n.taken[name] = true
}

// free takes a name, with a number behind it if it is taken.
func (n *names) free(base, before string) string {
	name := base
	for n.has(name) {
		if n.last == nil {
			n.last = map[string]int{}
		}
		n.last[base] = max(n.last[base], 1) + 1
		name = base + before + strconv.Itoa(n.last[base])
	}
	n.take(name)
	return name
}

var notName = pattern{expression: `[^A-Za-z0-9._-]+`}

// plain makes a name of letters, digits, `.`, `_` and `-`, and takes it.
func (n *names) plain(text, fallback string) string { return n.free(plainName(text, fallback), "-") }

// plainName makes a name of letters, digits, `.`, `_` and `-`.
func plainName(text, fallback string) string {
	base := strings.Trim(notName.regexp().ReplaceAllString(text, "-"), "-.")
	base = strings.Trim(cut(base, 40), "-.")
	if base == "" {
		base = fallback
	}
	return base
}
