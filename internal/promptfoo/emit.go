package promptfoo

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// yamlValue is a value of the suite: a *mapping, a *sequence, a textValue or a literal. The suite is written as text,
// because a YAML encoder could not place comments next to keys.
type yamlValue interface{ isYAML() }

type (
	textValue string // a text, quoted where it must be
	literal   string // a number or a word, written unquoted

	mapping  struct{ entries []keyValue }
	sequence struct{ items []element }
	keyValue struct {
		key      string // "" for an entry of comments
		value    yamlValue
		comments []string
	}
	element struct {
		value    yamlValue // nil for an entry of comments
		comments []string
	}
)

func (textValue) isYAML() {}
func (literal) isYAML()   {}
func (*mapping) isYAML()  {}
func (*sequence) isYAML() {}

func integer(n int) literal { return literal(strconv.Itoa(n)) }

func (m *mapping) set(key string, value yamlValue, comments ...string) *mapping {
	m.entries = append(m.entries, keyValue{key, value, comments})
	return m
}

func (m *mapping) note(comments ...string) {
	if len(comments) > 0 {
		m.entries = append(m.entries, keyValue{comments: comments})
	}
}

func (m *mapping) get(key string) yamlValue {
	for _, e := range m.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// replace sets the value of a key that is there.
func (m *mapping) replace(key string, value yamlValue) {
	m.entries[slices.IndexFunc(m.entries, func(e keyValue) bool { return e.key == key })].value = value
}

func (m *mapping) text(key string) string {
	text, _ := m.get(key).(textValue)
	return string(text)
}

func (m *mapping) empty() bool { return !slices.ContainsFunc(m.entries, keyValue.isKey) }

// isKey distinguishes an empty key from an entry of comments.
func (p keyValue) isKey() bool { return p.key != "" || p.value != nil }

func (l *sequence) add(value yamlValue, comments ...string) {
	l.items = append(l.items, element{value, comments})
}

func (l *sequence) note(comments ...string) {
	if len(comments) > 0 {
		l.add(nil, comments...)
	}
}

func (l *sequence) empty() bool {
	return !slices.ContainsFunc(l.items, func(e element) bool { return e.value != nil })
}

func texts(in ...string) *sequence {
	out := &sequence{}
	for _, s := range in {
		out.add(textValue(s))
	}
	return out
}

func one(key string, value yamlValue) *mapping { return new(mapping).set(key, value) }

type writer struct{ strings.Builder }

func (w *writer) comments(indent int, in []string) {
	for _, c := range in {
		for text := range strings.SplitSeq(c, "\n") {
			fmt.Fprintf(w, "%s# %s\n", spaces(indent), diag.CleanLine(text))
		}
	}
}

func spaces(n int) string { return strings.Repeat(" ", n) }

func (w *writer) mapping(m *mapping, indent int) {
	w.rest(m.entries, indent)
}

func (w *writer) rest(entries []keyValue, indent int) {
	for _, e := range entries {
		w.comments(indent, e.comments)
		if l, ok := e.value.(*sequence); ok && l.empty() {
			for _, item := range l.items {
				w.comments(indent, item.comments)
			}
		}
		if e.isKey() {
			w.WriteString(spaces(indent))
			w.pair(e, indent)
		}
	}
}

// pair writes a key and its value, without indentation before the key.
func (w *writer) pair(e keyValue, indent int) {
	w.WriteString(scalar(e.key) + ":")
	w.value(e.value, indent)
}

// value writes a short value on the line of its key, and others below.
func (w *writer) value(v yamlValue, indent int) {
	switch v := v.(type) {
	case *mapping:
		if flat, ok := flow(v); ok && (indent > 0 || !nested(flat)) {
			w.WriteString(" " + flat + "\n")
			return
		}
		w.WriteString("\n")
		w.mapping(v, indent+2)
	case *sequence:
		if flat, ok := flow(v); ok && (indent > 0 || !nested(flat)) {
			w.WriteString(" " + flat + "\n")
			return
		}
		w.WriteString("\n")
		w.list(v, indent+2)
	case textValue:
		w.WriteString(" ")
		w.text(string(v), indent+2)
	case literal:
		w.WriteString(" " + string(v) + "\n")
	}
}

func (w *writer) list(l *sequence, indent int) {
	for _, item := range l.items {
		w.comments(indent, item.comments)
		if item.value != nil {
			w.WriteString(spaces(indent) + "-")
			w.item(item.value, indent)
		}
	}
}

// item writes the value after a dash. A mapping begins on the line of the dash.
func (w *writer) item(v yamlValue, indent int) {
	m, ok := v.(*mapping)
	if !ok || m.empty() {
		w.value(v, indent)
		return
	}
	first := slices.IndexFunc(m.entries, keyValue.isKey)
	if first > 0 || len(m.entries[first].comments) > 0 { // leading comments, so the mapping begins on the next line
		w.WriteString("\n")
		w.mapping(m, indent+2)
		return
	}
	w.WriteString(" ")
	w.pair(m.entries[first], indent+2)
	w.rest(m.entries[first+1:], indent+2)
}

// Widths of a value on the line of its key: with scalars only, and with mappings or lists inside.
const (
	maxFlow   = 100
	maxNested = 60
)

// flow writes a short value without comments on one line.
func flow(v yamlValue) (string, bool) {
	var parts []string
	open, shut := "[", "]"
	switch v := v.(type) {
	case *sequence:
		for _, item := range v.items {
			if item.value == nil && v.empty() {
				continue
			}
			flat, ok := flowPart(item.value)
			if !ok || len(item.comments) > 0 {
				return "", false
			}
			parts = append(parts, flat)
		}
	case *mapping:
		open, shut = "{", "}"
		for _, e := range v.entries {
			flat, ok := flowPart(e.value)
			if !ok || len(e.comments) > 0 || !e.isKey() {
				return "", false
			}
			parts = append(parts, flowText(e.key)+": "+flat)
		}
	case textValue, literal: // flowPart writes these
		return "", false
	}
	out, most := open+strings.Join(parts, ", ")+shut, maxFlow
	if nested(out) {
		most = maxNested
	}
	return out, len(parts) == 0 || len(out) <= most
}

// nested reports whether a value on one line contains mappings or lists.
func nested(flat string) bool { return strings.ContainsAny(flat[1:], "{[") }

func flowPart(v yamlValue) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case *mapping, *sequence:
		return flow(v)
	case textValue:
		return flowText(string(v)), !strings.Contains(string(v), "\n")
	case literal:
		return string(v), true
	}
	return "", false
}

