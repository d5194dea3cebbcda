package yaml

import (
	"encoding/json"
	"regexp"
	"slices"
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

// escaped reports whether JSON may write a character as an escape.
func escaped(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }
