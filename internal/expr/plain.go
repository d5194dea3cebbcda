package expr

import (
	"strings"
	"text/template/parse"

	"github.com/evalrun/evalrun/eval"
)

// piece is a text or a variable. Templates of only these need no text/template, which is slower.
type piece struct{ text, name string }

// plainOf returns the pieces of a template, nil if it has anything else.
func plainOf(t *Template, root *parse.ListNode) []piece {
	if t.works || len(root.Nodes) > maxWrites {
		return nil
	}
	out := make([]piece, len(root.Nodes))
	for i, n := range root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			out[i].text = string(n.Text)
		case *parse.ActionNode:
			if out[i].name = variableOf(n.Pipe); out[i].name == "" {
				return nil
			}
		default:
			return nil
		}
	}
	return out
}

// variableOf returns the variable that an action writes unchanged, "" for other actions.
func variableOf(p *parse.PipeNode) string {
	if len(p.Decl) > 0 || len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return ""
	}
	field, ok := p.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(field.Ident) != 1 {
		return ""
	}
	return field.Ident[0]
}

// join renders a plain template. It returns false to leave it to text/template: if a variable is missing or
// not a text, or the result is too long.
func (t *Template) join(vars eval.Dict, budget *Budget) (text string, ok bool) {
	if t.plain == nil {
		return "", false
	}
	size := 0
	for _, p := range t.plain {
		value, ok := p.of(vars)
		if !ok {
			return "", false
		}
		size += len(value)
	}
	if size > MaxOutput {
		return "", false
	}
	budget.take(perStep*len(t.plain) + size - len(t.text))
	if len(t.plain) == 1 {
		return t.plain[0].of(vars)
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range t.plain {
		value, _ := p.of(vars)
		b.WriteString(value)
	}
	return b.String(), true
}

// of returns the text of a piece, and false if the variable is missing or not a text.
func (p piece) of(vars eval.Dict) (string, bool) {
	if p.name == "" {
		return p.text, true
	}
	text, ok := vars[p.name].(string)
	return text, ok
}
