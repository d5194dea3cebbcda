package yamlnode

import (
	"iter"
	"slices"
	"strings"
)

// Entry is one key of a mapping with its value.
type Entry struct {
	Key   Node
	Value Node
}

// Name is the key's text.
func (e Entry) Name() string { return e.Key.resolve().Value }

// Map is a mapping with checked keys.
type Map struct {
	Node
	entries []Entry
	hints   []string // hints for unknown keys
}

// Misspells reports whether an unknown key of the mapping may have meant one of keys.
func (m Map) Misspells(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return slices.ContainsFunc(m.hints, func(hint string) bool {
			return strings.Contains(hint, "`"+key+"`") || strings.Contains(hint, "`"+key+":")
		})
	})
}

// ReportUnknown reports an unknown key.
func (m *Map) ReportUnknown(e Entry, known []string) {
	hint := Hint(e.Name(), known)
	m.hints = append(m.hints, hint)
	e.Key.Errorf(hint, "unknown key `%s`", e.Name())
}

// Map checks that the value is a mapping with scalar keys, without duplicates and without keys other than known. If known
// is empty, all keys are allowed.
func (n Node) Map(known ...string) Map {
	m := Map{Node: n}
	if n.IsZero() {
		return m
	}
	if !n.IsMapping() {
		n.expected("a mapping")
		return m
	}
	m.entries = n.entries()
	if len(known) == 0 {
		return m
	}
	for _, e := range m.entries {
		if !slices.Contains(known, e.Name()) {
			m.ReportUnknown(e, known)
		}
	}
	return m
}

// entries reads the pairs of a mapping, merge keys (`<<`) included: a key of
// the mapping itself wins over a merged one.
func (n Node) entries() []Entry {
	content := n.resolve().Content
	own := make([]Entry, 0, len(content)/2)
	first := make(map[string]int, len(content)/2)
	var merged []Node
	for i := 0; i+1 < len(content); i += 2 {
		key, value := Node{content[i], n.d}, Node{content[i+1], n.d}
		if !key.IsScalar() {
			key.expected("a key")
			continue
		}
		if key.resolve().Tag == "!!merge" {
			merged = append(merged, value.Items()...)
			continue
		}
		name := key.resolve().Value
		if line, twice := first[name]; twice {
			key.Errorf("remove one of them", "duplicate key `%s`, first on line %d", name, line)
			continue
		}
		first[name] = key.Pos().Line
		own = append(own, Entry{key, value})
	}
	return append(own, inherited(merged, first)...)
}

// inherited returns the entries of merged mappings whose keys were not seen before.
func inherited(merged []Node, first map[string]int) []Entry {
	var out []Entry
	for _, m := range merged {
		if !m.IsMapping() {
			m.Errorf("", "`<<` takes a mapping, found %s", m.Describe())
			continue
		}
		for _, e := range m.entries() {
			if _, taken := first[e.Name()]; !taken {
				first[e.Name()] = e.Key.Pos().Line
				out = append(out, e)
			}
		}
	}
	return out
}

// Entries yields the entries in file order.
func (m Map) Entries() iter.Seq[Entry] { return slices.Values(m.entries) }

// Len is the number of keys.
func (m Map) Len() int { return len(m.entries) }

// Get returns the value of a key; the zero Node when the key is missing.
func (m Map) Get(key string) Node {
	for _, e := range m.entries {
		if e.Name() == key {
			return e.Value
		}
	}
	return Node{}
}

// Key returns the node of a key itself; the zero Node when it is missing.
func (m Map) Key(key string) Node {
	for _, e := range m.entries {
		if e.Name() == key {
			return e.Key
		}
	}
	return Node{}
}

// Has reports whether the mapping has a key.
func (m Map) Has(key string) bool { return !m.Get(key).IsZero() }

// Need is like Get, and reports a missing key unless a misspelled one was reported instead.
func (m Map) Need(key string) Node {
	v := m.Get(key)
	if v.IsZero() && m.IsMapping() && !m.Misspells(key) {
		m.Errorf("", "the key `%s` is missing", key)
	}
	return v
}
