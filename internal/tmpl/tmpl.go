// Package tmpl is the one template language of evalrun: Go's text/template with
// a small fixed set of functions, a missing variable as an error at its place, and
// bounds on output and on steps. What a variable holds is data and is never
// rendered again.
//
// It refuses what could run away or reach out: definitions and inclusions,
// `printf`, `call`, and ranges over anything but a variable.
//
// The usual order: Parse once, Render for each set of variables.
package tmpl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/evalrun/evalrun/variable"
)

// Bounds on one rendering: on what it writes, how often, and how many bytes its functions take in and
// give out.
const (
	MaxOutput = 8 << 20
	maxWrites = 200_000
	maxWork   = 16 << 20
)

// rootName is the name of the template that is parsed; no {{define}} can name it.
const rootName = "\x00"

// Error is a mistake in a template or in its variables. Offset is the byte in the
// template's text where it stands; Missing names the variable when one is missing.
type Error struct {
	Offset  int
	Message string
	Missing string // the variable that is not there
	Slip    Slip   // what was probably meant
	Name    string // of the function, with SlipNoDot
}

// Slip is a usual mistake in a template.
type Slip int

// Usual mistakes.
const (
	SlipNone      Slip = iota
	SlipNoDot          // {{name}} for {{.name}}
	SlipOneBrace       // } for }}
	SlipDelimiter      // {{ that is meant as text
)

// slipOf recognizes a mistake by the words of text/template, which has no types for them.
func slipOf(message string) (slip Slip, name string) {
	switch m := undefined.FindStringSubmatch(message); {
	case m != nil:
		return SlipNoDot, m[1]
	case strings.HasPrefix(message, "bad character U+007D"):
		return SlipOneBrace, ""
	case strings.HasPrefix(message, "unclosed"), strings.HasPrefix(message, "unexpected"), strings.HasPrefix(message, "unterminated"),
		strings.HasPrefix(message, "unrecognized"):
		return SlipDelimiter, ""
	}
	return SlipNone, ""
}

var undefined = regexp.MustCompile(`^function "(.*)" not defined$`)

func (e *Error) Error() string { return e.Message }

// Field is a use of a variable.
type Field struct {
	Name   string
	Offset int
}

// Template is a parsed template; safe for concurrent use.
type Template struct {
	text   string
	t      *template.Template // nil when the text has no actions
	fields []Field
	all    bool
	works  bool // calls functions that can take long
}

// work bounds what the functions of one rendering do.
type work struct{ left int }

func (w *work) charge(n int) error {
	if w.left -= n; w.left < 0 {
		return errTooMuch
	}
	return nil
}

// functions are the functions of one rendering.
func (w *work) functions() template.FuncMap {
	onText := func(f func(string) string) func(string) (string, error) {
		return func(s string) (string, error) { return f(s), w.charge(2 * len(s)) }
	}
	return template.FuncMap{
		"lower": onText(strings.ToLower), "upper": onText(strings.ToUpper), "trim": onText(strings.TrimSpace),
		"json": w.json, "join": w.join, "split": w.split, "replace": w.replace, "index": index,
	}
}

func (w *work) json(v variable.Value) (string, error) {
	if s, ok := v.(string); ok { // escaping may make it six times as long
		if err := w.charge(6 * len(s)); err != nil {
			return "", err
		}
	}
	out := variable.JSON(v)
	return out, w.charge(len(out))
}

func (w *work) replace(from, to, in string) (string, error) {
	if err := w.charge(len(in) + strings.Count(in, from)*max(0, len(to)-len(from))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(in, from, to), nil
}

// working are the functions that are charged for.
var working = []string{"json", "join", "split", "lower", "upper", "trim", "replace"}

var allowed = []string{
	"json", "join", "split", "lower", "upper", "trim", "replace", "index",
	"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len",
}

func (w *work) split(sep, in string) (variable.List, error) {
	const perItem = 64 // bytes, of an item beside its text
	if err := w.charge(len(in) + perItem*(1+strings.Count(in, sep))); err != nil {
		return nil, err
	}
	var out variable.List
	for s := range strings.SplitSeq(in, sep) {
		out = append(out, s)
	}
	return out, nil
}

func (w *work) join(sep string, list variable.List) (string, error) {
	var b strings.Builder
	for i, v := range list {
		if i > 0 {
			b.WriteString(sep)
		}
		fmt.Fprint(&b, v)
		if b.Len() > MaxOutput {
			return "", errTooMuch
		}
	}
	return b.String(), w.charge(b.Len())
}

// index is stricter than the built-in one, for which a missing key is no error.
func index(v variable.Value, keys ...variable.Value) (variable.Value, error) {
	for _, k := range keys {
		switch in := v.(type) {
		case variable.Dict:
			next, ok := in[fmt.Sprint(k)]
			if !ok {
				return nil, fmt.Errorf("no key %q", fmt.Sprint(k))
			}
			v = next
		case variable.List:
			i, err := strconv.Atoi(fmt.Sprint(k))
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("no item %v in a list of %d", k, len(in))
			}
			v = in[i]
		default:
			return nil, errors.New("index takes a list or a mapping")
		}
	}
	return v, nil
}

