package expr

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
)

// Longer or deeper expressions are refused.
const (
	maxText    = 4096 // bytes
	maxNodes   = 1000
	maxNesting = 2 // of loops, such as filter and map
)

type resultType int

// The types of results.
const (
	Truth  resultType = iota + 1 // true or false
	Grade                        // true, false or a number
	Number                       // a number
)

func (w resultType) String() string {
	return map[resultType]string{Truth: "true or false", Grade: "true, false or a number", Number: "a number"}[w]
}

// takes reports whether a value of the type can be converted to w. For `any`, that is known only at run
// time.
func (w resultType) takes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Bool:
		return w != Number
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return w != Truth
	}
	return false
}

// SyntaxError is a problem in an expression. Offset is its position in bytes.
type SyntaxError struct {
	Offset  int
	Message string
	Hint    string
}

func (e *SyntaxError) Error() string { return e.Message }

// AsSyntaxError finds the SyntaxError in an error of this package. Any other error becomes one that has its message.
func AsSyntaxError(err error) *SyntaxError {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return e
	}
	return &SyntaxError{Message: err.Error()}
}

// Read is a value that an expression reads from its environment. Path has the name and the keys after it:
// vars, country for both vars.country and vars["country"].
type Read struct {
	Path   []string
	Offset int // of the last name of the path
	// Optional means that the expression works without the value, as in vars?.country or vars.country ??
	// "".
	Optional bool
}

// Expression is a compiled expression of expr-lang. It is safe for concurrent use.
//
// An evaluation cannot be interrupted, so it must not be able to take long. Functions on texts, lists and mappings pay for
// their size from a budget, and each pass of a loop pays for its operations. When the budget is spent, the evaluation
// fails. Methods are refused, and so is everything that depends on the time of day.
type Expression struct {
	text     string
	env      any
	want     resultType
	reads    []Read
	machines sync.Pool // of *machine
}

// Compile compiles an expression. env defines the names: a struct whose fields have `expr:"name"` tags, or
// a map[string]any of samples, where nil means any type. Other names are errors. The keys in a
// map[string]any value are checked only at run time. A `let` may hide a name of env, so that a new name in
// an environment breaks no existing expression. The error is a *SyntaxError.
func Compile(text string, env any, want resultType) (p *Expression, err error) {
	defer func() {
		if r := recover(); r != nil { // a bug in the library is an error at its place at worst
			p, err = nil, &SyntaxError{Message: fmt.Sprintf("the expression cannot be read: %v", r)}
		}
	}()
	if len(text) > maxText {
		message := fmt.Sprintf("the expression has %d bytes; at most %d are allowed", len(text), maxText)
		return nil, &SyntaxError{Offset: maxText, Message: message}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &SyntaxError{Message: "the expression is empty"}
	}
	plain, err := expr.Compile(text, options(env, &stepMeter{})...)
	if err != nil {
		return nil, syntaxErrorAt(text, env, err)
	}
	reads, problem := survey(text, plain.Node())
	if problem != nil {
		return nil, problem
	}
	if t := plain.Node().Type(); !want.takes(t) {
		return nil, &SyntaxError{Message: fmt.Sprintf("the expression gives %s, not %s", described(t), want)}
	}
	p = &Expression{text: text, env: env, want: want, reads: reads}
	m, err := p.machine()
	if err != nil {
		return nil, syntaxErrorAt(text, env, err)
	}
	p.machines.Put(m)
	return p, nil
}

// Open has samples for Compile, like a map[string]any, but allows further names that are only known at run
// time.
type Open map[string]any

// options makes all functions pay with the meter.
func options(env any, m *stepMeter) []expr.Option {
	out := []expr.Option{expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(hider{namesIn(reflect.ValueOf(env), 1)})}
	if samples, open := env.(Open); open {
		out = append(out, expr.Env(map[string]any(samples)), expr.AllowUndefinedVariables())
	} else {
		out = append(out, expr.Env(env))
	}
	// These depend on the time or the machine, or have no use in a suite.
	for _, name := range []string{
		"now", "duration", "date", "timezone", "repeat", "splitAfter",
		"bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr", "bitushr", "bitnot",
	} {
		out = append(out, expr.DisableBuiltin(name))
	}
	return append(out, m.functions()...)
}

// machine is a compiled expression with its meter. Only one evaluation at a time may use it.
type machine struct {
	meter   *stepMeter
	program *vm.Program
}

func (p *Expression) machine() (*machine, error) {
	if m, ok := p.machines.Get().(*machine); ok {
		return m, nil
	}
	m := &stepMeter{}
	metered := append(options(p.env, m), expr.Patch(payer{}), func(c *conf.Config) { c.MaxNodes = 0 })
	program, err := expr.Compile(p.text, metered...)
	return &machine{m, program}, err
}

