// Package expression is the one expression language of evalrun: expr-lang, with each problem at its place and with
// bounds.
//
// An evaluation cannot be interrupted, so it is made impossible to take long. Whatever works on texts, lists and
// mappings pays for their size out of a budget, and every pass of a loop pays for the operations in it. When the budget
// is spent, the evaluation ends with an error. What depends on the time of day is refused, and so are methods.
//
// The usual order: Compile once, Program.Run for each set of values.
package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/lazy"
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm"
	"github.com/expr-lang/expr/vm/runtime"
)

// Bounds on the text of an expression.
const (
	MaxText    = 4096 // bytes
	maxNodes   = 1000
	maxNesting = 2 // of loops such as filter and map
)

// Want is what an expression has to give.
type Want int

// What an expression has to give.
const (
	Truth  Want = iota + 1 // true or false
	Grade                  // true, false or a number
	Number                 // a number
)

func (w Want) String() string {
	return map[Want]string{Truth: "true or false", Grade: "true, false or a number", Number: "a number"}[w]
}

// takes reports whether a value of a type can be what is wanted; of any it only shows when the expression runs.
func (w Want) takes(t reflect.Type) bool {
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

// SyntaxError is a problem in an expression. Offset is its byte in the text.
type SyntaxError struct {
	Offset  int
	Message string
	Hint    string
}

func (e *SyntaxError) Error() string { return e.Message }

// Read is a value that an expression takes from its environment. It is the name, and the names that select in it: vars,
// country for both vars.country and vars["country"].
type Read struct {
	Path   []string
	Offset int // of the last name in the text
	// Optional says that the expression works without the value: vars?.country, or vars.country ?? "".
	Optional bool
}

// Expression is a compiled expression; safe for concurrent use.
type Expression struct {
	text     string
	env      any
	want     Want
	reads    []Read
	machines sync.Pool // of *machine
}

// Compile reads an expression. env says what it can name: a struct whose fields have `expr:"name"` tags, or a
// map[string]any of samples, where nil is a value of any type. Other names are errors; the content of a map[string]any
// is known only when the expression runs. A `let` hides a name of env, so that new names of an environment change no
// existing expression. The error is an *Error.
func Compile(text string, env any, want Want) (p *Expression, err error) {
	defer func() {
		if r := recover(); r != nil { // a bug in the library is an error at its place at worst
			p, err = nil, &SyntaxError{Message: fmt.Sprintf("the expression cannot be read: %v", r)}
		}
	}()
	if len(text) > MaxText {
		message := fmt.Sprintf("the expression has %d bytes; at most %d are allowed", len(text), MaxText)
		return nil, &SyntaxError{Offset: MaxText, Message: message}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &SyntaxError{Message: "the expression is empty"}
	}
	plain, err := expr.Compile(text, options(env, &meter{})...)
	if err != nil {
		return nil, located(text, env, err)
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
		return nil, located(text, env, err)
	}
	p.machines.Put(m)
	return p, nil
}

// Open are samples for Compile next to which there may be other names, known only when the expression runs over a
// map[string]any.
type Open map[string]any

// options are those of every compilation: the functions pay with the meter.
func options(env any, m *meter) []expr.Option {
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

// machine is a compiled expression with its meter. Only one evaluation uses it at a time.
type machine struct {
	meter   *meter
	program *vm.Program
}

func (p *Expression) machine() (*machine, error) {
	if m, ok := p.machines.Get().(*machine); ok {
		return m, nil
	}
	m := &meter{}
	metered := append(options(p.env, m), expr.Patch(payer{}), func(c *conf.Config) { c.MaxNodes = 0 })
	program, err := expr.Compile(p.text, metered...)
	return &machine{m, program}, err
}

// Run evaluates the expression over an environment of the type it was compiled for. The result is a bool or a float64, as
// wanted. The error is for people.
func (p *Expression) Run(env any) (any, error) {
	m, err := p.machine()
	if err != nil {
		return nil, err
	}
	defer p.machines.Put(m)
	m.meter.left = budget
	out, err := vm.Run(m.program, env)
	if errors.Is(err, errTooMuch) {
		return nil, errTooMuch
	}
	if err != nil {
		return nil, newRunError(located(p.text, p.env, err).Message)
	}
	return p.want.result(out)
}

// result is what an expression gave, as a bool or a float64.
func (w Want) result(out any) (any, error) {
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
		return v.Float(), nil
	}
	return out, nil
}

// RunError is why an expression could not be evaluated.
type RunError struct {
	Message string
	// OfTexts says that a text was where a number or another type is needed.
	OfTexts bool
	// OfTypes says that an operator does not work on the types of its values.
	OfTypes bool
}

func (e *RunError) Error() string { return e.Message }

// ofTypes are the words of expr-lang, which has no types for its errors.
const ofTypes lazy.Pattern = `^invalid operation: \S+ \S+ \S+( |$)`

func newRunError(message string) *RunError {
	return &RunError{Message: message, OfTexts: strings.Contains(message, "string"), OfTypes: ofTypes.Matches(message)}
}

// Text is the expression as it was written.
func (p *Expression) Text() string { return p.text }

// Reads lists what the expression takes from its environment, in the order of the text.
func (p *Expression) Reads() []Read { return p.reads }

// Uses reports whether the expression takes the value at a path, or anything inside it.
func (p *Expression) Uses(path ...string) bool {
	return slices.ContainsFunc(p.reads, func(r Read) bool {
		return len(r.Path) >= len(path) && slices.Equal(r.Path[:len(path)], path)
	})
}

// Value is what is at the path of a read in an environment; false when there is nothing; null is something.
func (r Read) Value(env any) (v any, ok bool) {
	defer func() {
		if recover() != nil { // nothing can be selected in a text or in nil
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

// described names a type for people.
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

// Graded is the number that a result stands for: 0 and 1 for false and true. It is an error when it is not in [0,1], within a
// rounding error.
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

// share is v within [0,1].
func share(v float64) (float64, error) {
	const slack = 1e-9
	switch {
	case math.IsNaN(v):
		return 0, errors.New("it gives no number: something was divided by zero")
	case v < -slack || v > 1+slack:
		return 0, fmt.Errorf("it gives %.6g, which is not between 0 and 1", v)
	case v > 1-slack:
		return 1, nil
	}
	return max(0, v), nil
}