// HasActions reports whether text would be more than itself as a template.
func HasActions(text string) bool { return strings.Contains(text, "{{") }

var parseError = regexp.MustCompile(`^template: \x00:(\d+):(?:(\d+):)? (?s)(.*)$`)

// Parse reads a template. The error is an *Error.
func Parse(text string) (*Template, error) {
	out := &Template{text: text}
	if !HasActions(text) {
		return out, nil
	}
	t, err := template.New(rootName).Option("missingkey=error").Funcs((&work{}).functions()).Parse(text)
	if err != nil {
		return nil, located(text, err)
	}
	if len(t.Templates()) > 1 {
		return nil, &Error{Offset: strings.Index(text, "{{"), Message: "a template cannot define others"}
	}
	w := walker{out: out}
	w.list(t.Root, true)
	if w.err != nil {
		return nil, w.err
	}
	out.t = t
	return out, nil
}

// Fields lists the variables that the template names at its top level, in order.
func (t *Template) Fields() []Field { return t.fields }

// UsesAll reports whether the template takes the variables as a whole ({{.}}), so that
// none of them is unused.
func (t *Template) UsesAll() bool { return t.all }

// IsConstant reports whether the template renders to itself.
func (t *Template) IsConstant() bool { return t.t == nil }

// Budget bounds what many renderings take together: bytes that they add to their templates, and steps. A nil Budget has no end.
type Budget struct{ left int }

// perStep is what a step of a template is worth in bytes: it takes about as long as copying so many.
const perStep = 64

// Grow allows for so many more bytes.
func (b *Budget) Grow(bytes int) {
	if b != nil && b.left >= 0 {
		b.left += bytes
	}
}

// Spent reports whether nothing is left.
func (b *Budget) Spent() bool { return b != nil && b.left < 0 }

func (b *Budget) take(bytes int) {
	if b != nil && bytes > 0 && b.left >= 0 {
		b.left -= bytes
	}
}

// ErrBudget is the error of a rendering for which nothing is left of the Budget.
var ErrBudget = &Error{Message: "the templates of the suite render too much together"}

// Render fills in the variables. The error is an *Error.
func (t *Template) Render(vars variable.Dict) (string, error) { return t.RenderWithin(vars, nil) }

// RenderWithin is Render within a budget.
func (t *Template) RenderWithin(vars variable.Dict, budget *Budget) (string, error) {
	if t.t == nil {
		return t.text, nil
	}
	if budget.Spent() {
		return "", ErrBudget
	}
	var w bounded
	run, load := t.t, &work{maxWork}
	if t.works {
		clone, err := run.Clone()
		if err != nil {
			return "", &Error{Message: err.Error()}
		}
		run = clone.Funcs(load.functions())
	}
	err := run.Execute(&w, vars)
	budget.take(perStep*w.writes + maxWork - max(0, load.left) + w.b.Len() - len(t.text))
	if err != nil {
		if errors.Is(err, errTooMuch) {
			return "", &Error{Message: errTooMuch.Error()}
		}
		return "", located(t.text, err)
	}
	return w.b.String(), nil
}

var errTooMuch = fmt.Errorf("the template renders to more than %d bytes or takes more than %d steps", MaxOutput, maxWrites)

// bounded stops a rendering that runs away. Every pass through a range writes at
// least once (see walker), so that counting writes bounds the steps.
type bounded struct {
	b      strings.Builder
	writes int
}

func (w *bounded) Write(p []byte) (int, error) {
	if w.writes++; w.writes > maxWrites || w.b.Len()+len(p) > MaxOutput {
		return 0, errTooMuch
	}
	return w.b.Write(p)
}

var (
	execPrefix = regexp.MustCompile(`^executing "\\x00" at <.*?>: (?s)(.*)$`)
	noEntry    = regexp.MustCompile(`map has no entry for key "(.*)"$`)
)

