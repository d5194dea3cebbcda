package expr

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/itchyny/gojq"
)

// jq bounds its steps and its time, but a single step can make a value of any size. Examples are `"x" *
// 1e9`, `.[1e8] = 1`, and `add` over a list that has one long text many times. So this file rewrites such
// steps: they first report to a meter how much they will make.

// maxMade bounds what all steps of one run make together, in bytes.
const maxMade = 128 << 20

// maxIndex bounds the index of an assignment, because it fills the list up to that index.
const maxIndex = 1_000_000

type sizeMeter struct {
	made     int
	noNumber bool // a calculation had no finite result, even if the expression caught the error
}

// errMade ends a run that makes too much.
var errMade = fmt.Errorf("it makes more than %d bytes", maxMade)

func (m *sizeMeter) take(bytes int) error {
	if bytes > maxMade || m.made > maxMade-bytes {
		m.made = maxMade
		return errMade
	}
	m.made += bytes
	return nil
}

// meterVariable holds the meter. The parser rejects expressions that use the name.
const meterVariable = "$__meter"

// growing lists functions whose result may need many times the memory of their input. In the input, a list
// may contain the same text many times without copies.
func growing() []string {
	return []string{
		"add", "ascii", "ascii_downcase", "ascii_upcase", "capture", "combinations", "explode", "flatten", "format", "fromjson",
		"gsub", "implode", "join",
		"ltrim", "ltrimstr", "match", "rtrim", "rtrimstr", "scan", "split", "splits", "sub", "test", "tojson", "tostring",
		"transpose", "trim", "walk",
	}
}

// bound rewrites a query so that its growing steps are metered.
func bound(q *gojq.Query) {
	hidden := own(q)
	eachPart(q, func(part any) { boundNode(part, hidden) })
}

// own returns the functions that the query itself defines, which hide the built-in ones.
func own(q *gojq.Query) []string {
	var out []string
	eachPart(q, func(part any) {
		if f, ok := part.(*gojq.FuncDef); ok {
			out = append(out, f.Name)
		}
	})
	return out
}

// constant is a constant of the query that is infinite, NaN, or beyond a float64, "" if there is none. NaN may be a
// result, where it counts as null, but not in a query that calculates, compares or calls.
func constant(q *gojq.Query) (out string) {
	nan, used := false, false
	eachPart(q, func(part any) {
		t, ok := part.(*gojq.Term)
		switch {
		case !ok:
			q, ok := part.(*gojq.Query)
			used = used || ok && !slices.Contains([]gojq.Operator{0, gojq.OpPipe, gojq.OpComma, gojq.OpAlt}, q.Op)
		case t.Type == gojq.TermTypeNumber:
			if _, err := strconv.ParseFloat(t.Number, 64); err != nil {
				out = t.Number
			}
		case t.Type != gojq.TermTypeFunc:
		case t.Func.Name == "infinite":
			out = "infinite"
		case t.Func.Name == "nan":
			nan = true
		default:
			used = true
		}
	})
	if nan && used {
		return "nan"
	}
	return out
}

// boundNode adds the meter to one part of a query.
func boundNode(node any, own []string) {
	switch at := node.(type) {
	case *gojq.Query:
		boundOperator(at)
	case *gojq.Term:
		boundTerm(at, own)
	case *gojq.String:
		for i, inner := range at.Queries {
			if inner.Term == nil || inner.Term.Type != gojq.TermTypeString {
				at.Queries[i] = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(inner, weigh())}}
			}
		}
	}
}

// eachPart visits the parts of a query as pointers, the innermost first.
func eachPart(q *gojq.Query, found func(part any)) {
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				visit(v.Elem())
				found(v.Interface())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				visit(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		}
	}
	visit(reflect.ValueOf(q))
}

// calculating lists functions that may give infinity or NaN for finite numbers.
func calculating() []string {
	return []string{
		"acos", "acosh", "add", "asin", "atanh", "ceil", "cosh", "dateadd", "datesub", "drem", "exp", "exp10", "exp2", "expm1", "fabs",
		"fdim", "floor", "fma", "fmod", "fromjson",
		"gamma", "hypot", "ldexp", "lgamma", "lgamma_r", "log", "log10", "log1p", "log2", "logb", "nextafter", "nexttoward", "pow", "pow10",
		"remainder", "rint", "round", "scalb", "scalbln", "sinh", "sqrt", "tgamma", "tonumber", "trunc", "y0", "y1", "yn",
	}
}

// errNoNumber ends a run whose calculation has no finite result: jq compares infinity like a number, and NaN as the least.
var errNoNumber = errors.New("a calculation without a finite result")

// noted is v. A calculation without a finite result ends the run even if the expression catches its error.
func (m *sizeMeter) noted(v any) any {
	if err, failed := v.(error); failed && errors.Is(err, errNoNumber) {
		m.noNumber = true
	}
	return v
}

// finiteResult is v, or errNoNumber for infinity and NaN.
func finiteResult(v any) any {
	if f, number := v.(float64); number && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return errNoNumber
	}
	return v
}

// finiteIn is v, or errNoNumber when a number in it is not finite.
func finiteIn(v any) any {
	var items iter.Seq[any]
	switch v := v.(type) {
	case []any:
		items = slices.Values(v)
	case map[string]any:
		items = maps.Values(v)
	case json.Number: // of fromjson
		if longNumber(string(v)) {
			return errNoNumber
		}
		return v
	default:
		return finiteResult(v)
	}
	for item := range items {
		if err, bad := finiteIn(item).(error); bad {
			return err
		}
	}
	return v
}

