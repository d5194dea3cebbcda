package expr

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// budget bounds an evaluation. A unit is about one byte, so that the slowest evaluation takes about a
// second.
const budget = 1 << 26

// perItem is the cost of a step of a loop, and of an item in a list or mapping in addition to its content.
const perItem = 64

var errTooMuch = errors.New("the expression works on too much: texts or lists are too long for it")

// stepMeter has what one evaluation may still spend.
type stepMeter struct {
	left     int
	patterns map[string]*pattern
}

// pattern is a regular expression and the number of its instructions.
type pattern struct {
	re    *regexp.Regexp
	steps int
}

func (m *stepMeter) spend(n int) error {
	if n < 0 || n > m.left {
		m.left = 0
		return errTooMuch
	}
	m.left -= n
	return nil
}

// times spends a product that may overflow an int.
func (m *stepMeter) times(a, b int) error {
	if a > 0 && b > budget/a {
		return m.spend(-1)
	}
	return m.spend(a * b)
}

// size spends the size of a value and everything in it, times weight.
func (m *stepMeter) size(v any, weight int) error {
	switch v := v.(type) {
	case nil, bool, int, float64:
		return m.spend(1)
	case string:
		return m.times(1+len(v), weight)
	case []any:
		for _, item := range v {
			if err := m.item(item, weight); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, item := range v {
			if err := m.item(item, weight); err != nil {
				return err
			}
		}
		return nil
	}
	return m.reflected(reflect.ValueOf(v), weight)
}

func (m *stepMeter) item(v any, weight int) error {
	if err := m.times(perItem, weight); err != nil {
		return err
	}
	return m.size(v, weight)
}

// reflected is size for types that need reflection.
func (m *stepMeter) reflected(v reflect.Value, weight int) error {
	items := 0
	var at func(int) reflect.Value
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		items, at = v.Len(), v.Index
	case reflect.Struct:
		items, at = v.NumField(), v.Field
	case reflect.Map:
		keys := v.MapKeys()
		items, at = len(keys), func(i int) reflect.Value { return v.MapIndex(keys[i]) }
	}
	if err := m.spend(1); err != nil {
		return err
	}
	for i := range items {
		if err := m.item(at(i).Interface(), weight); err != nil {
			return err
		}
	}
	return nil
}

// Names of functions that only payer can insert, since no expression can contain them.
const (
	payName   = "\x00pay"
	loopName  = "\x00loop"
	pairsName = "\x00pairs"
	matchName = "\x00match"
	rangeName = "\x00range"
)

// weights lists functions that make, or need, several bytes per byte of input.
func weights() map[string]int {
	return map[string]int{"toJSON": 8, "fromJSON": 64, "split": 16, "toBase64": 2, "string": 2, "sort": 8, "sortBy": 16, "median": 8}
}

// payer rewrites an expression so that the arguments of operators and functions pass through the meter.
type payer struct{}

// Visit rewrites a node. expr-lang visits inner nodes first.
func (payer) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		payOperator(node, n)
	case *ast.SliceNode:
		pay(&n.Node, payName, 1)
	case *ast.CallNode:
		for i := range n.Arguments {
			pay(&n.Arguments[i], payName, 1)
		}
	case *ast.BuiltinNode:
		builtIn(n)
		checkNumbers(node, n)
	}
}

func payOperator(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "matches":
		patch(node, matchName, n.Left, n.Right)
	case "..":
		patch(node, rangeName, n.Left, n.Right)
	case "+", "==", "!=", "<", ">", "<=", ">=", "in", "contains", "startsWith", "endsWith":
		pay(&n.Left, payName, 1)
		pay(&n.Right, payName, 1)
	}
	if calculations[n.Operator] != nil {
		patch(node, calculateName, &ast.StringNode{Value: n.Operator}, n.Left, n.Right)
	}
}

// loopSteps returns the number of nodes that one pass of the loops in the arguments evaluates.
func loopSteps(arguments []ast.Node) int {
	steps := 0
	for _, argument := range arguments {
		if loop, ok := argument.(*ast.PredicateNode); ok {
			var c counter
			ast.Walk(&loop.Node, &c)
			steps += c.n
		}
	}
	return steps
}

func builtIn(n *ast.BuiltinNode) {
	steps := loopSteps(n.Arguments)
	weight := max(1, weights()[n.Name])
	for i := range n.Arguments {
		_, loop := n.Arguments[i].(*ast.PredicateNode)
		switch {
		case loop:
		case n.Name == "uniq":
			pay(&n.Arguments[i], pairsName, 8)
		case i == 0 && steps > 0:
			pay(&n.Arguments[i], loopName, weight+steps)
		default:
			pay(&n.Arguments[i], payName, weight)
		}
	}
}

type counter struct{ n int }

// Visit implements ast.Visitor.
func (c *counter) Visit(*ast.Node) { c.n++ }

// pay passes an argument through a function of the meter. Constants need not pay, because the length of the
// expression bounds them.
func pay(node *ast.Node, name string, weight int) {
	switch (*node).(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		if name == payName {
			return
		}
	}
	patch(node, name, *node, &ast.IntegerNode{Value: weight})
}

