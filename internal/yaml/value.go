package yaml

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/evalrun/evalrun/eval"
)

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
	dst = fmt.Appendf(dst, "%d %s %q %d\n", y.Kind, y.Tag, y.Value, len(y.Content))
	for _, child := range y.Content {
		dst = Node{child, n.d}.Signature(dst)
	}
	return dst
}
