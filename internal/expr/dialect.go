package expr

import (
	"fmt"
	"slices"
	"strconv"
	"text/template"
	"text/template/parse"

	"github.com/evalrun/evalrun/eval"
)

// Dialect extends the template language for one purpose. The zero Dialect is the plain language.
type Dialect struct {
	// Functions names additional functions without arguments. Each rendering provides their results.
	Functions []string
	// Escape escapes the output of each action. Optional.
	Escape func(string) string
	// Fence replaces the data that an action writes. name is the variable with which the action begins, ""
	// if there is none. Optional; it excludes Escape.
	Fence func(name, text string) string
	// Literal replaces the text between actions. Optional.
	Literal func(string) string
	// Values makes a template that is a single action keep the type of its value; see Template.Value.
	Values bool
}

// Data has the values for one rendering.
type Data struct {
	Vars eval.Dict
	// Functions has the results of the dialect's functions, by name.
	Functions map[string]eval.Value
}

// single is set if the template is nothing but one action, in a dialect with Values.
type single struct {
	is bool
	// function or field is the only name in the action; "" if the action does more.
	function, field string
}

// Names of functions that the templates of users cannot call, because they are not defined when these are
// parsed.
const (
	escapeName = "__escape"
	takeName   = "__take"
	fenceName  = "__fence"
)

func (d *Dialect) literal(text string) string {
	if d.Literal == nil {
		return text
	}
	return d.Literal(text)
}

func (d *Dialect) functions(given map[string]eval.Value) template.FuncMap {
	out := make(template.FuncMap, len(d.Functions))
	for _, name := range d.Functions {
		value := given[name]
		out[name] = func() eval.Value { return value }
	}
	return out
}

// endings returns the functions that are appended to actions.
func (w *work) endings(d *Dialect) template.FuncMap {
	return template.FuncMap{
		takeName: func(v any) string { w.taken = v; return "" },
		escapeName: func(v any) (string, error) {
			out := d.Escape(fmt.Sprint(v))
			return out, w.charge(len(out))
		},
		fenceName: func(name string, v any) (string, error) {
			text := fmt.Sprint(v)
			return d.Fence(name, text), w.charge(len(text))
		},
	}
}

// ending appends a function of the dialect to an action, so that its output passes through it.
func (w *walker) ending(p *parse.PipeNode) {
	name := ""
	var args []parse.Node
	switch {
	case len(p.Decl) > 0: // an assignment writes nothing
		return
	case w.out.single.is:
		name = takeName
	case w.dialect.Escape != nil:
		name = escapeName
	case w.dialect.Fence != nil:
		of, taken := dataIn(p)
		if !taken { // constant text of the template, not data
			return
		}
		name = fenceName
		args = append(args, &parse.StringNode{NodeType: parse.NodeString, Pos: p.Pos, Quoted: strconv.Quote(of), Text: of})
	default:
		return
	}
	w.out.works = true
	templateCall(p, name, args...)
}

// dataIn returns the variable with which a pipe begins, "" if it has no name. ok reports whether the pipe
// reads data at all.
func dataIn(p *parse.PipeNode) (name string, ok bool) {
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			switch n := arg.(type) {
			case *parse.FieldNode:
				return n.Ident[0], true
			case *parse.VariableNode:
				if n.Ident[0] == "$" && len(n.Ident) > 1 {
					return n.Ident[1], true
				}
				return "", true
			case *parse.DotNode, *parse.ChainNode:
				return "", true
			case *parse.PipeNode:
				if name, ok := dataIn(n); ok {
					return name, true
				}
			}
		}
	}
	return "", false
}

// singleOf recognizes a template that is one action.
func (d *Dialect) singleOf(root *parse.ListNode) (out single) {
	if !d.Values || len(root.Nodes) != 1 {
		return out
	}
	action, ok := root.Nodes[0].(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 {
		return out
	}
	out.is = true
	if len(action.Pipe.Cmds) != 1 || len(action.Pipe.Cmds[0].Args) != 1 {
		return out
	}
	switch n := action.Pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		if len(n.Ident) == 1 {
			out.field = n.Ident[0]
		}
	case *parse.IdentifierNode:
		if slices.Contains(d.Functions, n.Ident) {
			out.function = n.Ident
		}
	}
	return out
}

// Calls lists the calls of the dialect's functions, in the order of the text.
func (t *Template) Calls() []Field { return t.calls }

// Value evaluates a template that is a single action without losing the type: it returns an eval.Value,
// a number or a boolean. For other templates it returns the text of RenderData. The error is a *TemplateError.
func (t *Template) Value(in Data, budget *Budget) (any, error) {
	switch {
	case !t.single.is:
		return t.RenderData(in, budget)
	case t.single.function != "":
		return in.Functions[t.single.function], nil
	case t.single.field != "":
		if v, ok := in.Vars[t.single.field]; ok {
			return v, nil
		}
	}
	load := &work{left: maxWork}
	_, err := t.run(in, budget, load)
	return load.taken, err
}