func patch(node *ast.Node, name string, args ...ast.Node) {
	at := (*node).Location()
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	call.Callee.SetLocation(at)
	call.SetLocation(at)
	*node = call
}

// functions returns the functions of the meter, and replacements for those of the language that have no
// bound.
func (m *stepMeter) functions() []expr.Option {
	return append(
		numberFunctions(),
		expr.Function(payName, func(args ...any) (any, error) { return args[0], m.size(args[0], args[1].(int)) }),
		expr.Function(loopName, m.loop),
		expr.Function(pairsName, m.pairs),
		expr.Function(matchName, m.match),
		expr.Function(rangeName, m.span),
		expr.Function("replace", m.replace, new(func(string, string, string) string)),
		expr.Function(
			"join", m.join, new(func([]string, string) string), new(func([]any, string) string), new(func([]string) string),
			new(func([]any) string),
		),
	)
}

// loop spends the steps of a loop over a list, and returns the list.
func (m *stepMeter) loop(args ...any) (any, error) {
	v := reflect.ValueOf(args[0])
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return args[0], nil // the loop itself will fail
	}
	return args[0], m.times(v.Len()*perItem, args[1].(int))
}

// pairs spends the comparisons of all items of a list with each other, and returns the list.
func (m *stepMeter) pairs(args ...any) (any, error) {
	if v := reflect.ValueOf(args[0]); v.Kind() == reflect.Slice {
		if err := m.times(v.Len(), v.Len()*perItem); err != nil {
			return nil, err
		}
	}
	return args[0], m.size(args[0], args[1].(int))
}

// match replaces `matches`. The time of a match is bounded by the length of the text times the instructions
// of the pattern.
func (m *stepMeter) match(args ...any) (any, error) {
	text, ok := args[0].(string)
	source, okSource := args[1].(string)
	if !ok || !okSource {
		return nil, fmt.Errorf("`matches` takes two texts")
	}
	p, err := m.pattern(source)
	if err != nil {
		return nil, err
	}
	if err := m.times(1+len(text), p.steps); err != nil {
		return nil, err
	}
	return p.re.MatchString(text), nil
}

// maxPatterns bounds the compiled patterns that a meter keeps.
const maxPatterns = 16

func (m *stepMeter) pattern(source string) (*pattern, error) {
	if p := m.patterns[source]; p != nil {
		return p, nil
	}
	if len(source) > maxText {
		return nil, fmt.Errorf("a regular expression of %d bytes; at most %d are allowed", len(source), maxText)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("`matches` takes a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	p := &pattern{re, instructions(source)}
	if m.patterns == nil || len(m.patterns) >= maxPatterns {
		m.patterns = map[string]*pattern{}
	}
	m.patterns[source] = p
	return p, m.times(p.steps, 64)
}

// instructions returns the length of the compiled pattern.
func instructions(source string) int {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return 1
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 1
	}
	return len(program.Inst)
}

// span implements `..` without memory beyond the budget.
func (m *stepMeter) span(args ...any) (any, error) {
	from, ok := args[0].(int)
	to, okTo := args[1].(int)
	if !ok || !okTo {
		return nil, errors.New("`..` takes two whole numbers")
	}
	const furthest = budget / perItem
	if to < from {
		return []int{}, nil
	}
	if to > from+furthest || from+furthest < from { // or the sum overflows
		return nil, errTooMuch
	}
	if err := m.times(to-from+1, perItem); err != nil {
		return nil, err
	}
	out := make([]int, 0, to-from+1)
	for i := range to - from + 1 {
		out = append(out, from+i)
	}
	return out, nil
}

func (m *stepMeter) replace(args ...any) (any, error) {
	texts, err := textsOf("replace", args)
	if err != nil {
		return nil, err
	}
	if len(texts) != 3 {
		return nil, errors.New("`replace` takes a text, what is replaced, and what by")
	}
	if err := m.times(strings.Count(texts[0], texts[1]), len(texts[2])); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(texts[0], texts[1], texts[2]), nil
}

func (m *stepMeter) join(args ...any) (any, error) {
	list := reflect.ValueOf(args[0])
	if list.Kind() != reflect.Slice {
		return nil, errors.New("`join` takes a list of texts")
	}
	items := make([]any, list.Len())
	for i := range items {
		items[i] = list.Index(i).Interface()
	}
	texts, err := textsOf("join", items)
	if err != nil {
		return nil, err
	}
	by := ""
	if len(args) > 1 {
		if by, _ = args[1].(string); by == "" && args[1] != "" {
			return nil, errors.New("`join` joins by a text")
		}
	}
	if err := m.times(len(texts), len(by)); err != nil {
		return nil, err
	}
	return strings.Join(texts, by), nil
}

func textsOf(function string, values []any) ([]string, error) {
	out := make([]string, len(values))
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("`%s` takes texts", function)
		}
		out[i] = text
	}
	return out, nil
}
