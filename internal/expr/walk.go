package expr

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// walker collects the variables in use, and refuses what the package does not allow.
type walker struct {
	out     *Template
	dialect *Dialect
	err     *TemplateError
}

func (w *walker) refuse(n parse.Node, format string, args ...any) {
	if w.err == nil {
		w.err = &TemplateError{Offset: int(n.Position()), Message: fmt.Sprintf(format, args...)}
	}
}

func (w *walker) list(l *parse.ListNode, root bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		w.node(n, root)
	}
}

// node visits a statement. root says that dot is the set of variables there.
func (w *walker) node(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.TextNode:
		n.Text = []byte(w.dialect.literal(string(n.Text)))
	case *parse.ActionNode:
		w.pipe(n.Pipe, root)
		w.ending(n.Pipe)
	case *parse.IfNode:
		w.branch(&n.BranchNode, root, root)
	case *parse.WithNode:
		w.branch(&n.BranchNode, root, false)
	case *parse.RangeNode:
		w.rangeOver(n)
		w.branch(&n.BranchNode, root, false)
		meterLoop(n)
	case *parse.TemplateNode:
		w.refuse(n, "a template cannot include others")
	}
}

func (w *walker) branch(b *parse.BranchNode, root, inside bool) {
	w.pipe(b.Pipe, root)
	w.list(b.List, inside)
	w.list(b.ElseList, root)
}

// meterLoop adds an empty write to each pass of a range, so that bounded counts it.
func meterLoop(n *parse.RangeNode) {
	name := itemsName
	if len(n.Pipe.Decl) > 1 {
		name = templatePairs
	}
	templateCall(n.Pipe, name)
	n.List.Nodes = append([]parse.Node{step(n)}, n.List.Nodes...)
}

// step returns an action that writes an empty text.
func step(n *parse.RangeNode) parse.Node {
	empty := &parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: `""`}
	pipe := &parse.PipeNode{
		NodeType: parse.NodePipe, Pos: n.Pos, Line: n.Line,
		Cmds: []*parse.CommandNode{command(n.Pos, empty)},
	}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: pipe}
}

// rangeOver refuses a range over a number, which could count for years.
func (w *walker) rangeOver(n *parse.RangeNode) {
	for _, c := range n.Pipe.Cmds {
		for _, arg := range c.Args {
			if why := w.dialect.notRanged(arg, c); why != "" {
				w.refuse(n, "%s", why)
			}
		}
	}
}

// notRanged says why a range cannot iterate over a part of a command, "" if it can.
func (d *Dialect) notRanged(arg parse.Node, c *parse.CommandNode) string {
	switch a := arg.(type) {
	case *parse.FieldNode, *parse.DotNode, *parse.StringNode:
		return ""
	case *parse.VariableNode:
		if a.Ident[0] != "$" {
			return fmt.Sprintf("range takes a variable of the case, not `%s`", a)
		}
	case *parse.IdentifierNode:
		if !slices.Contains([]string{"split", "index", "fromJson"}, a.Ident) && !slices.Contains(d.Functions, a.Ident) {
			return fmt.Sprintf("range takes a list, not what `%s` gives", a.Ident)
		}
	default:
		if !slices.ContainsFunc(c.Args, isIndex) {
			return fmt.Sprintf("range takes a variable, not `%s`", arg)
		}
	}
	return ""
}

func isIndex(n parse.Node) bool {
	id, ok := n.(*parse.IdentifierNode)
	return ok && id.Ident == "index"
}

func (w *walker) pipe(p *parse.PipeNode, root bool) {
	if p == nil {
		return
	}
	for _, c := range p.Cmds {
		for i, arg := range c.Args {
			c.Args[i] = w.arg(arg, root)
		}
	}
}

// arg visits an argument and returns its replacement.
func (w *walker) arg(n parse.Node, root bool) parse.Node {
	switch n := n.(type) {
	case *parse.FieldNode:
		return w.fields(n, root)
	case *parse.VariableNode:
		return w.variable(n)
	case *parse.DotNode:
		w.out.all = w.out.all || root
	case *parse.IdentifierNode:
		w.function(n)
	case *parse.PipeNode:
		w.pipe(n, root)
	case *parse.ChainNode:
		w.noMethods(n, n.Field)
		return reach(w.arg(n.Node, root), int(n.Pos), n.Field)
	}
	return n
}

// fields records the use of a variable, and replaces names after it by a call of at.
func (w *walker) fields(n *parse.FieldNode, root bool) parse.Node {
	w.noMethods(n, n.Ident)
	offset := int(n.Pos)
	if len(n.Ident) > 1 { // text/template reports the position after the first name
		offset -= len(".") + len(n.Ident[0])
	}
	if !root {
		return reach(&parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, offset, n.Ident)
	}
	w.out.fields = append(w.out.fields, Field{n.Ident[0], offset})
	if len(n.Ident) == 1 {
		return n
	}
	first := &parse.FieldNode{NodeType: parse.NodeField, Pos: parse.Pos(offset), Ident: n.Ident[:1]}
	return reach(first, offset+len(".")+len(n.Ident[0]), n.Ident[1:])
}

// variable records the use of $, the set of variables, and replaces names after it by a call of at.
func (w *walker) variable(n *parse.VariableNode) parse.Node {
	w.noMethods(n, n.Ident)
	root := n.Ident[0] == "$"
	switch {
	case len(n.Ident) == 1:
		w.out.all = w.out.all || root
		return n
	case root:
		w.out.fields = append(w.out.fields, Field{n.Ident[1], int(n.Pos)})
	}
	keep := 1
	if root { // text/template reports an unknown name itself, as without $
		keep = 2
	}
	if len(n.Ident) == keep {
		return n
	}
	first := &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:keep]}
	offset := int(n.Pos) // of the first name after the variable
	if root {
		offset += len(".") + len(n.Ident[1])
	}
	return reach(first, offset, n.Ident[keep:])
}

func (w *walker) function(n *parse.IdentifierNode) {
	switch n.Ident {
	case "json", "jsonText", "fromJson", "join", "split", "lower", "upper", "trim", "replace":
		w.out.works = true
	case "index", "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len":
	default:
		if slices.Contains(w.dialect.Functions, n.Ident) {
			w.out.works, w.out.calls = true, append(w.out.calls, Field{n.Ident, int(n.Position())})
			return
		}
		w.refuse(n, "the function `%s` is not available; there are %s", n.Ident, strings.Join(append(slices.Clone(w.dialect.Functions),
			"json, jsonText, fromJson, join, split, lower, upper, trim, replace, index, and, or, not, eq, ne, lt, le, gt, ge, len"), ", "))
	}
}

// noMethods refuses names that text/template would read as methods of eval.Array and eval.Dict.
func (w *walker) noMethods(n parse.Node, names []string) {
	for _, method := range []string{"String", "Plain"} {
		if slices.Contains(names, method) {
			w.refuse(n, "a variable cannot be named `%s`", method)
		}
	}
}
