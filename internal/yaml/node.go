package yaml

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/diag"
)

// renderedTag marks a scalar that a template produced. It was a string in the file, but is allowed where a
// number or a boolean is expected.
const renderedTag = "!rendered"

// Node is a value in a file. The zero Node is a missing value: its accessors return zero values and report
// nothing.
type Node struct {
	y *yaml.Node
	d *doc
}

// IsZero reports whether the value is absent.
func (n Node) IsZero() bool { return n.y == nil }

// Pos returns the position of the value.
func (n Node) Pos() diag.Pos {
	if n.y == nil {
		return diag.Pos{}
	}
	return n.d.pos(n.y)
}

// Self is the node itself, by which package suite takes nodes without a type of internal/ in its signatures.
func (n Node) Self() Node { return n }

// Errorf reports an error at the value.
func (n Node) Errorf(hint, format string, args ...any) {
	n.d.diags.Errorf(n.Pos(), hint, format, args...)
}

// ErrorfAt reports an error at an offset in the text, in bytes.
func (n Node) ErrorfAt(offset int, hint, format string, args ...any) {
	n.d.diags.Errorf(n.Offset(offset), hint, format, args...)
}

// Warnf reports a warning at the value.
func (n Node) Warnf(hint, format string, args ...any) {
	n.d.diags.Warnf(n.Pos(), hint, format, args...)
}

// WithDiags returns the same value, which then reports its problems to another list.
func (n Node) WithDiags(diags *diag.List) Node {
	if n.y == nil {
		return n
	}
	d := *n.d
	d.diags = diags
	return Node{n.y, &d}
}

// At returns the same value with a position in another file. The value came from a cell at that position.
func (n Node) At(pos diag.Pos) Node {
	if n.y == nil {
		return n
	}
	return Node{n.y, &doc{file: pos.File, diags: n.d.diags, at: &pos}}
}

// IsMapping reports whether the value is a mapping.
func (n Node) IsMapping() bool { return n.kind() == yaml.MappingNode }

// IsSequence reports whether the value is a list.
func (n Node) IsSequence() bool { return n.kind() == yaml.SequenceNode }

// IsScalar reports whether the value is a text, a number, a boolean or null.
func (n Node) IsScalar() bool { return n.kind() == yaml.ScalarNode }

// IsNull reports whether the value is null, which an empty value is too.
func (n Node) IsNull() bool { return n.kind() == yaml.ScalarNode && n.resolve().Tag == "!!null" }

// IsBool reports whether the value is true or false.
func (n Node) IsBool() bool { return n.kind() == yaml.ScalarNode && n.resolve().Tag == "!!bool" }

// IsNumber reports whether the value is a number, or a whole number that a template produced.
func (n Node) IsNumber() bool {
	if n.kind() != yaml.ScalarNode {
		return false
	}
	y := n.resolve()
	return y.Tag == "!!int" || y.Tag == "!!float" || y.Tag == renderedTag && decimal.MatchString(y.Value)
}

// IsDate reports whether the value is a date without quotes.
func (n Node) IsDate() bool { return n.kind() == yaml.ScalarNode && n.resolve().Tag == "!!timestamp" }

func (n Node) resolve() *yaml.Node {
	y := n.y
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return y
}

func (n Node) kind() yaml.Kind {
	if n.y == nil {
		return 0
	}
	return n.resolve().Kind
}

// Describe names the type of the value, for messages.
func (n Node) Describe() string {
	switch {
	case n.IsMapping():
		return "a mapping"
	case n.IsSequence():
		return "a list"
	case n.IsNull():
		return "nothing"
	}
	v := n.resolve().Value
	if r := []rune(v); len(r) > 40 {
		v = string(r[:40]) + "..."
	}
	switch n.resolve().Tag {
	case "!!int", "!!float":
		return "the number " + v
	case "!!bool":
		return v
	}
	return strconv.Quote(v)
}

// InBraces reports whether the value is what YAML makes of an unquoted {{.x}}: a mapping whose key is a
// mapping.
func (n Node) InBraces() bool {
	if !n.IsMapping() {
		return false
	}
	content := n.resolve().Content
	return len(content) == 2 && content[0].Kind == yaml.MappingNode
}

func (n Node) expected(what string) {
	n.Errorf("", "expected %s, found %s", what, n.Describe())
}

// Str returns a scalar as it is written, so that 1.10 stays 1.10.
func (n Node) Str() string {
	if n.IsZero() {
		return ""
	}
	if n.InBraces() {
		n.Errorf("quote a text that begins with {{", "expected a text, found a mapping in braces")
		return ""
	}
	if !n.IsScalar() || n.IsNull() {
		n.expected("a text")
		return ""
	}
	return n.resolve().Value
}

// Written returns a scalar as it is written. Unlike Str, it accepts null.
func (n Node) Written() string { return n.resolve().Value }

// WordOf is Node.Word with constants of a type.
func WordOf[T ~string](n Node, known ...T) T { return T(n.Word(plain(known)...)) }

// Word is a text that must be one of the known words.
func (n Node) Word(known ...string) string {
	if n.IsZero() {
		return ""
	}
	if !n.IsScalar() || n.IsNull() {
		n.expected("a word")
		return ""
	}
	s := n.Str()
	if !slices.Contains(known, s) {
		n.Errorf(diag.DidYouMean(s, known), "`%s` is not known here", s)
		return ""
	}
	return s
}