// located turns an error of text/template into ours, with an offset.
func located(text string, err error) *Error {
	m := parseError.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{Message: err.Error()}
	}
	line, _ := strconv.Atoi(m[1])
	offset := lineStart(text, line)
	if m[2] != "" {
		col, _ := strconv.Atoi(m[2])
		offset += col
	} else if i := strings.Index(text[offset:], "{{"); i >= 0 {
		offset += i
	}
	message := m[3]
	if strings.Contains(message, "unclosed action") {
		offset = max(strings.LastIndex(text, "{{"), 0)
	}
	if e := execPrefix.FindStringSubmatch(message); e != nil {
		message = e[1]
	}
	out := &Error{Offset: min(offset, len(text)), Message: message}
	out.Slip, out.Name = slipOf(message)
	if k := noEntry.FindStringSubmatch(message); k != nil {
		out.Missing = k[1]
		out.Message = fmt.Sprintf("there is no variable `%s`", k[1])
	}
	return out
}

func lineStart(text string, line int) int {
	offset := 0
	for ; line > 1; line-- {
		i := strings.IndexByte(text[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return offset
}

// walker collects the variables in use and refuses what the package refuses.
type walker struct {
	out *Template
	err *Error
}

func (w *walker) refuse(n parse.Node, format string, args ...any) {
	if w.err == nil {
		w.err = &Error{Offset: int(n.Position()), Message: fmt.Sprintf(format, args...)}
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

// node walks a statement; root tells whether dot is the set of variables there.
func (w *walker) node(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ActionNode:
		w.pipe(n.Pipe, root)
	case *parse.IfNode:
		w.branch(&n.BranchNode, root, root)
	case *parse.WithNode:
		w.branch(&n.BranchNode, root, false)
	case *parse.RangeNode:
		w.rangeOver(n)
		w.branch(&n.BranchNode, root, false)
		n.List.Nodes = append([]parse.Node{step(n)}, n.List.Nodes...)
	case *parse.TemplateNode:
		w.refuse(n, "a template cannot include others")
	}
}

func (w *walker) branch(b *parse.BranchNode, root, inside bool) {
	w.pipe(b.Pipe, root)
	w.list(b.List, inside)
	w.list(b.ElseList, root)
}

// step is an action that writes nothing, yet is a write: a step of a range.
func step(n *parse.RangeNode) parse.Node {
	empty := &parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: `""`}
	command := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{empty}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Line: n.Line, Cmds: []*parse.CommandNode{command}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: pipe}
}

// rangeOver refuses a range over a number: it could count for years.
func (w *walker) rangeOver(n *parse.RangeNode) {
	for _, c := range n.Pipe.Cmds {
		for _, arg := range c.Args {
			switch a := arg.(type) {
			case *parse.FieldNode, *parse.DotNode, *parse.StringNode:
			case *parse.VariableNode:
				if a.Ident[0] != "$" {
					w.refuse(n, "range takes a variable of the case, not `%s`", a)
				}
			case *parse.IdentifierNode:
				if a.Ident != "split" && a.Ident != "index" {
					w.refuse(n, "range takes a list, not what `%s` gives", a.Ident)
				}
			default:
				if !slices.ContainsFunc(c.Args, isIndex) {
					w.refuse(n, "range takes a variable, not `%s`", arg)
				}
			}
		}
	}
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
		for _, arg := range c.Args {
			w.arg(arg, root)
		}
	}
}

func (w *walker) arg(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		w.noMethods(n, n.Ident)
		if root {
			w.field(n.Ident[0], n)
		}
	case *parse.VariableNode:
		w.noMethods(n, n.Ident)
		if n.Ident[0] == "$" {
			if len(n.Ident) == 1 {
				w.out.all = true
				return
			}
			w.field(n.Ident[1], n)
		}
	case *parse.DotNode:
		w.out.all = w.out.all || root
	case *parse.IdentifierNode:
		w.out.works = w.out.works || slices.Contains(working, n.Ident)
		if !slices.Contains(allowed, n.Ident) {
			w.refuse(n, "the function `%s` is not available; there are %s", n.Ident, strings.Join(allowed, ", "))
		}
	case *parse.PipeNode:
		w.pipe(n, root)
	case *parse.ChainNode:
		w.noMethods(n, n.Field)
		w.arg(n.Node, root)
	}
}

// noMethods refuses the names that would be methods of variable.List and variable.Dict rather than variables.
func (w *walker) noMethods(n parse.Node, names []string) {
	for _, method := range []string{"String", "Plain"} {
		if slices.Contains(names, method) {
			w.refuse(n, "a variable cannot be named `%s`", method)
		}
	}
}

func (w *walker) field(name string, n parse.Node) {
	offset := int(n.Position())
	// text/template places a chain such as .a.b somewhere inside it; it begins at its first dot.
	before := w.out.text[:min(offset+1+len(name), len(w.out.text))]
	if i := strings.LastIndex(before, "."+name); i >= 0 {
		offset = i
	}
	w.out.fields = append(w.out.fields, Field{name, offset})
}