// boundOperator meters sums, products and assignments.
func boundOperator(q *gojq.Query) {
	if q.Term != nil {
		return
	}
	before := *q
	switch q.Op {
	case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod:
		*q = *queryCall(operators()[q.Op].name, meterQuery(), before.Left, before.Right)
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod,
		gojq.OpUpdateAlt:
		paths := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: queryCall("path", before.Left)}}}
		*q = *pipe(queryCall("__fits", paths), pipe(weigh(), pipe(&before, queryCall("__finite", meterQuery()))))
	}
}

// boundTerm meters formats and the functions of growing, and checks the results of calculating.
func boundTerm(t *gojq.Term, own []string) {
	before := *t
	before.SuffixList = nil
	plain := &gojq.Query{Term: &before}
	switch {
	case t.Type == gojq.TermTypeFormat && t.Str == nil:
		plain = pipe(weigh(), plain)
	case t.Type != gojq.TermTypeFunc || slices.Contains(own, t.Func.Name):
		return
	case t.Func.Name == "setpath" && len(t.Func.Args) == 2:
		paths := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: t.Func.Args[0]}}}
		plain = pipe(queryCall("__fits", paths), plain)
	case slices.Contains(growing(), t.Func.Name):
		plain = pipe(weigh(), plain)
	case !slices.Contains(calculating(), t.Func.Name):
		return
	}
	if t.Type == gojq.TermTypeFunc && slices.Contains(calculating(), t.Func.Name) {
		plain = pipe(plain, queryCall("__finite", meterQuery()))
	}
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: plain, SuffixList: t.SuffixList}
}

func queryCall(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func meterQuery() *gojq.Query { return queryCall(meterVariable) }

func weigh() *gojq.Query { return queryCall("__weigh", meterQuery()) }

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// compile compiles a query with its growing steps metered.
func compile(q *gojq.Query) (*gojq.Code, error) {
	bound(q)
	options := []gojq.CompilerOption{
		gojq.WithVariables([]string{meterVariable}),
		gojq.WithFunction("__weigh", 1, 1, func(v any, args []any) any {
			if err := args[0].(*sizeMeter).take(weight(v, maxMade)); err != nil {
				return err
			}
			return v
		}),
		gojq.WithFunction("__finite", 1, 1, func(v any, args []any) any { return args[0].(*sizeMeter).noted(finiteIn(v)) }),
		gojq.WithFunction("__fits", 1, 1, func(v any, args []any) any {
			if tooFar(args[0]) {
				return errMade
			}
			return v
		}),
	}
	for _, o := range operators() {
		options = append(options, gojq.WithFunction(o.name, 3, 3, o.run))
	}
	return gojq.Compile(q, options...)
}

// operator is a metered operator, which calls jq's own.
type operator struct {
	name string
	code *gojq.Code
	cost func(l, r any) int
}

var operators = sync.OnceValue(func() map[gojq.Operator]operator {
	return map[gojq.Operator]operator{
		gojq.OpAdd: {"__sum", binary("$l + $r"), sumOf},
		gojq.OpSub: {"__difference", binary("$l - $r"), sumOf},
		gojq.OpMul: {"__product", binary("$l * $r"), product},
		gojq.OpDiv: {"__quotient", binary("$l / $r"), sumOf},
		gojq.OpMod: {"__remainder", binary("$l % $r"), sumOf},
	}
})

// run has the arguments meter, left and right.
func (o operator) run(_ any, args []any) any {
	m, l, r := args[0].(*sizeMeter), args[1], args[2]
	if err := m.take(o.cost(l, r)); err != nil {
		return err
	}
	v := operate(o.code, l, r)
	if _, failed := v.(error); failed && gojq.TypeOf(l) == "number" && gojq.TypeOf(r) == "number" {
		v = errNoNumber // a division by zero
	}
	return m.noted(finiteResult(v))
}

func binary(source string) *gojq.Code {
	q, err := gojq.Parse(source)
	if err == nil {
		var code *gojq.Code
		if code, err = gojq.Compile(q, gojq.WithVariables([]string{"$l", "$r"})); err == nil {
			return code
		}
	}
	panic(err) // the source is a constant
}

func operate(code *gojq.Code, l, r any) any {
	v, ok := code.Run(nil, l, r).Next()
	if !ok {
		return errors.New("nothing came of it") // cannot happen: an operator has one result
	}
	return v
}

func sumOf(l, r any) int { return shallow(l) + shallow(r) }

// shallow estimates the memory of a value without the values in it, which a sum shares.
func shallow(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return 16 * len(v)
	case map[string]any:
		return 48 * len(v)
	}
	return 0
}

// product estimates the memory of a product. A text times a number is that many copies, and objects are
// merged recursively.
func product(l, r any) int {
	text, isText := l.(string)
	times := r
	if !isText {
		text, isText = r.(string)
		times = l
	}
	if !isText {
		return weight(l, maxMade) + weight(r, maxMade)
	}
	n := 0.0
	switch t := times.(type) {
	case int:
		n = float64(t)
	case float64:
		n = t
	default:
		return 0 // jq fails, or fails for so large a number
	}
	if made := n * float64(len(text)); made > maxMade {
		return maxMade + 1
	} else if made > 0 {
		return int(made)
	}
	return 0
}

// tooFar reports whether an assignment has an index above maxIndex.
func tooFar(paths any) bool {
	list, _ := paths.([]any)
	for _, p := range list {
		steps, _ := p.([]any)
		for _, step := range steps {
			n, whole := step.(int)
			f, _ := step.(float64)
			if whole && n > maxIndex || f > maxIndex {
				return true
			}
		}
	}
	return false
}