var decimal = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)$`)

// Int returns a whole number between lo and hi.
func (n Node) Int(lo, hi int) int {
	if n.IsZero() {
		return 0
	}
	if !n.number() {
		n.expected("a whole number")
		return 0
	}
	text := n.resolve().Value
	if !decimal.MatchString(text) {
		n.Errorf("write it in decimal, without leading zeros", "`%s` is not a whole number", text)
		return 0
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < lo || v > hi {
		n.Errorf("", "%s is out of range: %s", text, between(float64(lo), float64(hi)))
		return 0
	}
	return v
}

// Float returns a number between lo and hi. It refuses NaN and infinities.
func (n Node) Float(lo, hi float64) float64 {
	if n.IsZero() {
		return 0
	}
	if !n.number() {
		n.expected("a number")
		return 0
	}
	text := n.resolve().Value
	v, ok := finite(text)
	if !ok {
		n.Errorf("such as 5 or 0.5", "`%s` is not a number", text)
		return 0
	}
	if v < lo || v > hi {
		n.Errorf("", "%s is out of range: %s", text, between(lo, hi))
		return 0
	}
	return v
}

// finite reads a number in the syntax of JSON or YAML.
func finite(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, jsonNumber.MatchString(text) || decimalPoint.MatchString(text)
}

var decimalPoint = regexp.MustCompile(`^[+-]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func between(lo, hi float64) string {
	show := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case hi >= math.MaxInt32 && lo <= math.MinInt32:
		return "any number"
	case hi >= math.MaxInt32:
		return "at least " + show(lo)
	case lo <= math.MinInt32:
		return "at most " + show(hi)
	}
	return "between " + show(lo) + " and " + show(hi)
}

func (n Node) number() bool {
	return n.IsNumber() || n.IsScalar() && n.resolve().Tag == renderedTag
}

// Bool returns a boolean. It also reads one that a template produced.
func (n Node) Bool() bool {
	if n.IsZero() {
		return false
	}
	if n.IsScalar() {
		y := n.resolve()
		switch strings.ToLower(y.Value) {
		case "true", "false":
			if y.Tag == "!!bool" || y.Tag == renderedTag {
				return strings.EqualFold(y.Value, "true")
			}
		}
	}
	n.expected("true or false")
	return false
}

// Duration returns a time above zero, such as 250ms, 2s or 1m30s.
func (n Node) Duration() time.Duration {
	if n.IsZero() {
		return 0
	}
	if !n.IsScalar() || n.IsNull() {
		n.expected("a duration")
		return 0
	}
	s := n.Str()
	v, err := time.ParseDuration(s)
	if err != nil {
		n.Errorf("write a number with its unit: 500ms, 2s, 1m30s", "`%s` is not a duration", s)
		return 0
	}
	if v <= 0 {
		n.Errorf("such as 30s", "`%s` is not above zero", s)
		return 0
	}
	return v
}

// Seq returns the items of a list.
func (n Node) Seq() []Node {
	if n.IsZero() {
		return nil
	}
	if !n.IsSequence() {
		n.expected("a list")
		return nil
	}
	items := n.resolve().Content
	out := make([]Node, len(items))
	for i, item := range items {
		out[i] = Node{item, n.d}
	}
	return out
}

// Items returns the items of a list, or the value itself if it is not a list: for keys that take one or
// several values.
func (n Node) Items() []Node {
	if n.IsZero() {
		return nil
	}
	if n.IsSequence() {
		return n.Seq()
	}
	return []Node{n}
}

// Strings returns the Items as texts.
func (n Node) Strings() []string {
	var out []string
	for _, item := range n.Items() {
		if item.IsScalar() && !item.IsNull() {
			out = append(out, item.Str())
			continue
		}
		item.expected("a text")
	}
	return out
}

// Offset returns the position of byte i of Str in the file. If it cannot match the text with the source, it
// returns the beginning of the scalar.
func (n Node) Offset(i int) diag.Pos {
	y, pos := n.resolve(), n.d.pos(n.resolve())
	if i < 0 || i > len(y.Value) || n.d.at != nil {
		return pos
	}
	// Value and source differ in indentation, line breaks, quotes and escapes. So this looks for the word
	// at i, which occurs in the source as often before it.
	word := y.Value[i:]
	if end := strings.IndexAny(word, " \t\r\n}|\"'\\"); end > 0 {
		word = word[:end]
	}
	before := strings.Count(y.Value[:i], word)
	source := n.d.from(pos.Line)
	if start := byteOfColumn(source, pos.Col); start < len(source) {
		if at := nthIndex(source[start:], word, before+1); at >= 0 {
			return advance(pos, source[start:start+at])
		}
	}
	return pos
}

func (d *doc) from(line int) string {
	if d.starts == nil {
		d.starts = []int{0}
		for i, c := range d.src {
			if c == '\n' {
				d.starts = append(d.starts, i+1)
			}
		}
	}
	if line < 1 || line > len(d.starts) {
		return ""
	}
	return string(d.src[d.starts[line-1]:min(len(d.src), d.starts[line-1]+maxScalarSource)])
}

// maxScalarSource bounds the source that is searched for a position inside a scalar, in bytes.
const maxScalarSource = 1 << 18

func byteOfColumn(text string, col int) int {
	for i := range text {
		if col--; col == 0 {
			return i
		}
	}
	return len(text)
}

// nthIndex returns the offset of the n-th occurrence of word, -1 if there are fewer.
func nthIndex(text, word string, n int) int {
	at := 0
	for {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return -1
		}
		if n--; n == 0 {
			return at + i
		}
		at += i + len(word)
	}
}

func advance(pos diag.Pos, text string) diag.Pos {
	if lines := strings.Count(text, "\n"); lines > 0 {
		pos.Line += lines
		pos.Col = 1
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	pos.Col += utf8.RuneCountInString(text)
	return pos
}
