package yaml

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/eval"
)

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// JSON appends the value as JSON, with texts and numbers as they are written. Octal numbers and .inf, which
// JSON lacks, are errors or texts. Dates are texts.
func (n Node) JSON(dst []byte) []byte {
	y := n.resolve()
	switch y.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i, e := range n.entries() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, e.Name())
			dst = append(dst, ':')
			dst = e.Value.JSON(dst)
		}
		return append(dst, '}')
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Seq() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.JSON(dst)
		}
		return append(dst, ']')
	}
	return n.scalarJSON(dst)
}

func (n Node) scalarJSON(dst []byte) []byte {
	y := n.resolve()
	switch y.Tag {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		return append(dst, strings.ToLower(y.Value)...)
	case "!!int", "!!float":
		text := strings.TrimPrefix(y.Value, "+")
		if !jsonNumber.MatchString(text) {
			n.Errorf("quote it when it is a text", "`%s` is not a number that JSON knows", y.Value)
			return appendString(dst, y.Value)
		}
		return append(dst, text...)
	}
	return appendString(dst, y.Value)
}

// Rewrite returns a copy in which f has replaced texts by other texts or values. Texts that f returns
// unchanged stay the same nodes. Keys are not rewritten.
func (n Node) Rewrite(f func(n Node, text string) eval.Value) Node {
	if n.IsZero() {
		return n
	}
	return Node{n.rewrite(f), n.d}
}

func (n Node) rewrite(f func(Node, string) eval.Value) *yaml.Node {
	out := *n.resolve()
	switch out.Kind {
	case yaml.ScalarNode:
		if out.Tag != "!!str" {
			break
		}
		value := f(n, out.Value)
		text, ok := value.(string)
		if !ok {
			return made(value, &out)
		}
		if text != out.Value {
			out.Value, out.Tag = text, renderedTag
		}
	case yaml.SequenceNode:
		out.Content = slices.Clone(out.Content)
		for i := range out.Content {
			out.Content[i] = Node{out.Content[i], n.d}.rewrite(f)
		}
	case yaml.MappingNode:
		out.Content = slices.Clone(out.Content)
		for i := 1; i < len(out.Content); i += 2 {
			out.Content[i] = Node{out.Content[i], n.d}.rewrite(f)
		}
	}
	return &out
}

// With returns a value at the position of the node.
func (n Node) With(v eval.Value) Node { return Node{of(v, n.resolve()), n.d} }

// Without returns a mapping without a key.
func (n Node) Without(key string) Node {
	y := *n.resolve()
	y.Content = nil
	for _, e := range n.entries() {
		if e.Name() != key {
			y.Content = append(y.Content, e.Key.y, e.Value.y)
		}
	}
	return Node{&y, n.d}
}

// Under returns a mapping with the value under one key, at the same position.
func (n Node) Under(key string) Node {
	y := n.resolve()
	at := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: y.Line, Column: y.Column}
	return Node{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{&at, n.y}, Line: y.Line, Column: y.Column}, n.d}
}

// EachText calls f for each text in the value, except keys.
func (n Node) EachText(f func(n Node, text string)) {
	if n.IsZero() {
		return
	}
	switch y := n.resolve(); y.Kind {
	case yaml.ScalarNode:
		if y.Tag == "!!str" {
			f(n, y.Value)
		}
	case yaml.SequenceNode:
		for _, item := range y.Content {
			Node{item, n.d}.EachText(f)
		}
	case yaml.MappingNode:
		for i := 1; i < len(y.Content); i += 2 {
			Node{y.Content[i], n.d}.EachText(f)
		}
	}
}

func appendString(dst []byte, s string) []byte {
	if !strings.ContainsFunc(s, escaped) {
		return append(append(append(dst, '"'), s...), '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(dst, quoted...)
}

func escaped(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }

// Value converts the node to the value of a variable: texts unchanged, numbers as written. A number that JSON cannot
// express (octal digits, .inf) becomes a text.
func (n Node) Value() eval.Value {
	y := n.resolve()
	switch y.Kind {
	case yaml.SequenceNode:
		out := eval.Array{}
		for _, item := range n.Seq() {
			out = append(out, item.Value())
		}
		return out
	case yaml.MappingNode:
		out := eval.Object{}
		for e := range n.Map().Entries() {
			out = append(out, eval.Member{Name: e.Name(), Value: e.Value.Value()})
		}
		return out
	}
	return scalar(y)
}

func scalar(y *yaml.Node) eval.Value {
	switch {
	case y.Tag == "!!null":
		return eval.Null(y.Value)
	case y.Tag == "!!bool":
		return eval.Boolean(y.Value)
	case (y.Tag == "!!int" || y.Tag == "!!float") && jsonNumber.MatchString(y.Value):
		return eval.Number(y.Value)
	}
	return y.Value
}

// made is the node for a value that a template gave. It keeps the text of a list or mapping, for callers that need a text.
func made(v eval.Value, at *yaml.Node) *yaml.Node {
	out := of(v, at)
	if out.Kind != yaml.ScalarNode {
		out.Value = eval.JSON(v)
	}
	return out
}

// Printed returns a list or mapping that a template gave, as the text that the template prints. It reports false for other
// values.
func (n Node) Printed() (text string, ok bool) {
	if !n.IsSequence() && !n.IsMapping() {
		return "", false
	}
	text = n.resolve().Value // YAML itself gives lists and mappings none
	return text, text != ""
}

// of makes a node of a value, at the position of another node.
func of(v eval.Value, at *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Line: at.Line, Column: at.Column, Tag: "!!str"}
	switch v := v.(type) {
	case eval.Array:
		out.Kind, out.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v {
			out.Content = append(out.Content, of(item, at))
		}
	case eval.Object:
		out.Kind, out.Tag = yaml.MappingNode, "!!map"
		for _, m := range v {
			out.Content = append(out.Content, of(m.Name, at), of(m.Value, at))
		}
	case eval.Number:
		out.Tag, out.Value = "!!int", string(v)
		if strings.ContainsAny(out.Value, ".eE") {
			out.Tag = "!!float"
		}
	case eval.Boolean:
		out.Tag, out.Value = "!!bool", string(v)
	case eval.Null:
		out.Tag, out.Value = "!!null", "null"
	case string:
		out.Value = v
	}
	return out
}

// Signature appends a text that is equal for equal values, whatever their positions. It contains kinds, tags and texts.
func (n Node) Signature(dst []byte) []byte {
	if n.IsZero() {
		return append(dst, 0)
	}
	y := n.resolve()
	dst = append(append(strconv.AppendUint(dst, uint64(y.Kind), 10), y.Tag...), ' ')
	dst = strconv.AppendInt(strconv.AppendQuote(dst, y.Value), int64(len(y.Content)), 10)
	for _, child := range y.Content {
		dst = Node{child, n.d}.Signature(dst)
	}
	return dst
}