// Run evaluates the expression over an environment of the type that it was compiled for. It returns a bool
// or a finite float64. The error is for people, and ErrNoNumber when a calculation has no finite result.
func (p *Expression) Run(env any) (any, error) {
	m, err := p.machine()
	if err != nil {
		return nil, err
	}
	defer p.machines.Put(m)
	m.meter.left = budget
	out, err := vm.Run(m.program, env)
	for _, known := range []error{errTooMuch, ErrNoNumber, errEmpty} {
		if errors.Is(err, known) {
			return nil, known
		}
	}
	if err != nil {
		return nil, newRunError(syntaxErrorAt(p.text, p.env, err).Message)
	}
	return p.want.result(out)
}

// result converts a result to a bool or a float64.
func (w resultType) result(out any) (any, error) {
	switch v := reflect.ValueOf(out); {
	case !v.IsValid():
		return nil, fmt.Errorf("it gives nothing, not %s", w)
	case !w.takes(v.Type()):
		return nil, fmt.Errorf("it gives %s, not %s", described(v.Type()), w)
	case v.CanInt():
		return float64(v.Int()), nil
	case v.CanUint():
		return float64(v.Uint()), nil
	case v.CanFloat():
		return v.Float(), finite(v.Float())
	}
	return out, nil
}

// RunError says why an expression could not be evaluated.
type RunError struct {
	Message string
	// OfTexts means that a text was used where another type is needed, such as a number.
	OfTexts bool
	// OfTypes means that an operator does not accept the types of its operands.
	OfTypes bool
}

func (e *RunError) Error() string { return e.Message }

// ofTypes matches messages of expr-lang, because its errors have no types.
var ofTypes = compiled(`^invalid operation: \S+ \S+ \S+( |$)`)

// newRunError reads what went wrong from a message of expr-lang. Operators ("string + int") and functions ("type string") name
// the types of Go there, and string is that of a text. A value that has the word gets the same hint, which does no harm.
func newRunError(message string) *RunError {
	return &RunError{Message: message, OfTexts: strings.Contains(message, "string"), OfTypes: ofTypes().MatchString(message)}
}

// Text returns the source of the expression.
func (p *Expression) Text() string { return p.text }

// Reads lists the values that the expression reads from its environment, in the order of the text.
func (p *Expression) Reads() []Read { return p.reads }

// Uses reports whether the expression reads the value at a path, or a part of it.
func (p *Expression) Uses(path ...string) bool {
	return slices.ContainsFunc(p.reads, func(r Read) bool {
		return len(r.Path) >= len(path) && slices.Equal(r.Path[:len(path)], path)
	})
}

// Value returns the value of r.Path in an environment; false if there is none. null is a value.
func (r Read) Value(env any) (v any, ok bool) {
	defer func() {
		if recover() != nil { // a text or nil has no members
			v, ok = nil, false
		}
	}()
	v = env
	for _, name := range r.Path {
		if m := reflect.ValueOf(v); m.Kind() == reflect.Map && !m.MapIndex(reflect.ValueOf(name)).IsValid() {
			return nil, false
		}
		v = runtime.Fetch(v, name)
	}
	return v, true
}

func (r Read) String() string { return strings.Join(r.Path, ".") }

func described(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "a mapping"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	}
	return "a value that is none"
}

// Graded converts a result to a grade in [0,1]; false and true are 0 and 1. A number outside, beyond a
// rounding error, is an error.
func Graded(result any) (float64, error) {
	switch v := result.(type) {
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case float64:
		return share(v)
	}
	return 0, errors.New("it gives no number")
}

// share rounds v into [0,1] if it is within a rounding error.
func share(v float64) (float64, error) {
	const slack = 1e-9
	switch {
	case !(v >= -slack && v <= 1+slack): // NaN is not
		return 0, fmt.Errorf("it gives %.6g, which is not between 0 and 1", v)
	case v > 1-slack:
		return 1, nil
	}
	return max(0, v), nil
}

// hider allows a `let` to hide a name of the environment, which expr-lang refuses. It renames the local
// variable to a name with a space, which no expression can contain.
type hider struct{ names []string }

// Visit renames the variable of a declaration. expr-lang visits inner nodes first.
func (h hider) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.VariableDeclaratorNode)
	if !ok || !slices.Contains(h.names, n.Name) {
		return
	}
	ast.Walk(&n.Expr, renaming{n.Name, "let " + n.Name})
	n.Name = "let " + n.Name
}

type renaming struct{ from, to string }

// Visit implements ast.Visitor.
func (r renaming) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok && n.Value == r.from {
		n.Value = r.to
	}
}