// flowText quotes more characters than scalar, because braces and commas end a scalar in flow style.
func flowText(s string) string {
	if plainInFlow.matches(s) {
		return scalar(s)
	}
	return yaml.Quote(s)
}

var (
	plainInFlow = pattern{expression: `^[\p{L}\p{N} _./*-]+$`}
	plain       = pattern{expression: `^[\p{L}_./][\p{L}\p{N} _./,;()'"!?$%&+=*<>|\[\]~^-]*$`}
	// taken matches plain scalars that some version of YAML does not read as texts.
	taken = pattern{expression: `(?i)^([~.]|null|true|false|yes|no|on|off|y|n|[-+.]?(inf|nan)|\.(inf|nan))$`}
)

// pattern is a regular expression that is compiled when it is first used: most commands import nothing.
type pattern struct {
	expression string
	once       sync.Once
	compiled   *regexp.Regexp
}

func (p *pattern) regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expression) })
	return p.compiled
}

func (p *pattern) matches(s string) bool { return p.regexp().MatchString(s) }

// scalar writes a text on one line, unquoted if that is safe.
func scalar(s string) string {
	if plain.matches(s) && !taken.matches(s) && !strings.HasSuffix(s, " ") && s[0] != '.' {
		return s
	}
	return yaml.Quote(s)
}

// text writes a text after a key. It uses a block for several lines if that preserves the text.
func (w *writer) text(s string, indent int) {
	if !isBlock(s) {
		w.WriteString(scalar(s) + "\n")
		return
	}
	body, header := s, "|-"
	if strings.HasSuffix(s, "\n") {
		body, header = strings.TrimSuffix(s, "\n"), "|"
	}
	w.WriteString(header + "\n")
	for text := range strings.SplitSeq(body, "\n") {
		if text != "" {
			w.WriteString(spaces(indent) + text)
		}
		w.WriteString("\n")
	}
}

func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, " ") ||
		strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	if strings.Trim(s, "\n") == "" || !utf8.ValidString(s) {
		return false
	}
	for text := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(text, "\t") || text != "" && strings.TrimLeft(text, " ") == "" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return yaml.Unreadable(r) && r != '\n' && r != '\t' })
}
