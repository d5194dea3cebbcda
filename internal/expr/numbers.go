package expr

import (
	"errors"
	"math"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
)

// ErrNoNumber is returned by Expression.Run when a calculation has no finite result. Infinity compares like a number, and
// one that wrapped around does too: `1.0 / 0.0 > 3` would be true.
var ErrNoNumber = errors.New("it calculates no number: something was divided by zero, or is too large")

var errEmpty = errors.New("a list without numbers has no mean or median")

// Names of functions that only payer can insert.
const (
	calculateName = "\x00calculate"
	finiteName    = "\x00finite"
	wholeName     = "\x00whole"
	filledName    = "\x00filled"
	sumName       = "\x00sum"
)

var calculations = map[string]func(a, b any) any{
	"+":  runtime.Add,
	"-":  runtime.Subtract,
	"*":  runtime.Multiply,
	"/":  func(a, b any) any { return runtime.Divide(a, b) },
	"**": func(a, b any) any { return runtime.Exponent(a, b) },
	"^":  func(a, b any) any { return runtime.Exponent(a, b) },
	"%":  func(a, b any) any { return runtime.Modulo(a, b) },
}

func calculate(operator string, a, b any) (any, error) {
	out := calculations[operator](a, b)
	if _, whole := out.(int); whole && operator != "%" {
		return out, whole64(calculations[operator](runtime.ToFloat64(a), runtime.ToFloat64(b)))
	}
	return out, finite(out)
}

func finite(v any) error {
	if f, is := v.(float64); is && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return ErrNoNumber
	}
	return nil
}

// whole64 is an error for a number that an int cannot hold.
func whole64(v any) error {
	if f, is := v.(float64); is && !(math.Abs(f) < 1<<63) {
		return ErrNoNumber
	}
	return nil
}

// checkNumbers rewrites a call so that it fails where it has no finite result.
func checkNumbers(node *ast.Node, n *ast.BuiltinNode) {
	switch n.Name {
	case "sum":
		list := n.Arguments[0]
		if len(n.Arguments) == 2 {
			list = &ast.BuiltinNode{Name: "map", Arguments: n.Arguments}
		}
		patch(node, sumName, list)
	case "int":
		patch(&n.Arguments[0], wholeName, n.Arguments[0])
	case "mean", "median":
		patch(&n.Arguments[0], filledName, n.Arguments[0])
		patch(node, finiteName, *node)
	case "float":
		patch(node, finiteName, *node)
	}
}

// numberFunctions returns the functions that checkNumbers and payOperator insert.
func numberFunctions() []expr.Option {
	return []expr.Option{
		expr.Function(calculateName, func(args ...any) (any, error) { return calculate(args[0].(string), args[1], args[2]) }),
		expr.Function(finiteName, func(args ...any) (any, error) { return args[0], finite(args[0]) }),
		expr.Function(wholeName, func(args ...any) (any, error) { return args[0], whole64(args[0]) }),
		expr.Function(filledName, func(args ...any) (any, error) {
			if v := reflect.ValueOf(args[0]); v.Kind() == reflect.Slice && v.Len() == 0 {
				return nil, errEmpty
			}
			return args[0], nil
		}),
		expr.Function(sumName, sum),
	}
}

func sum(args ...any) (total any, err error) {
	list := reflect.ValueOf(args[0])
	if list.Kind() != reflect.Slice {
		return nil, errors.New("`sum` takes a list of numbers")
	}
	total = 0
	for i := 0; i < list.Len() && err == nil; i++ {
		total, err = calculate("+", list.Index(i).Interface(), total)
	}
	return total, err
}
